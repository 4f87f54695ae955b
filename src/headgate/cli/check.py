"""`headgate check`: whether a rule file is good, what it says, and what it may not mean."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import click

from headgate.errors import HeadgateError, Problem, RulesError

GOOD, DOUBTFUL, BROKEN = 0, 1, 2


def parted(
    context: click.Context, option: click.Parameter, said: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    """Method and path of each route that was asked for; a path alone is asked for with GET."""
    found = []
    for route in said:
        method, _, path = route.strip().rpartition(" ")
        if not path.startswith("/") or not (method.strip() or "GET").isalpha():
            raise click.BadParameter(f'"{route}" is no route; write one such as "POST /login"')
        found.append((method.strip().upper() or "GET", path))
    return tuple(found)


@click.command(short_help="Say what rules do, and what is wrong with them.")
@click.argument("file", type=click.Path())
@click.option("--json", "plain", is_flag=True, help="Say all of it in JSON.")
@click.option("--strict", is_flag=True, help="End with 1 if there are warnings.")
@click.option(
    "--route",
    "routes",
    multiple=True,
    metavar='"METHOD /PATH"',
    callback=parted,
    help="Say which rules such a request meets; may be given several times.",
)
@click.pass_context
def check(
    context: click.Context,
    file: str,
    plain: bool,
    strict: bool,
    routes: tuple[tuple[str, str], ...],
) -> None:
    """Say whether the rules in FILE are good, what they say, and what they may not mean.

    Ends with 0 if they are good, with 1 if there are warnings and --strict is said, with 2 if they
    are broken.
    """
    from headgate.cli import report  # noqa: PLC0415 - reading rules takes a while to load

    try:
        found = report.read(file)
        if plain:
            click.echo(report.told(found, routes))
        else:
            report.show(found, routes)
    except RulesError as error:
        context.exit(broken(file, error.problems, plain))
    except HeadgateError as error:
        context.exit(broken(file, (Problem(str(error), file=file),), plain))
    context.exit(DOUBTFUL if strict and found.warnings else GOOD)


@contextmanager
def answering(plain: bool, rules: str, other: str, place: str = "") -> Iterator[None]:
    """End with what is wrong, where something is: with `rules`, or with the `other` that was asked.

    `place` is where that stands, if it is a file.
    """
    try:
        yield
    except RulesError as error:
        status = broken(rules, error.problems, plain)
    except BrokenPipeError:
        raise
    except (HeadgateError, OSError, ValueError) as error:
        status = broken(other, (Problem(str(error), file=place),), plain)
    else:
        return
    click.get_current_context().exit(status)


def broken(file: str, problems: tuple[Problem, ...], plain: bool) -> int:
    """Say what is wrong."""
    from headgate.cli.trouble import lines, plainly  # noqa: PLC0415 - only what is wrong needs it

    if plain:
        said = {"file": file, "good": False, "problems": [plainly(one) for one in problems]}
        click.echo(json.dumps(said, indent=2))
        return BROKEN
    for line in lines(file, problems):
        click.echo(line, err=True)
    return BROKEN
