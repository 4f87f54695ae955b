"""`headgate alerts`: what a rule file has somebody told of, also for Prometheus and Grafana."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from headgate.cli.check import BROKEN, GOOD, broken
from headgate.errors import HeadgateError, Problem, RulesError

if TYPE_CHECKING:
    from headgate.rules.model.alerts import Alerts
    from headgate.rules.model.condition import Condition

HEADS = ("alert", "when", "of", "raised", "cleared", "within", "is")


@click.command(short_help="Say of what rules want somebody to be told.")
@click.argument("file", type=click.Path(), required=False)
@click.option("--prometheus", "form", flag_value="prometheus", help="As rules of Prometheus.")
@click.option("--grafana", "form", flag_value="grafana", help="As a dashboard of Grafana.")
@click.option("--json", "form", flag_value="json", help="In JSON.")
@click.option(
    "--runbooks", default="", metavar="URL", help="Where the page is that says what to do."
)
@click.pass_context
def alerts(context: click.Context, file: str | None, form: str | None, runbooks: str) -> None:
    """Say of what the rules in FILE want somebody to be told.

    Without FILE, or where it has no alerts, it is what is usual.

    Ends with 0, or with 2 if the rules are broken.
    """
    try:
        terms, said = read(file)
    except RulesError as error:
        context.exit(broken(file or "", error.problems, form == "json"))
    except HeadgateError as error:
        problem = Problem(str(error), file=file or "")
        context.exit(broken(file or "", (problem,), form == "json"))
    if runbooks and (problem_ := odd(runbooks)):
        click.echo(f"headgate: --runbooks {problem_}", err=True)
        context.exit(BROKEN)
    if form:
        click.echo(spoken(terms, form, runbooks), nl=False)
    else:
        show(terms, file or "", said)
    context.exit(GOOD)


def read(file: str | None) -> tuple[Alerts, bool]:
    """The alerts of a file, and whether it says any; raises `RulesError` if it is bad."""
    from headgate.rules.model.alerts import Alerts  # noqa: PLC0415 - rules take a while to load
    from headgate.rules.model.rules import Rules  # noqa: PLC0415 - as above

    found = Rules.load(file).alerts if file else None
    return (Alerts(), False) if found is None else (found, True)


def odd(runbooks: str) -> str:
    """What is wrong with an address of runbooks; nothing if all is well."""
    from headgate.rules.model.alerts import flaw  # noqa: PLC0415 - as above

    problem = flaw(runbooks)
    return f"is an address such as https://wiki.example/runbooks; {problem}" if problem else ""


def spoken(terms: Alerts, form: str, runbooks: str) -> str:
    """All of it as somebody else says it."""
    if form == "json":
        return json.dumps(plain(terms), indent=2) + "\n"
    if form == "grafana":
        from headgate.telemetry.grafana import written as drawn  # noqa: PLC0415 - as above

        return drawn(terms)
    from headgate.telemetry.promql import written  # noqa: PLC0415 - as above

    return written(terms, runbooks)


def plain(terms: Alerts) -> dict[str, Any]:
    """The alerts as plain data, without secrets."""
    from headgate.rules.model.table import spelled  # noqa: PLC0415 - as above

    conditions = [
        {**spelled(one), "high": one.high, "low": one.low, "window": one.window}
        for one in terms.watched
    ]
    return {
        "conditions": conditions,
        "notify": {"log": terms.notify.log, **terms.notify.hushed()},
        "runbooks": terms.runbooks,
    }


def show(terms: Alerts, file: str, said: bool) -> None:
    """All of it for people."""
    from headgate.cli.report import draw, screen  # noqa: PLC0415 - as above
    from headgate.cli.trouble import harmless  # noqa: PLC0415 - as above

    head = "these are usual" if not file else f"{file}: {len(terms.watched)} alerts"
    if file and not said:
        head = f"{file}: no alerts, so nobody is told; these are usual, with alerts: {{}}"
    click.echo(harmless(head))
    draw(screen(), HEADS, [row(one) for one in terms.watched])
    hooks = [one.hushed() for one in terms.notify.webhook]
    places = [one["url"] if isinstance(one, dict) else one for one in hooks]
    log = [] if terms.notify.log == "none" else [f"the log, as {terms.notify.log}"]
    click.echo("")
    click.echo(harmless(f"told: {', '.join([*log, *places]) or 'nobody'}"))


def row(one: Condition) -> tuple[list[str], ...]:
    """One condition, in words."""
    from headgate.cli.words import listed  # noqa: PLC0415 - as above
    from headgate.rules.model.condition import ROUTED, RULED, STATES  # noqa: PLC0415 - as above
    from headgate.rules.model.scalars import lasting  # noqa: PLC0415 - as above
    from headgate.telemetry.alerts import shown  # noqa: PLC0415 - as above

    state = one.when in STATES
    of = "every rule" if one.when in RULED else "every route" if one.when in ROUTED else "-"
    raised = [] if state else [shown(one.when, one.high)]
    raised += [f"after {lasting(one.after)}"] if one.after else []
    cleared = [] if state else [f"below {shown(one.when, one.low)}"]
    cleared += [f"after {lasting(one.calm)}"] if one.calm else []
    return (
        [one.name],
        [one.when],
        [listed(one.rule or one.route) or of],
        [" ".join(raised) or "at once"],
        [" ".join(cleared) or "at once"],
        ["-" if state else lasting(one.window)],
        [one.severity],
    )
