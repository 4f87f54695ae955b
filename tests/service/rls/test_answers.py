"""How calls are answered by what files of the reference say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format

from headgate.service.grpc.status import INVALID_ARGUMENT, Status
from headgate.service.rls.case import Terms
from headgate.service.rls.messages import Heard, Response
from headgate.service.rls.ratelimit import KNOWN, LONGEST
from tests.service.rls.calls import Desk, call, codes, limited, priced, stand

FILE = """
domain: edge
descriptors:
  - key: path
    rate_limit: {unit: minute, requests_per_unit: 3}
  - key: user
    rate_limit: {unit: hour, requests_per_unit: 5, name: users}
  - key: banned
    rate_limit: {unit: day, requests_per_unit: 0}
  - key: free
    rate_limit: {unlimited: true}
  - key: tried
    shadow_mode: true
    rate_limit: {unit: minute, requests_per_unit: 1}
  - key: first
    quota_mode: true
    metadata: {quota: {of: {name: first}}}
    rate_limit: {unit: minute, requests_per_unit: 1}
  - key: second
    quota_mode: true
    metadata: {quota: {of: {size: 2}, also: 1}}
    rate_limit: {unit: minute, requests_per_unit: 2}
  - key: bucket
    rate_limit: {limit: 20/s burst 40}
  - key: two
    rate_limit: {limit: [5/s, {rate: 6/min, by: sliding_log, name: slow}]}
  - key: odd
    rate_limit: {limit: {rate: 2 per 90s, by: fixed_window}}
  - key: dated
    rate_limit: {limit: {rate: 2/day, by: fixed_window, calendar: day, zone: Europe/Berlin}}
  - key: better
    rate_limit: {unit: minute, requests_per_unit: 9, replaces: [{name: users}]}
