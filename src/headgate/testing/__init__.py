"""For tests: a clock you move, traffic played in virtual time, and the cases all engines pass.

from headgate import Limiter
from headgate.testing import ManualClock, assert_bounded, greedy, play

history = play(Limiter("10/s", clock=ManualClock()), greedy(until=60.0))
assert_bounded(history, most=20, span=1.0)
"""

from headgate.clock import ManualClock
from headgate.testing.cases import Answer, Case, CaseError, Row, cases, parse
from headgate.testing.conformance import check, verify
from headgate.testing.simulator import (
    Entry,
    History,
    admitted,
    assert_admits,
    assert_bounded,
    most_in_any,
    play,
    timeline,
)
from headgate.testing.traffic import (
    Client,
    Request,
    Trace,
    boundary,
    burst,
    greedy,
    on_off,
    poisson,
    steady,
)
from headgate.testing.trial import Trial

__all__ = [
    "Answer",
    "Case",
    "CaseError",
    "Client",
    "Entry",
    "History",
    "ManualClock",
    "Request",
    "Row",
    "Trace",
    "Trial",
    "admitted",
    "assert_admits",
    "assert_bounded",
    "boundary",
    "burst",
    "cases",
    "check",
    "greedy",
    "most_in_any",
    "on_off",
    "parse",
    "play",
    "poisson",
    "steady",
    "timeline",
    "verify",
]
