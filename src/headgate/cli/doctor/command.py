"""`headgate doctor`: what is wrong with a setup, and how to mend it."""

from __future__ import annotations

from typing import Any

import click

from headgate.cli.check import BROKEN, DOUBTFUL, GOOD, answering
from headgate.cli.running import storable

STATUS = {"good": GOOD, "unknown": GOOD, "doubt": DOUBTFUL, "bad": BROKEN}


def checked(
    context: click.Context, option: click.Parameter, said: tuple[str, ...]
) -> tuple[str, ...]:
    """The names of checks there are."""
    from headgate.doctor.checks import CHECKS  # noqa: PLC0415 - only who is asked needs it

    for name in said:
        if name not in CHECKS:
            raise click.BadParameter(f'"{name}" is no check; there are {", ".join(CHECKS)}')
    return said


def placed(context: click.Context, option: click.Parameter, said: str) -> tuple[str, int] | None:
    """Where to listen."""
    from headgate.rules.model.place import listening  # noqa: PLC0415 - as above

    if not said:
        return None
    try:
        place = listening(said)
    except ValueError as problem:
        raise click.BadParameter(f'"{said}": {problem}') from None
    if place.path:
        raise click.BadParameter(f'"{said}": write a host and a port, as in 127.0.0.1:8099')
    return place.host, place.port


@click.command(short_help="Find what is wrong with a setup.")
@click.argument("file", type=click.Path())
@click.option(
    "--store",
    default="",
    metavar="URL",
    callback=storable,
    help="Look at this store, and not at the one that the rules name.",
)
@click.option(
    "--skip",
    multiple=True,
    metavar="CHECK",
    callback=checked,
    help="Leave a check out; may be given several times.",
)
@click.option(
    "--probe",
    default="",
    metavar="URL",
    help="Ask an echo through your proxies which address is seen, and leave all else out.",
)
@click.option(
    "--expect",
    default="",
    metavar="ADDRESS",
    help="The address of this machine that is to be seen there.",
)
@click.option(
    "--echo",
    default="",
    metavar="ADDRESS",
    callback=placed,
    help="Be that echo: answer there, in the place of a gateway, until Ctrl-C.",
)
@click.option("--strict", is_flag=True, help="End with 1 if there are doubts.")
@click.option("--quiet", is_flag=True, help="Say only what is not well.")
@click.option("--json", "plain", is_flag=True, help="Say all of it in JSON.")
@click.pass_context
def doctor(context: click.Context, /, **said: Any) -> None:
    """Find what is wrong with the rules in FILE, their store, this machine, and its proxies.

    \b
        headgate doctor rules.yaml
        headgate doctor rules.yaml --echo :8099
        headgate doctor rules.yaml --probe https://www.example.com/ --expect 203.0.113.7

    Nothing is changed. On a server, two keys headgate:1:doctor:* are written to see whether they
    may be, and taken away again.

    Ends with 0 if all is well, with 1 if there are doubts and you say --strict, with 2 if something
    is bad.
    """  # noqa: D301 - click's own mark for lines that stay
    from headgate.cli.doctor import diagnosis  # noqa: PLC0415 - reading rules takes a while to load

    if said["expect"] and not said["probe"]:
        raise click.UsageError("--expect is what --probe should see; say where to ask as well")
    file = said["file"]
    with answering(said["plain"], file, file, file):
        if said["echo"] is not None:
            diagnosis.echo(file, said["echo"])
            context.exit(GOOD)
        verdict = diagnosis.diagnose(said)
    status = STATUS[verdict]
    context.exit(GOOD if status == DOUBTFUL and not said["strict"] else status)
