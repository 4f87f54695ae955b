"""Facts: what a file says about itself, in a page of text at its head that anybody can read.

A line for each, a name and what is true, and at last a digest of all before it: a page that was
written to half, or by somebody else, says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path

PAGE = 4096
TITLE = "headgate"
# What does not fit on the page with everything else is cut.
LONGEST = 2000
BOOT = Path("/proc/sys/kernel/random/boot_id")


def page(facts: Mapping[str, str]) -> bytes:
    """The page that states `facts`."""
    lines = [f"{name} {value}\n" for name, value in {"file": TITLE, **facts}.items()]
    text = "".join(lines).encode("utf-8", "backslashreplace")
    return (text + b"digest " + digest(text) + b"\n").ljust(PAGE, b"\0")


def read(page: bytes) -> dict[str, str]:
    """The facts that a page states; none if it is not whole."""
    text, _, rest = page.rpartition(b"digest ")
    if digest(text) != rest.partition(b"\n")[0]:
        return {}
    parts = [line.partition(" ") for line in text.decode("utf-8", "replace").splitlines()]
    return {name: value for name, _, value in parts if name != "file"}


def digest(text: bytes) -> bytes:
    return blake2b(text, digest_size=16).hexdigest().encode()


def shorten(text: str) -> str:
    """A text of one line that fits on the page, cut where it does not."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[:LONGEST] + "..."


def boot() -> str:
    """Which start of the machine this is."""
    try:
        return BOOT.read_text().strip()
    except OSError:
        return "unknown"
