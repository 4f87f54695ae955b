"""Page: what a command says to people, in lines that fit where they are read.

In colour where somebody looks on and has not asked for none; where nobody looks on, lines are as
long as they need to be, and plain.
"""

from __future__ import annotations

import sys
import textwrap
from typing import Any

from headgate.cli.trouble import harmless

# No line is narrower for its indentation.
NARROWEST = 40


class Page:
    """Lines, one after another; nothing is written until its `end`."""

    def __init__(self) -> None:
        from headgate.cli.report import screen  # noqa: PLC0415 - it brings rich along

        self._console: Any = screen()
        self._lines: list[tuple[str, str]] = []
        self._width = max(NARROWEST, self._console.width)

    def line(self, text: str, style: str = "") -> None:
        """A line, which goes on below where it began if it is too long."""
        plain = harmless(text)
        body = plain.lstrip()
        indent = " " * (len(plain) - len(body))
        wrapped = textwrap.wrap(
            body, self._width, initial_indent=indent, subsequent_indent=f"{indent}  ",
            break_on_hyphens=False,
        )  # fmt: skip
        self._lines += [(each, style) for each in wrapped or [""]]

    def head(self, text: str) -> None:
        """A heading, with room before it."""
        self._lines.append(("", ""))
        self.line(text, "bold")

    def item(self, name: str, text: str, style: str = "") -> None:
        """Something that has a name, and what is said of it."""
        self.line(f"  {name}  {text}", style)

    def more(self, text: str) -> None:
        """More of the item before."""
        self.line(f"      {text}")

    def end(self) -> None:
        """Write all of it."""
        from rich.text import Text  # noqa: PLC0415 - as above

        for text, style in self._lines:
            if style and self._console.color_system:
                self._console.print(Text(text, style=style))
            else:
                sys.stdout.write(f"{text}\n")
