"""What the pages of measurements have in common: tables, numbers, and where it was."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Any

MADE = "<!-- written by tools/report.py -->"


def table(head: list[str], rows: Iterable[list[str]]) -> str:
    """A table, its first column to the left and the others to the right."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def filled(page: str) -> str:
    """The page with its sentences in lines of even length; all else as it is."""
    parts = page.split("\n\n")
    return (
        "\n\n".join(
            textwrap.fill(part, 110, break_long_words=False, break_on_hyphens=False).rstrip()
            if part[:1].isalnum()
            else part
            for part in parts
        ).rstrip()
        + "\n"
    )


def number(value: float | None) -> str:
    """As many digits as one can believe."""
    if value is None:
        return ""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def machine(measured: dict[str, Any]) -> str:
    """Where it was, in a sentence."""
    found = measured["machine"]
    form = "compiled" if found["compiled"] else "interpreted"
    return (
        f"One run on {found['cores']} cores of {found['processor']}, {found['system']}, "
        f"{found['python']}, Headgate {form}."
    )


def versions(measured: dict[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in measured["versions"].items())
