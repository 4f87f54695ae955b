"""The program: its commands, each of which brings along only what it needs."""

from __future__ import annotations

from headgate.errors import MissingExtra

try:
    import click
except ImportError:
    raise MissingExtra("cli") from None

from headgate.cli.check import check
from headgate.cli.gateway import gateway
from headgate.cli.schema import schema
from headgate.cli.serve import serve


@click.group(
    invoke_without_command=True,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("--version", is_flag=True, help="Say which version this is, and end.")
@click.pass_context
def program(context: click.Context, version: bool) -> None:
    """Exact rate limits by rules."""
    if version:
        from headgate import COMPILED, __version__  # noqa: PLC0415 - only who asks needs it

        click.echo(f"headgate {__version__}, {'compiled' if COMPILED else 'interpreted'}")
        context.exit()


program.add_command(check)
program.add_command(gateway)
program.add_command(schema)
program.add_command(serve)
