"""`headgate gateway`: rules in front of HTTP services, in as many processes as it takes."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from typing import TYPE_CHECKING

import click

from headgate.cli.check import broken
from headgate.errors import HeadgateError, RulesError

if TYPE_CHECKING:
    from headgate.workers.master import Master
    from headgate.workers.orders import Orders

GOOD, FAILED = 0, 1
DAY = 86_400
ALONE = (
    "warning: each of {} workers counts by itself in memory://, so limits are that much wider; "
    "use shared://NAME or redis://HOST"
)


def reachable(
    context: click.Context, option: click.Parameter, said: tuple[str, ...]
) -> tuple[str, ...]:
    """The addresses, if one can listen there."""
    from headgate.rules.model.place import listening  # noqa: PLC0415 - only who is asked needs it

    for address in said:
        try:
            listening(address)
        except ValueError as problem:
            raise click.BadParameter(f'"{address}": {problem}') from None
    return said


def storable(context: click.Context, option: click.Parameter, said: str) -> str:
    """The URL, if there can be such a store."""
    from headgate.rules.model.store import flaw, masked  # noqa: PLC0415 - as above

    problem = flaw(said) if said else ""
    if problem:
        raise click.BadParameter(f'"{masked(said)}": {problem}')
    return said


@click.command()
@click.argument("file", type=click.Path())
@click.option(
    "--listen", multiple=True, metavar="ADDRESS", callback=reachable,
    help="Listen there, in plain text, and not where the rules say; may be given several times.",
)  # fmt: skip
@click.option("--workers", type=click.IntRange(1, 1000), help="How many processes do the work.")
@click.option(
    "--store", default="", metavar="URL", callback=storable, help="Keep there what was counted."
)
@click.option(
    "--watch", type=click.FloatRange(0, DAY), default=1.0, show_default=True, metavar="SECONDS",
    help="Look for new rules so often; 0 for never.",
)  # fmt: skip
@click.option(
    "--drain", type=click.FloatRange(0, DAY), metavar="SECONDS",
    help="How long what is under way may take at the end.",
)  # fmt: skip
@click.option(
    "--token-file", default="", type=click.Path(),
    help="Write the admin's token there, and do not say it, if the rules give none.",
)  # fmt: skip
@click.option("--quiet", is_flag=True, help="Say only what is wrong, and who was refused.")
@click.pass_context
def gateway(
    context: click.Context, file: str, listen: tuple[str, ...], workers: int | None, store: str,
    watch: float, drain: float | None, token_file: str, quiet: bool,
) -> None:  # fmt: skip
    """Let requests through to the services behind, as the rules in FILE say.

    SIGTERM or Ctrl-C finishes what is under way, SIGHUP reads the rules again, SIGUSR1 opens the
    audit's file again, SIGUSR2 starts anew and turns nobody away. Ends with 0, with 1 if it cannot
    start, with 2 if the rules are broken.
    """
    try:
        from headgate.workers.orders import Orders  # noqa: PLC0415 - takes a while to load

        orders = Orders(
            file, listen, store, watch=watch, drain=drain, quiet=quiet, token_file=token_file
        )
        status = serve(orders, workers)
    except RulesError as error:
        status = broken(file, error.problems, False)
    except (HeadgateError, OSError, ValueError) as error:
        click.echo(f"headgate: {error}", err=True)
        status = FAILED
    context.exit(status)


def serve(orders: Orders, workers: int | None) -> int:
    """Serve until it is told to end."""
    from headgate.workers import journal  # noqa: PLC0415 - as above
    from headgate.workers.crew import Stillborn  # noqa: PLC0415 - as above
    from headgate.workers.master import Master  # noqa: PLC0415 - as above

    journal.keep(orders.quiet)
    try:
        Master(orders, orders.origin.fetch(""), workers or 0, show).run()
    except Stillborn as error:
        click.echo(f"headgate: {error}", err=True)
        return FAILED
    return GOOD


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
    for listen, door in zip(rules.gateway.listen, master.doors, strict=True):
        scheme = "" if door.path else "http://" if listen.tls is None else "https://"
        yield f"listening on {scheme}{door.place}"
    counts = f"{many(rules.rules, 'rule')}, {many(rules.gateway.routes, 'route')}"
    yield f"{orders.source}: {counts}, version {rules.digest}"
    spare = ", as the rules name no store" if rules.store == orders.spare else ""
    yield f"{many(range(master.workers), 'worker')}, counting in {masked(master.store)}{spare}"
    if master.admin is not None:
        place = master.admin.door.place
        yield f"admin on {place if master.admin.door.path else f'http://{place}'}"


def many(things: Sized, noun: str) -> str:
    """How many there are, with their noun."""
    return f"1 {noun}" if len(things) == 1 else f"{len(things)} {noun}s"
