"""The command `headgate`: where it begins, and what it says where something is not installed."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper

from headgate.errors import MissingExtra

# What a shell is told: something is wrong with the rules, or with what was typed.
BROKEN = 2


def main() -> None:
    """Do what the command line says, and end the process."""
    if isinstance(sys.stdout, TextIOWrapper):
        # Names may have letters in them that a terminal of another tongue has not.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        from headgate.cli.program import program  # noqa: PLC0415 - it may not be there

        program(prog_name="headgate")
    except MissingExtra as missing:
        sys.stderr.write(f"headgate: {missing}\n")
        sys.exit(BROKEN)
    finally:
        flush()


def flush() -> None:
    """Have all that was said go out; whoever read it may have seen enough, and that is well."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # What is left is tried again at the end, where nobody can answer for it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
