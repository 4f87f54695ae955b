"""Makes decisions in process while their instructions are counted from outside.

    python instruction_calls.py REDIS_URL

Reads lines such as `rules, 4 rules, refused: 1000` from the standard input, makes so many decisions
and answers with `done`. Only public names of the package are used; nothing of it is imported before
a row needs it.
"""

from __future__ import annotations

import gc
import os
import sys
from itertools import cycle, islice, repeat

from instruction_rules import AMPLE, COUNTS, HEADER, OUTCOMES, SCARCE, USER, build_rules, get_path

# Under valgrind every import takes long, and these are for type checkers only.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Decide = Callable[[int], None]

KEYS = 500


def build_floor() -> Decide:
    """A call of a Python method that does nothing: what the interpreter itself costs."""

    class Empty:
        def take(self, key: str) -> None:
            pass

    take = Empty().take

    def decide(count: int) -> None:
        for key in repeat(USER, count):
            take(key)

    return decide


def build_limiter(store: str, outcome: str, keys: int = 1) -> Decide:
    """`Limiter.take`, on one hot key or on many in turn."""
    from headgate import Limiter

    limiter = Limiter(SCARCE if outcome == "refused" else AMPLE, store=store, name="instructions")
    take, expected = limiter.take, outcome == "admitted"
    users = [f"{USER}:{number}" for number in range(keys)]
    # The first decision of every key is made before counting.
    for user in users:
        take(user)
    if any(take(user).allowed is not expected for user in users) or take(users[0]).degraded:
        raise SystemExit(f"{store}: a decision is not {outcome}")
    turns = cycle(users)

    def decide(count: int) -> None:
        for key in islice(turns, count):
            take(key)

    return decide


def build_gatekeeper(count: int, outcome: str, keys: int = 1) -> Decide:
    """A request as an adapter handles it: `Request`, `Gatekeeper.enter`, and `leave` if needed."""
    from headgate.rules import Gatekeeper, Request, Rule, Rules

    keeper = Gatekeeper(Rules([Rule(**fields) for fields in build_rules(count, outcome)]))
    enter, leave, expected = keeper.enter, keeper.leave, outcome == "admitted"
    path = get_path(outcome)
    headers = [
        [("host", "shop.example"), ("accept", "*/*"), (HEADER, f"{USER}:{number}")]
        for number in range(keys)
    ]

    def check(asked: list[tuple[str, str]]) -> bool:
        entry = enter(Request("GET", path, asked, client="203.0.113.7"))
        if entry:
            leave(entry, 200)
        return bool(entry)

    for asked in headers:
        check(asked)
    if any(check(asked) is not expected for asked in headers):
        raise SystemExit(f"{count} rules: a decision is not {outcome}")
    turns = cycle(headers)

    def decide(count: int) -> None:
        for asked in islice(turns, count):
            entry = enter(Request("GET", path, asked, client="203.0.113.7"))
            if entry and not entry.idle:
                leave(entry, 200)

    return decide


def build_rows(redis_url: str) -> dict[str, Callable[[], Decide]]:
    """Every row of this program by its name, not yet prepared."""
    rows: dict[str, Callable[[], Decide]] = {"floor, a method call": build_floor}
    stores = {
        "memory": "memory://",
        "shared": f"shared://instructions-{os.getpid()}",
        "redis": redis_url,
    }
    for outcome in OUTCOMES:
        for name, url in stores.items():
            rows[f"limiter, {name}, {outcome}"] = _defer(build_limiter, url, outcome)
        rows[f"limiter, memory, many keys, {outcome}"] = _defer(
            build_limiter, "memory://", outcome, KEYS
        )
        for count in COUNTS:
            rows[f"rules, {name_count(count)}, {outcome}"] = _defer(
                build_gatekeeper, count, outcome
            )
        rows[f"rules, 1 rule, many keys, {outcome}"] = _defer(build_gatekeeper, 1, outcome, KEYS)
    return rows


def name_count(count: int) -> str:
    """A number of rules in words."""
    return f"{count} rule{'' if count == 1 else 's'}"


def _defer(build: Callable[..., Decide], *arguments: Any) -> Callable[[], Decide]:
    return lambda: build(*arguments)


def main() -> None:
    """Answer until the standard input ends."""
    rows, prepared = build_rows(sys.argv[1]), {}
    for line in sys.stdin:
        name, _, count = line.rpartition(": ")
        if name not in prepared:
            prepared[name] = rows[name]()
            # What has been built stays, and is not part of a decision's garbage collections.
            gc.collect()
            gc.freeze()
        prepared[name](int(count))
        sys.stdout.write("done\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