"""
OVER = "OVER_LIMIT"


@pytest.fixture
def desk() -> Desk:
    return Desk(FILE)


def test_a_status_tells_how_it_stands(desk: Desk) -> None:
    found = [stand(desk.ask("edge", {"path": "/"})) for _ in range(4)]

    assert found == [
        ("OK", 3, "MINUTE", 2, 60),
        ("OK", 3, "MINUTE", 1, 60),
        ("OK", 3, "MINUTE", 0, 60),
        (OVER, 3, "MINUTE", 0, 60),
    ]


def test_a_new_window_begins_with_the_clocks(desk: Desk) -> None:
    desk.clock.advance(59.2)
    desk.ask("edge", {"path": "/"}, hits=3)
    refused = desk.ask("edge", {"path": "/"})
    desk.clock.advance(0.8)

    assert stand(refused) == (OVER, 3, "MINUTE", 0, 1)
    assert stand(desk.ask("edge", {"path": "/"})) == ("OK", 3, "MINUTE", 2, 60)


def test_each_descriptor_has_a_status_in_its_place(desk: Desk) -> None:
    response = desk.ask("edge", {"none": "1"}, {"path": "/"}, {"free": "1"}, {"user": "u"})

    assert codes(response) == ["OK"] * 5
    assert [stand(response, place) for place in range(4)] == [
        ("OK", 0, "UNKNOWN", 0, 0),
        ("OK", 3, "MINUTE", 2, 60),
        ("OK", 0, "UNKNOWN", 4_294_967_295, 0),
        ("OK", 5, "HOUR", 4, 3600),
    ]
    assert [one.HasField("current_limit") for one in response.statuses] == [
        *(False, True, False, True)
    ]
    assert response.statuses[3].current_limit.name == "users"


def test_what_one_descriptor_refuses_spends_nothing_of_the_others(desk: Desk) -> None:
    desk.ask("edge", {"path": "/"}, hits=3)

    refused = desk.ask("edge", {"user": "u"}, {"path": "/"}, {"user": "u"})

    assert codes(refused) == [OVER, "OK", OVER, "OK"]
    assert [stand(refused, place)[3] for place in range(3)] == [5, 0, 4]
    assert stand(desk.ask("edge", priced(0, user="u")))[3] == 5


def test_what_is_refused_does_not_count(desk: Desk) -> None:
    first = desk.ask("edge", {"path": "/"}, hits=2)
    too_many = desk.ask("edge", {"path": "/"}, hits=2)

    assert (codes(first), codes(too_many)) == (["OK", "OK"], [OVER, OVER])
    assert stand(too_many)[3] == 1
    assert stand(desk.ask("edge", {"path": "/"}))[3] == 0


@pytest.mark.parametrize(
    ("hits", "own", "left"),
    [(0, None, 4), (3, None, 2), (3, 0, 5), (3, 2, 3), (0, 5, 0), (0, 1 << 63, 5)],
)
def test_hits_are_the_descriptors_or_else_the_calls(
    desk: Desk, hits: int, own: int | None, left: int
) -> None:
    told: Any = {"user": "u"} if own is None else priced(own, user="u")

    response = desk.ask("edge", told, hits=hits)

    assert stand(response)[3] == left
    assert codes(response)[0] == (OVER if own == 1 << 63 else "OK")


def test_negative_hits_are_given_back(desk: Desk) -> None:
    desk.ask("edge", {"user": "u"}, hits=4)

    back = desk.ask("edge", priced(-3, user="u"))
    more = desk.ask("edge", priced(-100, user="u"))

    assert (stand(back)[3], stand(more)[3]) == (4, 5)


def test_what_is_given_back_has_shortened_the_wait(desk: Desk) -> None:
    desk.ask("edge", {"bucket": "1"}, hits=40)

    back = desk.ask("edge", priced(-20, bucket="1"))

    assert stand(back) == ("OK", 20, "SECOND", 20, 1)


def test_nothing_is_given_back_by_a_call_that_is_refused(desk: Desk) -> None:
    desk.ask("edge", {"user": "u"}, hits=4)

    refused = desk.ask("edge", priced(-3, user="u"), {"banned": "1"})

    assert codes(refused) == [OVER, "OK", OVER]
    assert stand(desk.ask("edge", priced(0, user="u")))[3] == 1


def test_what_is_told_afterwards_is_owed(desk: Desk) -> None:
    before = desk.codes("edge", priced(0, user="u"))
    after = desk.codes("edge", priced(7, user="u"))
    looked = desk.codes("edge", priced(0, user="u"))
    desk.clock.advance(3600.0)

    assert (before, after, looked) == (["OK", "OK"], [OVER, OVER], [OVER, OVER])
    assert stand(desk.ask("edge", priced(0, user="u")))[3] == 3


def test_who_is_banned_may_do_nothing_but_look(desk: Desk) -> None:
    response = desk.ask("edge", {"banned": "1"})

    assert stand(response) == (OVER, 0, "DAY", 0, 86_400)
    assert desk.codes("edge", priced(0, banned="1")) == ["OK", "OK"]


def test_what_is_tried_out_refuses_nobody_and_is_counted(desk: Desk) -> None:
    found = [stand(desk.ask("edge", {"tried": "1"}))[::3] for _ in range(3)]

    assert found == [("OK", 0)] * 3
    counted = {"passed": 3, "refused": 0, "shadowed": 2}
    assert desk.limit.status()["edge.tried"] == counted


def test_quotas_refuse_when_all_of_them_are_over(desk: Desk) -> None:
    both = ({"first": "1"}, {"second": "1"})

    found = [desk.codes("edge", *both) for _ in range(3)]

    assert found == [["OK", "OK", "OK"], ["OK", OVER, "OK"], [OVER, OVER, OVER]]
    assert desk.codes("edge", {"first": "1"}) == [OVER, OVER]


def test_a_limit_is_left_out_where_another_replaces_it(desk: Desk) -> None:
    for _ in range(5):
        response = desk.ask("edge", {"user": "u"}, {"better": "1"})

    assert [stand(response, place)[3] for place in range(2)] == [0, 4]
    assert not response.statuses[0].HasField("current_limit")
    assert stand(desk.ask("edge", {"user": "u"}))[3] == 4


def test_a_limit_that_the_call_brings_along_holds(desk: Desk) -> None:
    found = [stand(desk.ask("edge", limited(2, "WEEK", path="/"))) for _ in range(3)]

    # Weeks begin on Thursdays, as 1970 did; this day is a Saturday.
    left = 604_800 - 20_003 % 7 * 86_400
    assert found == [
        ("OK", 2, "WEEK", 1, left),
        ("OK", 2, "WEEK", 0, left),
        (OVER, 2, "WEEK", 0, left),
    ]
    assert stand(desk.ask("edge", {"path": "/"}))[3] == 2


def test_a_limit_of_nothing_that_is_brought_along_is_a_ban(desk: Desk) -> None:
    assert desk.codes("edge", limited(0, "SECOND", path="/")) == [OVER, OVER]


def test_a_bucket_tells_when_there_is_something_again(desk: Desk) -> None:
    full = desk.ask("edge", {"bucket": "1"}, hits=40)
    refused = desk.ask("edge", {"bucket": "1"}, hits=30)
    desk.clock.advance(1.5)

    assert stand(full) == ("OK", 20, "SECOND", 0, 2)
    assert stand(refused) == (OVER, 20, "SECOND", 0, 2)
    assert codes(desk.ask("edge", {"bucket": "1"}, hits=30))[0] == "OK"


def test_the_tightest_of_several_limits_is_told(desk: Desk) -> None:
    first = desk.ask("edge", {"two": "1"}, hits=5)
    desk.clock.advance(1.0)
    refused = desk.ask("edge", {"two": "1"}, hits=2)

    assert stand(first)[:4] == ("OK", 5, "SECOND", 0)
    assert stand(refused)[:4] == (OVER, 6, "MINUTE", 1)
    assert refused.statuses[0].current_limit.name == "slow"


def test_a_period_without_a_unit_has_none(desk: Desk) -> None:
    assert stand(desk.ask("edge", {"odd": "1"}))[:4] == ("OK", 2, "UNKNOWN", 1)


def test_a_window_of_the_calendar_ends_where_its_zone_has_midnight(desk: Desk) -> None:
    never = desk.ask("edge", {"dated": "1"}, hits=3)

    assert stand(never) == (OVER, 2, "DAY", 2, 22 * 3600)


def test_a_domain_that_nobody_knows_lets_all_in(desk: Desk) -> None:
    assert desk.codes("other", {"path": "/"}, {"banned": "1"}) == ["OK", "OK", "OK"]


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (b"", "the domain is empty; name one"),
        (call("", {"a": "1"}), "the domain is empty; name one"),
        (call("edge"), "there are no descriptors; send at least one"),
        (call("edge", *[{"a": "1"}] * 101), "101 descriptors; send at most 100"),
        (
            call("edge", {str(number): "" for number in range(101)}),
            "101 entries; send at most 100",
        ),
        (
            call("edge", limited(5, "UNKNOWN", path="/")),
            "a limit is per second, minute, hour, day, week, month, year; its unit is a number "
            "from 1 to 7, not 0",
        ),
    ],
)
def test_a_call_that_is_none_is_told_so(desk: Desk, message: bytes, said: str) -> None:
    with pytest.raises(Status) as caught:
        desk.limit.answer(message)

    assert (caught.value.code, str(caught.value)) == (INVALID_ARGUMENT, said)


def test_garbage_is_no_call(desk: Desk) -> None:
    with pytest.raises(Status, match="the message is no RateLimitRequest") as caught:
        desk.limit.answer(b"\xff\xff\xff")

    assert caught.value.code == INVALID_ARGUMENT


def test_bytes_that_are_no_text_are_counted_like_others(desk: Desk) -> None:
    heard = Heard(domain=b"edge")
    heard.descriptors.add().entries.add(key=b"path", value=b"\xff\xfe")
    raw = heard.SerializeToString()

    answers = [Response.FromString(desk.limit.answer(raw)) for _ in range(4)]

    assert [one.overall_code for one in answers] == [1, 1, 1, 2]


def test_new_files_hold_from_the_next_call_on_and_counts_stay(desk: Desk) -> None:
    desk.ask("edge", {"path": "/"}, hits=2)
    desk.change(FILE + "  - key: new\n    rate_limit: {unit: day, requests_per_unit: 1}\n")

    assert stand(desk.ask("edge", {"path": "/"}))[3] == 0
    assert [desk.codes("edge", {"new": "1"})[0] for _ in range(2)] == ["OK", OVER]
    desk.change()
    assert desk.codes("edge", {"path": "/"}) == ["OK", "OK"]


def test_files_that_are_as_they_were_change_nothing(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "edge.yaml"
    file.write_text(FILE)
    desk.limit.reload([str(file)])
    desk.ask("edge", priced(0, user="u"))

    desk.limit.reload([str(file)])
    desk.ask("edge", priced(7, user="u"))

    # What was looked for before is still owed, and counted as before.
    assert desk.codes("edge", priced(0, user="u")) == [OVER, OVER]
    assert desk.limit.status()["edge.user"]["passed"] == 1


def test_what_is_known_of_limits_stays_when_files_are_read_again(desk: Desk) -> None:
    desk.ask("edge", priced(0, path="/"))
    desk.ask("edge", {"path": "/"}, hits=3)
    before = desk.limit.status()["edge.path"]
    desk.change(FILE)

    assert before == desk.limit.status()["edge.path"] == {"passed": 2, "refused": 0, "shadowed": 0}
    # What is told afterwards is owed still, also if it is too much.
    desk.ask("edge", priced(3, path="/"))
    desk.clock.advance(60.0)
    assert stand(desk.ask("edge", priced(0, path="/")))[3] == 0


def test_headers_tell_of_the_tightest_limit() -> None:
    desk = Desk(FILE, terms=Terms(headers=True))
    told = ({"user": "u"}, {"path": "/"}, {"free": "1"}, {"none": "1"})

    fine = desk.ask("edge", *told)
    desk.ask("edge", {"path": "/"}, hits=2)
    refused = desk.ask("edge", *told)

    assert headers(fine) == {
        "RateLimit-Limit": "3",
        "RateLimit-Remaining": "2",
        "RateLimit-Reset": "60",
    }
    assert headers(refused) == {
        "RateLimit-Limit": "3",
        "RateLimit-Remaining": "0",
        "RateLimit-Reset": "60",
        "Retry-After": "60",
    }
    assert headers(desk.ask("edge", {"none": "1"})) == {}


def test_metadata_tells_of_the_call_and_of_what_files_say() -> None:
    desk = Desk(FILE, terms=Terms(metadata=True))

    response = desk.ask(
        "edge", {"first": "1"}, priced(1, second="2"), limited(5, "DAY", a="b"), hits=1
    )
    again = desk.ask("edge", {"first": "1"}, {"second": "2"})

    assert plain(response.dynamic_metadata) == {
        "domain": "edge",
        "descriptors": [
            {"entries": ["first=1"]},
            {"entries": ["second=2"], "hitsAddend": 1.0},
            {"entries": ["a=b"], "limit": "requests_per_unit:5 unit:4"},
        ],
        "hitsAddend": 1.0,
        "metadata": {"quota": {"of": {"name": "first", "size": 2.0}, "also": 1.0}},
    }
    assert plain(again.dynamic_metadata)["metadata"] == {
        "quota": {"of": {"size": 2.0}, "also": 1.0}
    }


def test_in_shadow_all_is_counted_and_nobody_is_refused() -> None:
    desk = Desk(FILE, terms=Terms(shadow=True))

    found = [desk.codes("edge", {"user": "u"}, {"banned": "1"}) for _ in range(2)]

    assert found == [["OK", "OK", OVER]] * 2
    assert stand(desk.ask("edge", priced(0, user="u")))[3] == 3


def test_while_no_rules_are_asked_no_limits_are(desk: Desk) -> None:
    desk.ask("edge", {"path": "/"}, hits=3)

    desk.keeper.enabled = False
    free = desk.codes("edge", {"path": "/"})
    desk.keeper.enabled = True

    assert (free[0], desk.codes("edge", {"path": "/"})[0]) == ("OK", OVER)


def test_what_is_known_of_calls_is_bounded(desk: Desk) -> None:
    for number in range(KNOWN + 10):
        desk.ask("edge", {"path": str(number)})
    few = len(desk.limit._known)
    desk.ask("edge", {"path": "x" * LONGEST})

    assert few == len(desk.limit._known) == 10


def headers(response: Any) -> dict[str, str]:
    """What the client is told."""
    return {one.key: one.value for one in response.response_headers_to_add}


def plain(struct: Any) -> Any:
    """A Struct as plain data."""
    return json_format.MessageToDict(struct)
