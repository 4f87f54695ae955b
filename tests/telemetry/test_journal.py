"""Log lines are JSON whatever is in them, and refusals are written as often as they are read."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate import ManualClock
from headgate.rules.live.gatekeeper import Gatekeeper
from headgate.rules.matching.request import Request
from headgate.rules.model.rules import Rules
from headgate.telemetry.journal import Journal, Lines, escaped

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=5,
)


def line(message: str, *arguments: Any, **said: Any) -> str:
    record = logging.getLogger("headgate.test").makeRecord(
        "headgate.test", logging.WARNING, __file__, 1, message, arguments, said.pop("exc", None),
        extra=said,
    )  # fmt: skip
    record.created = 1763520000.1234
    record.process = 7
    return Lines().format(record)


def test_a_line_is_an_object_with_what_goes_with_it() -> None:
    said = line("%s is %s", "redis", "gone", fields={"event": "store", "rule": "api"}, other=5)

    assert json.loads(said) == {
        "ts": "2025-11-19T02:40:00.123+00:00",
        "level": "warning",
        "logger": "headgate.test",
        "pid": 7,
        "message": "redis is gone",
        "event": "store",
        "rule": "api",
        "other": 5,
    }


# Making such fields takes 15 ms for each example.
@settings(max_examples=settings().max_examples * 2 // 5)
@given(st.text(), st.dictionaries(st.text(), VALUES))
def test_whatever_strangers_write_stays_in_its_line(text: str, fields: dict[str, Any]) -> None:
    said = line("%s", text, fields=fields)

    assert said.isprintable()
    assert said.isascii()
    assert json.loads(said, parse_constant=pytest.fail)["message"] == text
    assert json.loads(said)["pid"] == 7


def test_a_trace_is_in_the_line_too() -> None:
    try:
        raise ValueError("no")
    except ValueError:
        said = line("it failed", exc=sys.exc_info())

    assert "\n" not in said
    assert json.loads(said)["exception"].endswith("ValueError: no")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("plain, ä\tand 日本", "plain, ä\tand 日本"),
        ("one\r\n2026 headgate[1] INFO forged", "one\\r\n    2026 headgate[1] INFO forged"),
        ("\x1b[31mred\x07\x00", "\\x1b[31mred\\x07\\x00"),
        ("a\u2028b\u202ec", "a\\u2028b\\u202ec"),
    ],
)
def test_what_people_read_moves_no_cursor_and_forges_no_line(text: str, said: str) -> None:
    assert escaped(text) == said


def refused(journal: Journal, clock: ManualClock, pauses: list[float]) -> None:
    """Have somebody refused after each pause."""
    rules = Rules.read("version: 1\nrules: [{name: api, key: client.ip, limit: 1/day}]")
    keeper = Gatekeeper(rules, clock=clock)
    keeper.enter(Request("GET", "/", client="192.0.2.1"))
    keeper.listen(journal)
    for pause in pauses:
        clock.advance(pause)
        keeper.enter(Request("GET", "/a\nb", client="192.0.2.1"))


def test_the_first_refusals_are_written_and_then_how_many_more(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "headgate.refusals")
    clock = ManualClock(1.0)
    journal = Journal(most=2, window=60, clock=clock)

    refused(journal, clock, [0, 0, 0, 0, 0, 60, 0, 0])
    journal.close()
    journal.close()

    said = "refused by api: limit"
    assert caplog.messages == [
        said, said, "refused by api: 3 more were not written", said, said,
        "refused by api: 1 more were not written",
    ]  # fmt: skip
    assert vars(caplog.records[2])["fields"] == {
        "event": "refusals_left_out", "rule": "api", "count": 3,
    }  # fmt: skip


def test_keys_are_hashed_unless_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "headgate.refusals")
    clock = ManualClock(1.0)
    for journal in (
        Journal(clock=clock), Journal(clock=clock), Journal(salt="s", clock=clock),
        Journal(salt="s", clock=clock), Journal(keys="plain", clock=clock),
        Journal(keys="none", clock=clock),
    ):  # fmt: skip
        refused(journal, clock, [0])

    found = [vars(record)["fields"] for record in caplog.records]
    hashes = [one.get("key_hash") for one in found]
    assert [len(one) for one in hashes[:4]] == [16] * 4
    assert (hashes[0] != hashes[1], hashes[2] == hashes[3], hashes[4:]) == (True, True, [None] * 2)
    assert [one.get("key") for one in found] == [None] * 4 + ["192.0.2.1", None]
    version = found[5].pop("config_version")
    assert (len(version), found[5].pop("retry_after")) == (12, 86400.0)
    assert found[5] == {
        "event": "refused", "rule": "api", "outcome": "refused", "kind": "limit", "status": 0,
    }  # fmt: skip


def test_who_is_let_in_is_not_written(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "headgate.refusals")
    keeper = Gatekeeper(Rules.read("version: 1\nrules: [{name: api, limit: 5/s}]"))
    keeper.listen(Journal())

    assert keeper.enter(Request("GET", "/"))
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({"keys": "hash"}, "Journal: keys is hashed, plain or none, not 'hash'"),
        ({"most": 0}, "Journal: most is 1 or more, not 0"),
        ({"window": 0}, "Journal: window is 0.001 or more seconds, not 0"),
    ],
)
def test_what_cannot_be_is_refused(terms: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError) as caught:
        Journal(**terms)

    assert str(caught.value) == said
