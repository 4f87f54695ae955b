"""`headgate demo`: a gateway at work, on this machine alone."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import suppress
from pathlib import Path

import click

from headgate.cli.running import equip
from headgate.errors import HeadgateError, MissingExtra

FAILED = 1
# In a pipe nobody looks on: so many seconds, then one table.
BRIEF = 3.0
LONGEST = 3600


@click.command(short_help="Show a gateway at work, on this machine.")
@click.option("--alone", is_flag=True, help="Have no visitors but you.")
@click.option(
    "--once", type=click.FloatRange(0, LONGEST), metavar="SECONDS",
    help="End after so long, with one table; as in a pipe after three seconds.",
)  # fmt: skip
@click.option(
    "--rules", "file", type=click.Path(dir_okay=False), metavar="FILE",
    help="Go by the rules in FILE, to change them meanwhile; the demo's are written there if there "
    "is none.",
)  # fmt: skip
@click.option(
    "--service", type=click.IntRange(0, 65_535), metavar="PORT",
    help="Only the small service behind, on that port, for a gateway of your own.",
)  # fmt: skip
@click.option("--json", "plain", is_flag=True, help="Say the numbers at the end in JSON.")
@click.pass_context
def demo(
    context: click.Context, alone: bool, once: float | None, file: str | None, service: int | None,
    plain: bool,
) -> None:  # fmt: skip
    """Stand a gateway in front of a small service, and show what its rules let in and refuse.

    Everything is on this machine and on loopback: the service, `headgate gateway` with a rule of
    each kind, and visitors who come again and again. It says what to try with curl. Ctrl-C ends all
    of it.

    Ends with 0, with 1 if the gateway does not start.
    """
    try:
        with suppress(KeyboardInterrupt):
            if service is None:
                play(alone, once, file, plain)
            else:
                serve(service, plain)
    except (HeadgateError, OSError) as error:
        click.echo(json.dumps({"problem": str(error)}) if plain else f"headgate: {error}",
                   err=not plain)  # fmt: skip
        context.exit(FAILED)


def play(alone: bool, once: float | None, file: str | None, plain: bool) -> None:
    """The whole of it; raises `HeadgateError` or OSError if it cannot begin."""
    try:
        equip("gateway")
        from rich.console import Console  # noqa: PLC0415 - it may not be there
    except ImportError:
        raise MissingExtra("demo") from None
    from headgate.cli.demo.show import Part, show  # noqa: PLC0415 - only the work needs it

    bare = bool(os.environ.get("NO_COLOR"))
    console = Console(highlight=False, color_system=None if bare else "auto")
    if once is None and (plain or not console.is_terminal):
        once = BRIEF
    asyncio.run(show(console, Part(written(file), once, alone, plain)))


def written(file: str | None) -> Path:
    """The rules to go by; they are written if there are none."""
    from headgate.cli.demo.stage import RULES  # noqa: PLC0415 - as above

    if file is None:
        return RULES
    with suppress(FileExistsError), open(file, "x", encoding="utf-8") as fresh:
        fresh.write(RULES.read_text(encoding="utf-8"))
    return Path(file)


def serve(port: int, plain: bool) -> None:
    """The service alone."""
    from headgate.cli.demo import service  # noqa: PLC0415 - as above

    async def stay() -> None:
        server = await service.serve(port)
        address = f"http://{service.HOST}:{server.sockets[0].getsockname()[1]}"
        click.echo(json.dumps({"serving": address}) if plain else f"serving on {address}")
        await server.serve_forever()

    asyncio.run(stay())
