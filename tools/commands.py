"""What each command of `headgate` takes, and what it ends with, as the reference shows it.

`tools/reference.py` puts it between the comments of docs/reference/command-line.md that ask for it:

    <!-- commands -->
    <!-- end of commands -->
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from headgate.cli.program import program

ASKED = re.compile(r"<!-- commands -->\n.*?<!-- end of commands -->", re.DOTALL)
HEAD = "| option | means | unless said |\n| --- | --- | --- |\n"


def refreshed(page: str) -> str:
    """The page with today's commands in it."""
    return ASKED.sub(lambda _: included(), page)


def included() -> str:
    """All commands, between the comments that ask for them."""
    context = click.Context(program, info_name="headgate")
    names = program.list_commands(context)
    told = "\n".join(section(name, found(context, name)) for name in names)
    return f"<!-- commands -->\n{told}<!-- end of commands -->"


def found(context: click.Context, name: str) -> click.Command:
    """The command of that name."""
    command = program.get_command(context, name)
    if command is None:
        raise LookupError(name)
    return command


def section(name: str, command: click.Command) -> str:
    """One command: its words, what it does, and its options."""
    options = [one for one in command.params if isinstance(one, click.Option)]
    words = " ".join(["headgate", name, *arguments(command)])
    table = f"\n{HEAD}{''.join(map(row, options))}" if options else ""
    return f"## headgate {name}\n\n```text\n{words}\n```\n\n{told(command)}\n{table}"


def arguments(command: click.Command) -> Iterator[str]:
    """Its options in one word, then what else it takes."""
    context = click.Context(command)
    yield from (word for one in command.params for word in one.get_usage_pieces(context))
    if any(isinstance(one, click.Option) for one in command.params):
        yield "[OPTIONS]"


def told(command: click.Command) -> str:
    """Its help, a paragraph to a line; what is indented in it stays as it stands."""
    paragraphs = inspect.cleandoc(command.help or "").replace("\b\n", "").split("\n\n")
    return "\n\n".join(plain(one) for one in paragraphs)


def plain(paragraph: str) -> str:
    """A paragraph in which nothing is taken for a mark of the page but what is meant so."""
    if paragraph.startswith("    "):
        return f"```text\n{inspect.cleandoc(paragraph)}\n```"
    return escaped(" ".join(paragraph.split()))


def row(option: click.Option) -> str:
    """One option: how it is written, what it means, and what holds without it."""
    shown = max(option.opts, key=len)
    words = [", ".join([*sorted(set(option.opts) - {shown}), shown])]
    if not option.is_flag:
        words.append(option.make_metavar(click.Context(program)))
    cells = [f"`{' '.join(words)}`", option.help or "", usual(option)]
    return f"| {' | '.join(escaped(cell) for cell in cells)} |\n"


def usual(option: click.Option) -> str:
    """What holds where nothing is said; nothing where that is nothing."""
    default = option.default
    if isinstance(default, bool) or not isinstance(default, (int, float, str)) or default == "":
        return ""
    return f"`{default:g}`" if isinstance(default, float) else f"`{default}`"


def escaped(text: str) -> str:
    """A text in which no bar ends a cell and no bracket is a tag."""
    parts = text.split("`")
    parts[::2] = [part.replace("<", "&lt;").replace("*", "\\*") for part in parts[::2]]
    return "`".join(parts).replace("|", "\\|")
