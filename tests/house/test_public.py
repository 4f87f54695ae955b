"""The public names: these and no others, each with words for the caller, and one version."""

from __future__ import annotations

import inspect
import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import headgate

ROOT = Path(__file__).parents[2]
NAMES = {
    "Budget",
    "FundsExhausted",
    "Purse",
    "PurseRefused",
    "Vegas",
    "SystemBusy",
    "System",
    "Steer",
    "Gradient",
    "FleetSlot",
    "BBR",
    "AsyncBulkhead",
    "AIMD",
    "AsyncLimiter",
    "AsyncRedisStore",
    "AsyncReservation",
    "Breaker",
    "BreakerOpen",
    "Bulkhead",
    "BulkheadFull",
    "COMPILED",
    "CannotFit",
    "Clock",
    "Decision",
    "FixedWindow",
    "GCRA",
    "HeadgateError",
    "LeakyBucket",
    "LeasedStore",
    "Limit",
    "LimitError",
    "LimitExceeded",
    "Limiter",
    "ManualClock",
    "MemoryStore",
    "MissingExtra",
    "Pacer",
    "PacerFull",
    "Permit",
    "Pool",
    "Rate",
    "RateError",
    "RedisStore",
    "Refused",
    "Reservation",
    "RetryAfter",
    "RetryBudget",
    "SharedStore",
    "SlidingLog",
    "SlidingWindow",
    "Slot",
    "StoreMismatch",
    "StoreUnavailable",
    "SystemClock",
    "TokenBucket",
    "Turn",
    "WarmUp",
    "guard",
}
VERBS = [
    "acquire",
    "change",
    "debit",
    "guard",
    "listen",
    "peek",
    "refund",
    "reserve",
    "reset",
    "take",
    "take_many",
]


def test_the_public_names_are_these() -> None:
    assert sorted(headgate.__all__) == sorted(NAMES)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_public_name_speaks_to_the_caller(name: str) -> None:
    assert inspect.getdoc(getattr(headgate, name))


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("limiter", ["Limiter", "AsyncLimiter"])
def test_every_verb_speaks_to_the_caller(limiter: str, verb: str) -> None:
    assert inspect.getdoc(getattr(getattr(headgate, limiter), verb))


@pytest.mark.parametrize("word", ["Base", "Abstract", "Manager", "Helper", "Impl", "Mixin"])
def test_no_public_name_confesses(word: str) -> None:
    assert [name for name in headgate.__all__ if word in name] == []


def test_the_package_says_whether_it_is_compiled() -> None:
    assert headgate.COMPILED is True or headgate.COMPILED is False


def test_the_version_stands_in_one_place_and_all_others_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    newest = re.search(r"^## \[([^]]+)]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)

    assert "version" not in project["project"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "headgate.__version__"}
    assert newest is not None
    assert cited is not None
    assert {metadata.version("headgate"), newest[1], cited[1]} == {headgate.__version__}


def test_the_package_needs_nothing_else() -> None:
    needed = metadata.requires("headgate") or []

    assert [line for line in needed if "extra ==" not in line] == []
