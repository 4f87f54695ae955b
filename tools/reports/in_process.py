"""What a decision costs in a process, beside other libraries (benchmarks/memory.py)."""

from __future__ import annotations

from typing import Any

from reports.bars import bars
from reports.words import MADE, filled, machine, number, table, versions

COLUMNS = {
    "allowed": "allowed",
    "refused": "refused",
    "many": "100,000 keys, in turn",
    "alone": "100,000 keys, alone",
    "threads": "4 threads",
    "async": "awaited",
}


def picture(measured: dict[str, Any]) -> str:
    """The commonest question: one key, and the answer is yes."""
    values = {name: one["least"] for name, one in measured["allowed"].items() if "loop" not in name}
    return bars(values, "nanoseconds a decision (each line is ten times the last)", "ns")


def page(measured: dict[str, Any]) -> str:
    """The page: a picture, what it costs, and how often the answers are right."""
    return filled(f"""\
# In a process

{MADE}

What one decision costs, in nanoseconds: the least of all rounds, an empty loop subtracted.
{machine(measured)}

![Nanoseconds a decision, on one key that lets in](../pictures/bench_memory.svg)

{costs(measured)}

Bytes are the growth of resident memory for each of 100,000 keys. Headgate and throttled-py
answer with all that
there is to say, most others with yes or no. "In turn" a contestant finds the caches full of what
others left there;
"alone" it has them to itself.

Interpreted, without a compiler, a token bucket takes {interpreted(measured)}.

## Are the answers right?

A hundred in 60 seconds, in virtual time: the most that a greedy client got into any 60 seconds,
what the exact
definition would have let in, and independent visitors at 1.2 times the limit.

{answers(measured)}

Every weighted counter, ours too, can be brought to twice the limit; `oldest="whole"` cannot. A
bucket of 100 passes 199
by definition. The definitions are in [bounds](../explanation/bounds.md).

Measured were {versions(measured)}. [How it is measured, and what is not
fair](../../benchmarks/README.md); `make bench` does it again.
""")


def costs(measured: dict[str, Any]) -> str:
    """A row for each contestant."""
    rows = [
        [
            name,
            *(number(measured[kind].get(name, {}).get("least")) for kind in COLUMNS),
            heavy(measured, name),
        ]
        for name in measured["allowed"]
        if "loop" not in name
    ]
    return table(["", *COLUMNS.values(), "bytes a key"], rows)


def heavy(measured: dict[str, Any], name: str) -> str:
    """The bytes that a key takes, where they were measured."""
    return number(measured["alone"].get(name, {}).get("bytes"))


def interpreted(measured: dict[str, Any]) -> str:
    found = measured["interpreted"]
    ours, theirs = found["headgate token bucket"]["least"], found["limits fixed window"]["least"]
    return f"{number(ours)} ns, and the quickest of `limits`, in turn with it, {number(theirs)} ns"


def answers(measured: dict[str, Any]) -> str:
    """A row for each contestant whose clock can be told the time."""
    rows = [
        [
            name,
            number(one["worst"]),
            number(one["ideal_worst"]),
            f"{100 * one['admitted'] / one['ideal_admitted']:.1f} %",
            f"{one['differing']:,} of {one['offered']:,}",
        ]
        for name, one in measured["accuracy"].items()
    ]
    head = ["", "worst 60 s", "by definition", "let in, of what it says", "answers that differ"]
    return table(head, rows)
