"""`headgate serve`: rules and limits for proxies, and for programs in any language."""

from __future__ import annotations

from typing import Any

import click

from headgate.cli.running import options, reachable, run


def read(address: str) -> object:
    """Take apart where to listen; a ValueError says what is wrong with it."""
    from headgate.rules.model.port import spoken  # noqa: PLC0415 - only who is asked needs it

    return spoken(address)


@click.command(short_help="Answer proxies and programs, as rules say.")
@click.argument("file", type=click.Path())
@click.option(
    "--listen", multiple=True, metavar="ADDRESS", callback=reachable(read),
    help="Listen there, in plain text, and not where the rules say: http://, grpc://, resp:// or "
    "spop:// and an address; may be given several times.",
)  # fmt: skip
@options
@click.pass_context
def serve(context: click.Context, /, **said: Any) -> None:
    """Answer whoever asks whether something may go on, as the rules in FILE say.

    SIGTERM or Ctrl-C finishes what is under way, SIGHUP reads the rules again, SIGUSR2 starts anew
    and turns nobody away.

    Ends with 0, with 1 if it cannot start, with 2 if the rules are broken.
    """
    context.exit(run("service", **said))
