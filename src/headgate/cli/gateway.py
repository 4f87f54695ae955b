"""`headgate gateway`: rules in front of HTTP services, in as many processes as it takes."""

from __future__ import annotations

from typing import Any

import click

from headgate.cli.running import options, reachable, run


def read(address: str) -> object:
    """Take apart where to listen; a ValueError says what is wrong with it."""
    from headgate.rules.model.place import listening  # noqa: PLC0415 - only who is asked needs it

    return listening(address)


@click.command(short_help="Let requests through to services, as rules say.")
@click.argument("file", type=click.Path())
@click.option(
    "--listen", multiple=True, metavar="ADDRESS", callback=reachable(read),
    help="Listen there, in plain text, and not where the rules say; may be given several times.",
)  # fmt: skip
@options
@click.pass_context
def gateway(context: click.Context, /, **said: Any) -> None:
    """Let requests through to the services behind, as the rules in FILE say.

    SIGTERM or Ctrl-C finishes what is under way, SIGHUP reads the rules again, SIGUSR1 opens the
    audit's file again, SIGUSR2 starts anew and turns nobody away.

    Ends with 0, with 1 if it cannot start, with 2 if the rules are broken.
    """
    context.exit(run("gateway", **said))
