"""The command `headgate`: where it begins, and what it says where something is not installed."""

from __future__ import annotations

import sys

from headgate.errors import MissingExtra

# What a shell is told: something is wrong with the rules, or with what was typed.
BROKEN = 2


def main() -> None:
    """Do what the command line says, and end the process."""
    try:
        from headgate.cli.program import program  # noqa: PLC0415 - it may not be there

        program(prog_name="headgate")
    except MissingExtra as missing:
        sys.stderr.write(f"headgate: {missing}\n")
        sys.exit(BROKEN)
