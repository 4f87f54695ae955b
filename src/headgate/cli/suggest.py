"""`headgate suggest`: which limits the traffic of a log, or a load test, asks for."""

from __future__ import annotations

import json
from typing import Any

import click

from headgate.cli.check import answering
from headgate.cli.replay import late, shared, spread

GOOD, UNSURE = 0, 1
# Of a result no more is read.
LARGEST = 1 << 26


@click.command(short_help="Find limits in a log, and the knee of a load test.")
@click.argument("logs", nargs=-1, metavar="[LOG...]")
@click.option(
    "--key",
    "keys",
    multiple=True,
    metavar="FACT",
    default=("client.ip",),
    show_default=True,
    help="Who is counted apart from whom; `none` for all together.",
)
@click.option(
    "--touch",
    default="0.1%",
    show_default=True,
    metavar="SHARE",
    callback=shared,
    help="Refuse at most this share now and then.",
)
@click.option(
    "--of",
    type=click.Choice(["keys", "requests"]),
    default="keys",
    show_default=True,
    help="Of what that is a share.",
)
@click.option(
    "--per",
    type=click.Choice(["s", "min", "h", "day"]),
    default="min",
    show_default=True,
    help="The unit of the rate.",
)
@click.option("--path", "paths", multiple=True, metavar="PATTERN", help="Look at these paths only.")
@click.option(
    "--rules", default="", type=click.Path(), help="Believe who the client is as these rules do."
)
@click.option("--load", default="", type=click.Path(), help="The result of a load test.")
@click.option("--format", "form", default="", metavar="FORMAT", help="As with `headgate replay`.")
@late
@spread
@click.option("--json", "plain", is_flag=True, help="Say all of it in JSON.")
@click.pass_context
def suggest(context: click.Context, /, logs: tuple[str, ...], **said: Any) -> None:
    """Say which limits the traffic of LOG asks for, and how many at once a service can serve.

    LOG is a log as for `headgate replay`; with --load, the result of a load test, there need not be
    one.

    Ends with 0, with 1 if what --load has is not enough to rely on a number, with 2 if something
    cannot be read.
    """
    if not logs and not said["load"]:
        raise click.UsageError("a log, or --load with the result of a load test, is needed")
    with answering(said["plain"], said["rules"], ""):
        context.exit(find(logs, said))


def find(logs: tuple[str, ...], said: dict[str, Any]) -> int:
    """Look, and tell; the status to end with."""
    from headgate.cli import suggested  # noqa: PLC0415 - takes a while to load

    found = read(logs, said) if logs else {}
    if said["load"]:
        found["knee"] = loaded(said["load"])
    if said["plain"]:
        click.echo(json.dumps(found, indent=2))
    else:
        suggested.show(found)
    return UNSURE if said["load"] and found["knee"]["flaws"] else GOOD


def read(logs: tuple[str, ...], said: dict[str, Any]) -> dict[str, Any]:
    """What logs ask for."""
    from headgate.cli.replayed import progress  # noqa: PLC0415 - as above
    from headgate.replay.run import Terms, opened  # noqa: PLC0415 - as above
    from headgate.replay.survey import Wish, survey  # noqa: PLC0415 - as above
    from headgate.rules.clients.client import Client  # noqa: PLC0415 - as above
    from headgate.rules.model.rules import Rules  # noqa: PLC0415 - as above

    client = Rules.load(said["rules"]).client if said["rules"] else Client()
    keys = () if said["keys"] == ("none",) else tuple(said["keys"])
    wish = Wish(
        keys, said["touch"], said["of"] == "keys", said["per"], tuple(said["paths"]), client
    )
    terms = Terms(said["form"], said["late"], said["spread"])
    with progress(True) as advance:
        return survey(opened(logs, said["form"]), wish, terms, advance)


def loaded(name: str) -> dict[str, Any]:
    """What a load test says."""
    from headgate.replay.knee import knee, merged  # noqa: PLC0415 - as above
    from headgate.replay.loads import points  # noqa: PLC0415 - as above
    from headgate.replay.survey import bent  # noqa: PLC0415 - as above

    with open(name, encoding="utf-8-sig", errors="replace", newline="") as opened:
        found = points(opened.read(LARGEST), name)
    return bent(merged(found), knee(found))
