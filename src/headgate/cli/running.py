"""Running: what the commands have in common that serve until they are told to end."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from headgate.cli.check import broken
from headgate.errors import HeadgateError, MissingExtra, RulesError

if TYPE_CHECKING:
    from headgate.workers.master import Master
    from headgate.workers.orders import Orders

GOOD, FAILED = 0, 1
DAY = 86_400
# What is imported by what serves, which is called like the extra that brings it along.
MADE = {"gateway": ("httptools",), "service": ("httptools", "hpack", "google.protobuf")}
QUIET = "Say only what is wrong, and who was refused."


def reachable(read: Callable[[str], object]) -> Callable[..., tuple[str, ...]]:
    """What sees to it that one can listen at each address; `read` takes one apart."""

    def check(
        context: click.Context, option: click.Parameter, said: tuple[str, ...]
    ) -> tuple[str, ...]:
        for address in said:
            try:
                read(address)
            except ValueError as problem:
                raise click.BadParameter(f'"{address}": {problem}') from None
        return said

    return check


def storable(context: click.Context, option: click.Parameter, said: str) -> str:
    """The URL, if there can be such a store."""
    from headgate.rules.model.store import flaw, masked  # noqa: PLC0415 - only who is asked needs it

    problem = flaw(said) if said else ""
    if problem:
        raise click.BadParameter(f'"{masked(said)}": {problem}')
    return said


# The options that all of them have, in the order in which help tells of them.
OPTIONS = (
    click.option(
        "--workers", type=click.IntRange(1, 1000), metavar="N",
        help="How many processes do the work.",
    ),
    click.option(
        "--store", default="", metavar="URL", callback=storable,
        help="Keep there what was counted.",
    ),
    click.option(
        "--watch", type=click.FloatRange(0, DAY), default=1.0, show_default=True,
        metavar="SECONDS", help="Look for new rules so often; 0 for never.",
    ),
    click.option(
        "--drain", type=click.FloatRange(0, DAY), metavar="SECONDS",
        help="How long what is under way may take at the end.",
    ),
    click.option(
        "--token-file", default="", type=click.Path(),
        help="Write the admin's token there, and do not say it, if the rules give none.",
    ),
    click.option(
        "--log-format", default="console", show_default=True,
        type=click.Choice(["console", "json"]),
        help="Log for people, or each line as an object of JSON.",
    ),
    click.option("--quiet", is_flag=True, help=QUIET),
    click.option(
        "--json", "plain", is_flag=True,
        help="Say what is there in one line of JSON on the standard output.",
    ),
)  # fmt: skip


def options(command: Any) -> Any:
    """Give a command the options that all of them have."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def run(
    serves: str, file: str, listen: tuple[str, ...], workers: int | None, store: str,
    watch: float, drain: float | None, token_file: str, log_format: str, quiet: bool, plain: bool,
) -> int:  # fmt: skip
    """Serve by the rules in a file; the status to end with."""
    try:
        equip(serves)
        from headgate.workers.orders import Orders  # noqa: PLC0415 - takes a while to load

        orders = Orders(
            file, listen, store, watch=watch, drain=drain, quiet=quiet, token_file=token_file,
            serves=serves, log=log_format,
        )  # fmt: skip
        return serve(orders, workers, plain)
    except RulesError as error:
        return broken(file, error.problems, plain)
    except (HeadgateError, OSError, ValueError) as error:
        return failed(str(error), plain)


def failed(problem: str, plain: bool) -> int:
    """Say why it cannot start."""
    if plain:
        click.echo(json.dumps({"started": False, "problem": problem}))
    else:
        click.echo(f"headgate: {problem}", err=True)
    return FAILED


def equip(serves: str) -> None:
    """See that what it is made of is installed; raises `MissingExtra` before a worker finds out."""
    for name in MADE[serves]:
        try:
            found = find_spec(name)
        except ImportError:
            found = None
        if found is None:
            raise MissingExtra(serves)


def serve(orders: Orders, workers: int | None, plain: bool) -> int:
    """Serve until it is told to end."""
    from headgate.cli.opening import note, show, tell  # noqa: PLC0415 - as above
    from headgate.workers import journal  # noqa: PLC0415 - as above
    from headgate.workers.crew import Stillborn  # noqa: PLC0415 - as above
    from headgate.workers.master import Master  # noqa: PLC0415 - as above

    journal.keep(orders.quiet, form=orders.log)
    begin = tell if plain else note if orders.log == "json" else show
    try:
        master = Master(orders, orders.origin.fetch(""), workers or 0, begin)
        prove(master)
        master.run()
    except Stillborn as error:
        return failed(str(error), plain)
    return GOOD


def prove(master: Master) -> None:
    """See that what the rules name can be read as well; raises `RulesError` if it is bad."""
    if master.orders.serves == "service":
        from headgate.service.rls.domains import load  # noqa: PLC0415 - as above

        load(master.terms.ratelimit.files)
