"""Report: a run's figures as a table for people and as JSON for programs."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contestants import LOOP, OURS, awaited, contestants
from replays import UNREPLAYED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from targets import Target

SPEEDS = ("allowed", "refused", "many", "alone", "million", "threads", "async")


def machine() -> dict[str, Any]:
    """What it ran on, as far as that explains the figures; nothing that names the machine."""
    import headgate

    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "compiled": bool(headgate.COMPILED),
    }


def versions(packages: Iterable[str]) -> tuple[dict[str, str], dict[str, str]]:
    """The versions of what is installed, and what is not."""
    present: dict[str, str] = {}
    absent: dict[str, str] = {}
    for package in dict.fromkeys(packages):
        try:
            present[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            absent[package] = "not installed"
    return present, absent


def tables(results: dict[str, Any], judged: list[Target]) -> Iterator[str]:
    """The lines to print."""
    facts = results["machine"]
    build = "compiled" if facts["compiled"] else "interpreted"
    yield f"{facts['processor']}, {facts['cores']} cores, {facts['python']}, headgate {build}"
    yield ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    yield ""
    sizes = results["sizes"]
    yield (
        "ns a decision, wall, least of all rounds, loop subtracted "
        f"(many, alone: {sizes['many']:,} keys, million: {sizes['million']:,} keys, "
        f"{sizes['threads']} threads on one key)"
    )
    yield from _aligned(_speed_rows(results))
    yield ""
    yield "accuracy, 100 per 60 s: most admitted in any 60 s, and a Poisson stream at 1.2 x"
    yield from _aligned(_accuracy_rows(results["accuracy"]))
    yield ""
    yield "targets"
    yield from _aligned(_target_rows(judged))
    yield from _omissions(results)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or "unknown processor")


def _speed_rows(results: dict[str, Any]) -> Iterator[list[str]]:
    answers = {each.name: each.answers for each in [*awaited(), *contestants()]}
    yield ["", "answers", *SPEEDS, "allowed median", "cpu", "x headgate", "bytes/key"]
    ours = results["allowed"].get(OURS, {}).get("least")
    for name in _names(results):
        speeds = [results[column].get(name, {}) for column in SPEEDS]
        hot = results["allowed"].get(name, {})
        ratio = f"{hot['least'] / ours:.1f}" if ours and hot and name != LOOP else ""
        yield [
            name,
            answers.get(name, ""),
            *(_number(each.get("least")) for each in speeds),
            _number(hot.get("median")),
            _number(hot.get("cpu")),
            ratio,
            _number(results["alone"].get(name, {}).get("bytes")),
        ]


def _names(results: dict[str, Any]) -> Iterable[str]:
    return dict.fromkeys(name for column in SPEEDS for name in results[column])


def _accuracy_rows(accuracy: dict[str, Any]) -> Iterator[list[str]]:
    yield [
        "",
        "held against",
        "worst 60 s",
        "its ideal",
        "admitted",
        "its ideal",
        "%",
        "answers differing",
    ]
    for name, each in accuracy.items():
        if "failed" in each:
            continue
        share = 100 * each["admitted"] / each["ideal_admitted"]
        yield [
            name,
            "log" if each["kind"] == "counter" else each["kind"],
            str(each["worst"]),
            str(each["ideal_worst"]),
            f"{each['admitted']:,}",
            f"{each['ideal_admitted']:,}",
            f"{share:.1f}",
            f"{each['differing']:,} of {each['offered']:,}",
        ]


def _target_rows(judged: list[Target]) -> Iterator[list[str]]:
    yield ["", "least", "median", ""]
    words = {True: "met", False: "MISSED", None: "not measured"}
    for target in judged:
        yield [
            target.promise,
            _number(target.value, 2),
            _number(target.median, 2),
            words[target.met],
        ]


def _omissions(results: dict[str, Any]) -> Iterator[str]:
    """Who is not in the tables, and why: nobody is left out in silence."""
    reasons = [f"{name}: {reason}" for name, reason in results["absent"].items()]
    reasons += [f"{name}: accuracy not replayed, {why}" for name, why in UNREPLAYED.items()]
    for scenario, failures in results["failed"].items():
        reasons += [f"{name} ({scenario}): {why}" for name, why in failures.items()]
    if reasons:
        yield ""
        yield "left out"
        yield from (f"  {reason}" for reason in reasons)


def _number(value: float | None, digits: int = 0) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def _aligned(rows: Iterable[list[str]]) -> Iterator[str]:
    table = list(rows)
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    for row in table:
        head, *rest = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join([row[0].ljust(len(head)), *rest]).rstrip()
