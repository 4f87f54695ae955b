"""Limits in plain Python: no framework, no server, nothing to set up.

python examples/plain.py
"""

from __future__ import annotations

from pathlib import Path

from headgate import Limiter, LimitExceeded
from headgate.rules.live.gatekeeper import Gatekeeper
from headgate.rules.matching.request import Request

RULES = Path(__file__).with_name("rules.yaml")

# A token bucket in memory: ten a minute for each key.
limiter = Limiter("10/min")


@limiter.guard("mail:{address}")
def send(address: str, text: str) -> str:
    return f"sent {text!r}"


def main() -> None:
    """Now or no; as a decorator; and by the rules of a file."""
    decision = limiter.take("user:42", cost=4)
    print(f"allowed: {decision.allowed}, left: {decision.remaining}")
    decision = limiter.take("user:42", cost=7)
    print(f"allowed: {decision.allowed}, again in {decision.retry_after:.0f} s")

    try:
        for number in range(11):
            send("ann@example.com", f"mail {number}")
    except LimitExceeded as problem:
        print(f"mail {number}: {problem}")

    keeper = Gatekeeper(RULES)
    for _ in range(6):
        entry = keeper.enter(Request("POST", "/login", client="198.51.100.7"))
        print("login:", "come in" if entry else f"refused by {entry.rule!r}")
        if entry:
            keeper.leave(entry, 200)


if __name__ == "__main__":
    main()
