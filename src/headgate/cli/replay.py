"""`headgate replay`: what rules would have done to the requests of a log."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from headgate.cli.check import answering

if TYPE_CHECKING:
    from headgate.replay.run import Log

GOOD, EXCEEDED, BROKEN = 0, 1, 2


def shared(context: click.Context, option: click.Parameter, said: str) -> float | None:
    """A share such as `1%` or `0.01`, as a number."""
    if not said:
        return None
    number, percent, rest = said.strip().partition("%")
    try:
        found = float(number) / (100.0 if percent else 1.0)
    except ValueError:
        found = -1.0
    if rest.strip() or not 0.0 <= found <= 1.0:
        raise click.BadParameter(f'"{said}" is no share; write one such as 1% or 0.01')
    return found


# How the lines of a log are read, by whichever command.
late = click.option(
    "--late",
    type=click.FloatRange(0, 86_400),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Put lines in order that are so much too late.",
)
spread = click.option("--spread", is_flag=True, help="Spread what has one stamp over its second.")


@click.command(short_help="Say what rules would have done, by access logs.")
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@click.option(
    "--rules", "file", required=True, type=click.Path(), help="The rules that are played to."
)
@click.option(
    "--against", default="", type=click.Path(), help="Other rules; say who fares differently."
)
@click.option(
    "--format",
    "form",
    default="",
    metavar="FORMAT",
    help="combined, common, vhost, envoy, istio or json, or the server's log_format; told from the "
    "first lines unless said.",
)
@late
@spread
@click.option("--enforce", is_flag=True, help="Take every rule for enforced, also those in shadow.")
@click.option(
    "--top",
    type=click.IntRange(1, 1000),
    default=20,
    show_default=True,
    help="Name so many of those who are refused most.",
)
@click.option("--html", default="", type=click.Path(), help="Write a page with plots there.")
@click.option("--json", "plain", is_flag=True, help="Say all of it in JSON.")
@click.option(
    "--fail-over",
    "most",
    default="",
    metavar="SHARE",
    callback=shared,
    help="End with 1 if more is refused; with --against, if more is by the other rules alone.",
)
@click.pass_context
def replay(context: click.Context, /, logs: tuple[str, ...], file: str, **said: Any) -> None:
    """Say what rules would have done to the requests of LOG, or of several; - is standard input.

    Nothing is sent to anybody. Logs may be packed with gzip, bzip2 or xz.

    Ends with 0, with 1 if --fail-over was exceeded, with 2 if the rules or a log cannot be read.
    """
    files = [file, said["against"]] if said["against"] else [file]
    with answering(said["plain"], file, file):
        context.exit(play(logs, files, said))


def play(names: tuple[str, ...], files: list[str], said: dict[str, Any]) -> int:
    """Read, play and tell; the status to end with."""
    from headgate.cli import replayed  # noqa: PLC0415 - takes a while to load
    from headgate.replay.page import library, page  # noqa: PLC0415 - as above
    from headgate.replay.run import Terms, opened  # noqa: PLC0415 - as above
    from headgate.replay.run import replay as run  # noqa: PLC0415 - as above
    from headgate.rules.model.rules import Rules  # noqa: PLC0415 - as above

    if said["html"]:
        # What is not there is missed before a long log is read.
        library()
    books = [(one, Rules.load(one)) for one in files]
    logs: list[Log] = opened(names, said["form"])
    terms = Terms(said["form"], said["late"], said["spread"], said["enforce"], said["top"])
    with replayed.progress(bool(logs)) as advance:
        report = run(logs, books, terms, advance)
    if said["html"]:
        with open(said["html"], "w", encoding="utf-8") as written:
            written.write(page(report))
    if said["plain"]:
        click.echo(json.dumps(report, indent=2))
    else:
        replayed.show(report, said["html"])
    return judged(report, said["most"])


def judged(report: dict[str, Any], most: float | None) -> int:
    """Whether more was refused than may be."""
    if most is None or not report["requests"]:
        return GOOD
    diff = report["diff"]
    refused = report["rules"]["refused"] if diff is None else diff["only_new"]
    share = refused / report["requests"]
    if share <= most:
        return GOOD
    click.echo(f"headgate: {share:.4%} of requests are refused, more than {most:.4%}", err=True)
    return EXCEEDED
