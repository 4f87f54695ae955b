"""Machine: what is well with the machine and what is installed there, and what is not."""

from __future__ import annotations

import ctypes
import os
import resource
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import NamedTuple

from headgate.clock import COMPILED
from headgate.doctor.finding import BAD, DOUBT, GOOD, UNKNOWN, Finding
from headgate.rules.model.rules import Rules
from headgate.stores.shared.store import MEMORY
from headgate.workers.files import SPARE

# What is imported by what rules need, by the extra that brings it along.
NEEDED = {
    "gateway": ("httptools",),
    "service": ("httptools", "hpack", "google.protobuf"),
    "redis": ("hiredis",),
    "yaml": ("yaml",),
}
# The status of a clock that nobody sets, where it stands in a `struct timex`, and how long that is.
UNSET, STATUS, TIMEX = 0x40, 40, 256
# Bytes that a key and a limit take, and for how many keys there is room.
ROW, KEYS = 56, 100_000


class Machine(NamedTuple):
    """What is known of a machine: `set` says whether its clock is set by others, None if unknown.

    `files` is how many a process may open at most, `memory` the bytes left for memory files, and
    `kind` the kind of file system they are on.
    """

    compiled: bool
    set: bool | None
    files: int
    memory: int
    kind: str
    has: Callable[[str], bool]


def here() -> Machine:
    """This machine."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    files = 1 << 40 if most == resource.RLIM_INFINITY else most
    return Machine(COMPILED, clocked(), files, left(MEMORY), mounted(MEMORY), present)


def present(name: str) -> bool:
    """Whether a package is installed."""
    try:
        return find_spec(name) is not None
    except ImportError:
        return False


def clocked() -> bool | None:
    """Whether the kernel is told the time by somebody; None if it does not say."""
    page = ctypes.create_string_buffer(TIMEX)
    try:
        state = ctypes.CDLL(None).adjtimex(page)
    except (AttributeError, OSError):
        return None
    if state < 0:
        return None
    return not int.from_bytes(page.raw[STATUS : STATUS + 4], "little") & UNSET


def left(folder: str) -> int:
    """How many bytes there is room for."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return 0
    return found.f_bavail * found.f_frsize


def mounted(folder: str) -> str:
    """The kind of file system that a folder is on; nothing if that is not known."""
    best, kind = "", ""
    try:
        with open("/proc/mounts", encoding="utf-8", errors="replace") as file:
            for line in file:
                _, where, what, *_ = line.split(" ")
                inside = folder == where or folder.startswith(where.rstrip("/") + "/")
                if inside and len(where) >= len(best):
                    best, kind = where, what
    except (OSError, ValueError):
        return ""
    return kind


def fit(machine: Machine, rules: Rules, file: str) -> Iterator[Finding]:
    """Whether the machine is fit for the rules."""
    for extra in wanted(rules, file):
        missing = [name for name in NEEDED[extra] if not machine.has(name)]
        if missing:
            found = f'{", ".join(missing)} is missing; pip install "headgate[{extra}]"'
            yield Finding("machine.extras", BAD, extra, found)
        else:
            yield Finding("machine.extras", GOOD, extra, "is installed")
    yield Finding(
        "machine.form", GOOD if machine.compiled else DOUBT, "",
        "the core is compiled" if machine.compiled else "the core is interpreted",
    )  # fmt: skip
    yield timed(machine)
    yield from opened(machine, rules)
    yield from roomy(machine, rules)


def wanted(rules: Rules, file: str) -> Iterator[str]:
    """The extras that the rules need."""
    if file.lower().endswith((".yaml", ".yml")):
        yield "yaml"
    for name in ("gateway", "service"):
        if getattr(rules, name) is not None:
            yield name
    if not rules.store.startswith(("memory:", "shared:")):
        yield "redis"


def timed(machine: Machine) -> Finding:
    """Whether its clock is right."""
    if machine.set is None:
        return Finding("machine.clock", UNKNOWN, "", "the kernel does not say who sets its clock")
    if machine.set:
        return Finding("machine.clock", GOOD, "", "the clock is set by others")
    return Finding("machine.clock", DOUBT, "", "nobody sets the clock of this machine")


def opened(machine: Machine, rules: Rules) -> Iterator[Finding]:
    """Whether there are enough files for all connections."""
    for name in ("gateway", "service"):
        terms = getattr(rules, name)
        if terms is None:
            continue
        connections = terms.limits.connections
        # Each client of a gateway may be a connection to a server as well.
        need = connections * (2 if name == "gateway" else 1) + SPARE
        found = f"{connections:,} connections need up to {need:,} files, of {machine.files:,}"
        least = connections + SPARE
        verdict = BAD if machine.files < least else DOUBT if machine.files < need else GOOD
        yield Finding("machine.files", verdict, name, found)


def roomy(machine: Machine, rules: Rules) -> Iterator[Finding]:
    """Whether there is memory for what is shared."""
    if not rules.store.startswith("shared:"):
        return
    limits = sum(max(1, len(rule.limits())) for rule in rules.rules if rule.limit or rule.bandwidth)
    need = limits * KEYS * ROW
    found = f"{limits} limits take up to {need / 1e6:,.1f} MB of {machine.memory / 1e6:,.1f} MB"
    if machine.kind not in ("tmpfs", "ramfs", ""):
        yield Finding("shared.memory", DOUBT, MEMORY, f"is on {machine.kind}, and not in memory")
    yield Finding("shared.memory", BAD if machine.memory < need else GOOD, MEMORY, found)
