"""`headgate top`: what a gateway or a service does at the moment, live in the terminal."""

from __future__ import annotations

import json
import sys
import threading
from typing import TYPE_CHECKING

import click

from headgate.errors import HeadgateError

if TYPE_CHECKING:
    from headgate.cli.top.line import Line

FAILED = 1
USUAL = "http://127.0.0.1:9901"
SLOWEST = 3600


def shown(context: click.Context, option: click.Parameter, said: str | None) -> str:
    """The token in the file; none if there is no file."""
    if not said:
        return ""
    try:
        with open(said, encoding="utf-8") as opened:
            token = opened.read(4096).strip()
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "is no text"
        raise click.BadParameter(f"{said}: {reason}") from None
    if not token or not token.isascii() or not token.isprintable():
        raise click.BadParameter(f"{said}: there is no token in it")
    return token


@click.command(short_help="Watch a gateway or a service in the terminal.")
@click.argument("address", default=USUAL)
@click.option(
    "--token-file", "token", type=click.Path(), callback=shown, metavar="PATH",
    envvar="HEADGATE_TOKEN_FILE", show_envvar=True,
    help="The file with the admin's token, such as `headgate gateway --token-file` writes it.",
)  # fmt: skip
@click.option(
    "--every", type=click.FloatRange(0.1, SLOWEST), default=1.0, show_default=True,
    metavar="SECONDS", help="How often to look.",
)  # fmt: skip
@click.option(
    "--once", is_flag=True, help="Look for one interval, say it, and end; as in a pipe anyway."
)
@click.option(
    "--json", "plain", is_flag=True,
    help="Say it in JSON: a line for each interval, or all of one with --once.",
)  # fmt: skip
@click.pass_context
def top(
    context: click.Context, address: str, token: str, every: float, once: bool, plain: bool
) -> None:
    """Show what a gateway or a service does at the moment, as its admin at ADDRESS tells it.

    How many requests are allowed, refused and shadowed in a second, by rule and in all; who is
    refused most; the latest refusals; how the store and the workers do. ADDRESS is where its file
    says `admin`, or unix: and a path. q, Esc or Ctrl-C ends it. A gateway that goes away is asked
    again until it is back.

    Ends with 0, with 1 if nobody answers at first, or does not know the token.
    """
    from headgate.cli.top.line import Line  # noqa: PLC0415 - only the work needs it

    try:
        line = Line(address, token)
    except ValueError as problem:
        raise click.BadParameter(str(problem), param_hint="'[ADDRESS]'") from None
    try:
        look(line, every, once, plain)
    except HeadgateError as problem:
        click.echo(json.dumps({"problem": str(problem)}) if plain else f"headgate: {problem}",
                   err=not plain)  # fmt: skip
        context.exit(FAILED)
    except KeyboardInterrupt:
        context.exit()


def look(line: Line, every: float, once: bool, plain: bool) -> None:
    """Look once, or until it is over; raises `HeadgateError` if nobody answers."""
    first = line.read()
    if plain:
        tell(line, every, once, first)
    elif once or not sys.stdout.isatty():
        say(line, every, first)
    else:
        from headgate.cli.report import screen  # noqa: PLC0415 - only who watches needs it
        from headgate.cli.top.screen import keys, watch  # noqa: PLC0415 - as above

        with keys(every) as over:
            watch(screen(), line, first, over)


def tell(line: Line, every: float, once: bool, first: object) -> None:
    """Say it in JSON."""
    from headgate.cli.top.track import Track, told  # noqa: PLC0415 - as above

    track, never = Track(), threading.Event()
    track.note(first)
    while not never.wait(every):
        said = told(track.note(line.read()))
        click.echo(json.dumps(said, indent=2 if once else None))
        if once:
            return


def say(line: Line, every: float, first: object) -> None:
    """Say it once, for people or for a pipe, without a cursor that moves."""
    from headgate.cli.report import screen  # noqa: PLC0415 - as above
    from headgate.cli.top.picture import picture  # noqa: PLC0415 - as above
    from headgate.cli.top.track import Track  # noqa: PLC0415 - as above

    track, console = Track(), screen()
    track.note(first)
    threading.Event().wait(every)
    drawn = picture(console, track.note(line.read()), live=False)
    with console.capture() as captured:
        console.print(drawn)
    for one in captured.get().splitlines():
        click.echo(one.rstrip())
