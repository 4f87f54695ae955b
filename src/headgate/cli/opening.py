"""Opening: what a gateway or a service says when it begins to serve, for people or for programs."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sized
from typing import Any

import click

from headgate.cli.trouble import harmless
from headgate.rules.model.store import masked
from headgate.workers.master import Master

logger = logging.getLogger("headgate.workers")

ALONE = (
    "each of {} workers counts by itself in memory://, so limits are that much wider; "
    "use shared://NAME or redis://HOST"
)


def show(master: Master) -> None:
    """Say what is there; what is wrong and what nobody else knows is said even in quiet."""
    lines = [] if master.orders.quiet else [harmless(line) for line in told(master)]
    lines += [f"warning: {line}" for line in warned(master)]
    lines += [f"admin token: {master.token}"] if unknown(master) else []
    # All at once: who reads one line finds the others, too.
    if lines:
        click.echo("\n".join(lines), err=True)


def tell(master: Master) -> None:
    """Say it in one line of JSON, with all that is wrong; in quiet, too: who asks wants to know."""
    said = {"started": True, **summed(master), "warnings": [*warned(master)]}
    said["admin_token"] = master.token if unknown(master) else None
    click.echo(json.dumps(said))


def note(master: Master) -> None:
    """Log it, where the log is for machines; what nobody else knows is said even in quiet."""
    fields = {"event": "started", **summed(master)}
    logger.info("it serves", extra={"fields": fields})
    for line in warned(master):
        logger.warning("%s", line)
    if unknown(master):
        fields = {"event": "token", "admin_token": master.token}
        logger.warning("the rules give no admin token; one was made", extra={"fields": fields})


def summed(master: Master) -> dict[str, Any]:
    """What is there, as plain data."""
    return {
        "serves": master.orders.serves,
        "listening": [
            opened(listen, door)
            for listen, door in zip(master.terms.listen, master.doors, strict=True)
        ],
        "file": str(master.orders.source),
        "version": master.rules.digest,
        "rules": len(master.rules.rules),
        "workers": master.workers,
        "store": masked(master.store),
        "admin": office(master),
    }


def warned(master: Master) -> Iterator[str]:
    """What may not be meant."""
    if master.workers > 1 and master.store.startswith("memory:"):
        yield ALONE.format(master.workers)


def unknown(master: Master) -> bool:
    """Whether its token was made just now, and is written nowhere."""
    return master.fresh and not master.orders.token_file


def told(master: Master) -> Iterator[str]:
    """What is there, line by line."""
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
        yield f"admin on {office(master)}"


def office(master: Master) -> str:
    """Where its admin answers, if it has one."""
    if master.admin is None:
        return ""
    door = master.admin.door
    return str(door.place) if door.path else f"http://{door.place}"


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
