"""`headgate explain`: why a request would get its answer, or why one got it."""

from __future__ import annotations

from typing import Any

import click

from headgate.cli.check import answering, parted
from headgate.cli.running import storable

GOOD, REFUSED = 0, 1


def one(
    context: click.Context, option: click.Parameter, said: str | None
) -> tuple[str, str, str] | None:
    """Method, path and query of the request; a path alone is asked for with GET."""
    if said is None:
        return None
    plain, mark, query = said.partition("?")
    ((method, path),) = parted(context, option, (plain,))
    return method, path, query if mark else ""


def headed(
    context: click.Context, option: click.Parameter, said: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    """Headers, as curl takes them."""
    found = []
    for line in said:
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise click.BadParameter(f'"{line}" is no header; write one such as "X-Api-Key: ada"')
        found.append((name.strip(), value.strip()))
    return tuple(found)


@click.command(short_help="Say why a request is refused, or was.")
@click.argument("file", type=click.Path(), required=False)
@click.argument("request", required=False, callback=one, metavar='["METHOD /PATH?QUERY"]')
@click.option(
    "-H",
    "--header",
    "headers",
    multiple=True,
    metavar='"NAME: VALUE"',
    callback=headed,
    help="A header of the request; may be given several times.",
)
@click.option(
    "--peer",
    default="",
    metavar="ADDRESS",
    help="Who has connected: a proxy, or the client; 127.0.0.1 unless said.",
)
@click.option(
    "--client", default="", metavar="ADDRESS", help="Who the client is, however it is found."
)
@click.option("--host", default="", metavar="NAME", help="The host that is asked for.")
@click.option(
    "--scheme",
    default="http",
    type=click.Choice(["http", "https", "ws", "wss"]),
    help="The scheme that its client speaks.",
)
@click.option("--user", default="", metavar="NAME", help="The user, as an app would say it.")
@click.option("--plan", default="", metavar="NAME", help="The plan, as an app would say it.")
@click.option(
    "--at",
    default="",
    metavar="TIME",
    help="When, such as 2026-11-18T12:00:00Z; only where nobody else counts.",
)
@click.option(
    "--store",
    default="",
    metavar="URL",
    callback=storable,
    help="Look there at what was counted, and not where the rules say.",
)
@click.option(
    "--times",
    type=click.IntRange(1, 10_000),
    default=1,
    show_default=True,
    metavar="COUNT",
    help="Ask so often, and explain the last; only with what counts it.",
)
@click.option("--spend", is_flag=True, help="Count the request where others count as well.")
@click.option(
    "--audit",
    type=click.Path(),
    metavar="LOG",
    help="Look into this log of refusals; - is the standard input.",
)
@click.option(
    "--decision",
    default="",
    metavar="ID",
    help="Explain the refusal that its client was told of as Headgate-Decision.",
)
@click.option("--all", "every", is_flag=True, help="Explain every refusal in the log.")
@click.option("--json", "plain", is_flag=True, help="Say it in JSON.")
@click.pass_context
def explain(context: click.Context, /, **said: Any) -> None:
    """Say why a request gets its answer from the rules in FILE, or got it.

    \b
        headgate explain rules.yaml "POST /login" --client 203.0.113.7
        headgate explain --audit refused.log --decision 3f9a0b12c4000001 rules.yaml
        headgate explain --audit refused.log --all

    Nothing is counted where others count, unless you say --spend: the store is only looked at. What
    is counted in memory is nobody's but this command's own.

    Ends with 0 if the request goes in, or the refusal was found; with 1 if the request is refused,
    or there is no such refusal; with 2 if the rules are broken or something cannot be asked.
    """  # noqa: D301 - click's own mark for lines that stay
    file = said["file"] or ""
    with answering(said["plain"], file, file, file or said["audit"] or ""):
        context.exit(answered(said))


def answered(said: dict[str, Any]) -> int:
    """Explain what was asked about; the status to end with."""
    from headgate.cli.explain import explained  # noqa: PLC0415 - reading rules takes a while to load

    if said["audit"] is not None:
        if said["request"] is not None:
            raise click.UsageError("--audit is about refusals that were; leave the request out")
        if said["every"] == bool(said["decision"]):
            raise click.UsageError("say which refusal: --decision ID, or --all")
        return explained.were(said)
    if said["every"] or said["decision"]:
        raise click.UsageError("say with --audit in which log the refusals stand")
    if said["file"] is None or said["request"] is None:
        raise click.UsageError('say a file and a request, such as rules.yaml "POST /login"')
    return explained.would(said)
