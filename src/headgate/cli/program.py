"""The program: its commands, each of which is imported when somebody asks for it."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module

from headgate.errors import MissingExtra

try:
    import click
except ImportError:
    raise MissingExtra("cli") from None

# Each command, in the order in which help tells of them, and the module that has it under its name.
COMMANDS = {
    "check": "headgate.cli.check",
    "explain": "headgate.cli.explain.command",
    "doctor": "headgate.cli.doctor.command",
    "replay": "headgate.cli.replay",
    "suggest": "headgate.cli.suggest",
    "schema": "headgate.cli.schema",
    "gateway": "headgate.cli.gateway",
    "serve": "headgate.cli.serve",
    "alerts": "headgate.cli.alerts",
    "top": "headgate.cli.top.command",
    "demo": "headgate.cli.demo.command",
    "bench": "headgate.cli.bench.command",
    "completion": "headgate.cli.completion",
}


class Program(click.Group):
    """Commands that are found by their names."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Their names, in the order of the table."""
        return [*COMMANDS]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """The command of that name, if there is one."""
        if name not in COMMANDS:
            return None
        found: click.Command = getattr(import_module(COMMANDS[name]), name)
        return found

    def resolve_command(
        self, context: click.Context, words: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is meant, and the words for it; of one that is none, what is like it."""
        name = words[0]
        if name not in COMMANDS and not name.startswith("-") and not context.resilient_parsing:
            close = get_close_matches(name.lower(), COMMANDS, n=1, cutoff=0.6)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(COMMANDS)}"
            context.fail(f'there is no command "{name}"; {hint}')
        return super().resolve_command(context, words)


@click.group(
    cls=Program,
    invoke_without_command=True,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option("--version", is_flag=True, help="Say which version this is, and end.")
@click.pass_context
def program(context: click.Context, version: bool) -> None:
    """Exact rate limits by rules.

    Each command says what it ends with. Words that cannot be understood end any of them with 2.
    """
    if version:
        from headgate import COMPILED, __version__  # noqa: PLC0415 - only who asks needs it

        click.echo(f"headgate {__version__}, {'compiled' if COMPILED else 'interpreted'}")
        context.exit()
