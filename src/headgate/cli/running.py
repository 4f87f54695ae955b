"""Running: what the commands have in common that serve until they are told to end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sized
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
ALONE = (
    "warning: each of {} workers counts by itself in memory://, so limits are that much wider; "
    "use shared://NAME or redis://HOST"
)


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


def options(command: Any) -> Any:
    """The options that all of them have."""
    for option in reversed((
        click.option(
            "--workers", type=click.IntRange(1, 1000), help="How many processes do the work."
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
        click.option("--quiet", is_flag=True, help=QUIET),
    )):  # fmt: skip
        command = option(command)
    return command


def run(
    serves: str, file: str, listen: tuple[str, ...], workers: int | None, store: str,
    watch: float, drain: float | None, token_file: str, quiet: bool,
) -> int:  # fmt: skip
    """Serve by the rules in a file; the status to end with."""
    try:
        equip(serves)
        from headgate.workers.orders import Orders  # noqa: PLC0415 - takes a while to load

        orders = Orders(
            file, listen, store, watch=watch, drain=drain, quiet=quiet, token_file=token_file,
            serves=serves,
        )  # fmt: skip
        return serve(orders, workers)
    except RulesError as error:
        return broken(file, error.problems, False)
    except (HeadgateError, OSError, ValueError) as error:
        click.echo(f"headgate: {error}", err=True)
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


def serve(orders: Orders, workers: int | None) -> int:
    """Serve until it is told to end."""
    from headgate.workers import journal  # noqa: PLC0415 - as above
    from headgate.workers.crew import Stillborn  # noqa: PLC0415 - as above
    from headgate.workers.master import Master  # noqa: PLC0415 - as above

    journal.keep(orders.quiet)
    try:
        master = Master(orders, orders.origin.fetch(""), workers or 0, show)
        prove(master)
        master.run()
    except Stillborn as error:
        click.echo(f"headgate: {error}", err=True)
        return FAILED
    return GOOD


def prove(master: Master) -> None:
    """See that what the rules name can be read as well; raises `RulesError` if it is bad."""
    if master.orders.serves == "service":
        from headgate.service.rls.domains import load  # noqa: PLC0415 - as above

        load(master.terms.ratelimit.files)


def show(master: Master) -> None:
    """Say what is there; what is wrong and what nobody else knows is said even in quiet."""
    from headgate.cli.trouble import harmless  # noqa: PLC0415 - as above

    for line in () if master.orders.quiet else told(master):
        click.echo(harmless(line), err=True)
    if master.workers > 1 and master.store.startswith("memory:"):
        click.echo(ALONE.format(master.workers), err=True)
    if master.fresh and not master.orders.token_file:
        click.echo(f"admin token: {master.token}", err=True)


def told(master: Master) -> Iterator[str]:
    """What is there, line by line."""
    from headgate.rules.model.store import masked  # noqa: PLC0415 - as above

    rules, orders = master.rules, master.orders
    for listen, door in zip(master.terms.listen, master.doors, strict=True):
        yield f"listening on {opened(listen, door)}"
    counts = many(rules.rules, "rule")
    if orders.serves == "gateway":
        counts += f", {many(rules.gateway.routes, 'route')}"
    yield f"{orders.source}: {counts}, version {rules.digest}"
    spare = ", as the rules name no store" if rules.store == orders.spare else ""
    yield f"{many(range(master.workers), 'worker')}, counting in {masked(master.store)}{spare}"
    if master.admin is not None:
        place = master.admin.door.place
        yield f"admin on {place if master.admin.door.path else f'http://{place}'}"


def opened(listen: Any, door: Any) -> str:
    """A place where it listens, with the port that was free."""
    speaks = getattr(listen, "speaks", "")
    if speaks:
        return f"{speaks}://{door.place}{' with TLS' if listen.tls is not None else ''}"
    scheme = "" if door.path else "http://" if listen.tls is None else "https://"
    return f"{scheme}{door.place}"


def many(things: Sized, noun: str) -> str:
    """How many there are, with their noun."""
    return f"1 {noun}" if len(things) == 1 else f"{len(things)} {noun}s"
