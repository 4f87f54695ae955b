"""`headgate bench`: what a decision costs on this machine and this store."""

from __future__ import annotations

import json
from typing import Any

import click

from headgate.cli.running import storable
from headgate.errors import HeadgateError

FAILED = 1
LONGEST = 3600
ALGORITHMS = (
    "token_bucket", "gcra", "leaky_bucket", "fixed_window", "sliding_window", "sliding_log",
    "warm_up",
)  # fmt: skip


@click.command(short_help="Measure what a decision costs here.")
@click.option(
    "--store", default="memory://", show_default=True, metavar="URL", callback=storable,
    help="Count there. What was counted is taken away again, or expires.",
)  # fmt: skip
@click.option(
    "--limit", "limits", multiple=True, metavar="RATE",
    help="Decide by this limit, such as 100/min; may be given several times. Unless said, by one "
    "that lets everything in, and by one that is spent.",
)  # fmt: skip
@click.option(
    "--by", type=click.Choice(ALGORITHMS), default="token_bucket", show_default=True,
    help="Which algorithm counts the limits.",
)  # fmt: skip
@click.option(
    "--seconds", type=click.FloatRange(0, LONGEST), default=3.0, show_default=True,
    metavar="SECONDS", help="How long to measure.",
)  # fmt: skip
@click.option(
    "--keys", type=click.IntRange(1, 1_000_000), default=10_000, show_default=True, metavar="N",
    help="How many keys there are, where there are many.",
)  # fmt: skip
@click.option(
    "--threads", type=click.IntRange(1, 64), default=1, show_default=True, metavar="N",
    help="How many threads ask at once.",
)  # fmt: skip
@click.option("--json", "plain", is_flag=True, help="Say all of it in JSON.")
@click.pass_context
def bench(context: click.Context, /, plain: bool, seconds: float, **said: Any) -> None:
    """Measure what a decision costs on this machine, beside an empty call and a clock read.

    Everybody gets a batch of about a millisecond in turn, over and over, so that what else the
    machine does falls on all alike. Told are the median over all rounds, the least, and what nine
    rounds in ten do not exceed; and the CPU time of the thread that asks. The loop around the calls
    is measured too, and subtracted.

    Ends with 0, with 1 if the store cannot be asked.
    """
    from headgate.cli.bench.report import show, told  # noqa: PLC0415 - takes a while to load
    from headgate.cli.bench.rounds import measured  # noqa: PLC0415 - as above
    from headgate.clock import SystemClock  # noqa: PLC0415 - as above

    try:
        with staged(**said) as plan:
            found, rounds = measured(plan, seconds, SystemClock())
            report = told(plan, said, found, rounds)
    except (HeadgateError, OSError) as error:
        context.exit(failed(str(error), plain))
    if plain:
        click.echo(json.dumps(report, indent=2))
    else:
        show(report)


def staged(store: str, limits: tuple[str, ...], by: str, keys: int, threads: int) -> Any:
    """What to measure; raises `click.BadParameter` if there is no such limit."""
    from headgate.cli.bench.stage import stage  # noqa: PLC0415 - as above

    try:
        return stage(store, limits, by, keys, threads)
    except (TypeError, ValueError) as problem:
        raise click.BadParameter(str(problem), param_hint="'--limit'") from None


def failed(problem: str, plain: bool) -> int:
    """Say why nothing was measured."""
    if plain:
        click.echo(json.dumps({"problem": problem}))
    else:
        click.echo(f"headgate: {problem}", err=True)
    return FAILED
