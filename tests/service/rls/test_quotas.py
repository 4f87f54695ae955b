"""Quotas: what Envoys are told they may let in, out of one limit for all of them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.decision import Decision
from headgate.drive import drive
from headgate.service.grpc.status import INVALID_ARGUMENT, RESOURCE_EXHAUSTED, Status
from headgate.service.rls.case import Terms
from headgate.service.rls.messages import Quotas as Told
from headgate.service.rls.messages import Reports
from headgate.service.rls.quotas import BUCKETS, GONE, HELD, NAMED, Quotas
from headgate.service.rls.share import LATE, SPAN, Share
from tests.servers.launch import Server
from tests.service.rls.calls import Desk, priced, stand

FILE = """
domain: edge
descriptors:
  - {key: path, rate_limit: {unit: minute, requests_per_unit: 60}}
  - {key: few, rate_limit: {unit: minute, requests_per_unit: 3}}
  - {key: fast, rate_limit: {limit: 100/s}}
  - {key: daily, rate_limit: {unit: day, requests_per_unit: 10000}}
  - {key: free, rate_limit: {unlimited: true}}
  - {key: banned, rate_limit: {unit: day, requests_per_unit: 0}}
  - {key: tried, shadow_mode: true, rate_limit: {unit: day, requests_per_unit: 1}}
  - key: a
    value: "1"
    descriptors:
      - {key: b, rate_limit: {unit: hour, requests_per_unit: 5}}
"""
ROUND = 5.0


class Line:
    """The other end of a call: what was sent over it, and how it ended."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.finished: list[tuple[int, str]] = []
        self.heard: asyncio.Event | None = None

    def send(self, message: bytes) -> None:
        self.sent.append(Told.FromString(message))
        if self.heard is not None:
            self.heard.set()

    def finish(self, code: int = 0, message: str = "") -> None:
        self.finished.append((code, message))


class Envoy:
    """Reports, and lets in what it was told last, as Envoy does."""

    def __init__(self, desk: Desk, quotas: Quotas) -> None:
        self.desk = desk
        self.line = Line()
        self.stream = quotas.open(self.line)
        self.tokens = 0.0
        self.fill = 0.0
        self.most = 0.0
        self.blanket = ""
        self.allowed = self.denied = 0
        self.since = self.filled = desk.clock.now()
        self.until = 0

    def report(self, **entries: str) -> None:
        """Tell what went in since the last time."""
        now = self.desk.clock.now()
        reports = Reports(domain="edge")
        usage = reports.bucket_quota_usages.add()
        for key, value in entries.items():
            usage.bucket_id.bucket.add(key=key, value=value)
        usage.num_requests_allowed, usage.num_requests_denied = self.allowed, self.denied
        usage.time_elapsed.FromMicroseconds(now - self.since)
        self.allowed = self.denied = 0
        self.since = now
        before = len(self.line.sent)
        self.stream.receive(reports.SerializeToString())
        for told in self.line.sent[before:]:
            for action in told.bucket_action:
                self.obey(action.quota_assignment_action, now)

    def obey(self, action: Any, now: int) -> None:
        """Go by an assignment."""
        self.until = now + action.assignment_time_to_live.seconds * 1_000_000
        strategy = action.rate_limit_strategy
        before, self.blanket = self.blanket, strategy.WhichOneof("either")
        if self.blanket == "blanket_rule":
            self.blanket = ("ALLOW_ALL", "DENY_ALL")[strategy.blanket_rule]
            return
        bucket = strategy.token_bucket
        # A bucket that follows another is filled as far as that was.
        part = self.tokens / self.most if before == "token_bucket" else 1.0
        self.most = float(bucket.max_tokens)
        self.tokens = self.most * part
        interval = bucket.fill_interval.seconds * 1_000_000
        self.fill, self.filled = bucket.tokens_per_fill.value / interval, now

    def ask(self) -> bool:
        """Whether a request goes in."""
        now = self.desk.clock.now()
        fresh = (now - self.filled) * self.fill
        self.tokens, self.filled = min(self.most, self.tokens + fresh), now
        fine = now < self.until and self.blanket != "DENY_ALL"
        if fine and self.blanket == "token_bucket":
            fine = self.tokens >= 1.0
            self.tokens -= fine
        self.allowed += fine
        self.denied += not fine
        return fine


@pytest.fixture
def desk() -> Desk:
    return Desk(FILE)


@pytest.fixture
def quotas(desk: Desk) -> Quotas:
    return Quotas(desk.limit, desk)


def bucket(envoy: Envoy) -> tuple[int, int]:
    """Tokens at the beginning of the round, and those that come in it."""
    told = envoy.line.sent[-1].bucket_action[-1].quota_assignment_action
    found = told.rate_limit_strategy.token_bucket
    ahead = found.tokens_per_fill.value if found.fill_interval.seconds < 60 else 0
    return found.max_tokens, ahead


def blanket(envoy: Envoy, **entries: str) -> str:
    """What is said of such a bucket."""
    envoy.report(**entries)
    return envoy.blanket


def test_a_lone_envoy_is_given_all_of_a_small_limit(desk: Desk, quotas: Quotas) -> None:
    envoy = Envoy(desk, quotas)
    envoy.report(few="x")

    assert bucket(envoy) == (3, 0)
    assert [envoy.ask() for _ in range(5)] == [True, True, True, False, False]
    assert stand(desk.ask("edge", priced(0, few="x")))[3] == 0


def test_an_assignment_is_about_the_bucket_that_was_reported(desk: Desk, quotas: Quotas) -> None:
    envoy = Envoy(desk, quotas)
    envoy.report(b="y", a="1")

    nothing, action = envoy.line.sent[0].bucket_action
    assert nothing.bucket_id == action.bucket_id
    assert {pair.key: pair.value for pair in action.bucket_id.bucket} == {"a": "1", "b": "y"}
    live = action.quota_assignment_action.assignment_time_to_live
    assert (bucket(envoy), live.ToMicroseconds()) == ((5, 0), SPAN + LATE)


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ({"free": "1"}, "ALLOW_ALL"),
        ({"tried": "1"}, "ALLOW_ALL"),
        ({"unknown": "1"}, "ALLOW_ALL"),
        ({"banned": "1"}, "DENY_ALL"),
        ({"a": "1"}, "ALLOW_ALL"),
    ],
)
def test_what_needs_no_counting_is_told_for_all(
    desk: Desk, quotas: Quotas, entries: dict[str, str], said: str
) -> None:
    envoy = Envoy(desk, quotas)

    assert blanket(envoy, **entries) == said
    desk.clock.advance(ROUND)
    envoy.report(**entries)
    assert len(envoy.line.sent) == 1
    desk.clock.advance(60.0)
    envoy.report(**entries)
    assert len(envoy.line.sent) == 2


def test_while_nobody_is_refused_all_may_go_in(desk: Desk, quotas: Quotas) -> None:
    envoy = Envoy(desk, quotas)
    envoy.report(few="x")
    desk.keeper.enabled = False
    assert (blanket(envoy, few="x"), blanket(envoy, banned="x")) == ("ALLOW_ALL", "ALLOW_ALL")
    desk.keeper.enabled = True
    assert (blanket(envoy, few="x"), blanket(envoy, banned="x")) == ("DENY_ALL", "DENY_ALL")
    desk.terms = Terms(shadow=True)
    desk.change(FILE)
    assert (blanket(envoy, few="x"), blanket(envoy, banned="x")) == ("ALLOW_ALL", "ALLOW_ALL")


def test_what_is_used_up_is_a_no_to_all(desk: Desk, quotas: Quotas) -> None:
    desk.ask("edge", {"few": "x"}, hits=3)

    assert blanket(Envoy(desk, quotas), few="x") == "DENY_ALL"


def test_what_was_not_used_is_there_for_others(desk: Desk, quotas: Quotas) -> None:
    one, other = Envoy(desk, quotas), Envoy(desk, quotas)
    one.report(few="x")
    one.ask()
    other.report(few="x")
    desk.clock.advance(ROUND)
    one.report(few="x")
    given = bucket(one)
    other.report(few="x")

    assert (given, bucket(other)) == ((1, 0), (1, 0))


def test_what_was_let_in_beyond_is_paid_for(desk: Desk, quotas: Quotas) -> None:
    envoy = Envoy(desk, quotas)
    envoy.allowed = 2
    envoy.report(few="x")

    assert bucket(envoy) == (1, 0)


def test_what_was_let_in_while_nobody_was_asked_is_no_debt(desk: Desk, quotas: Quotas) -> None:
    envoy = Envoy(desk, quotas)
    envoy.allowed = 100_000
    assert blanket(envoy, few="x") == "DENY_ALL"
    desk.clock.advance(60.0)
    assert blanket(envoy, few="x") == "token_bucket"


def test_what_was_let_in_beyond_a_round_is_owed_as_far_as_it_was_assigned(
    desk: Desk, quotas: Quotas
) -> None:
    envoy = Envoy(desk, quotas)
    envoy.report(few="x")
    envoy.allowed = 100_000
    desk.clock.advance(ROUND)
    assert blanket(envoy, few="x") == "DENY_ALL"
    desk.clock.advance(60.0)
    assert blanket(envoy, few="x") == "DENY_ALL"
    desk.clock.advance(60.0)
    envoy.report(few="x")
    assert bucket(envoy) == (3, 0)


def test_a_bucket_goes_on_as_fast_as_the_limit(desk: Desk, quotas: Quotas) -> None:
    envoy = Envoy(desk, quotas)
    passed = rounds(desk, [envoy], [200], 12)

    assert passed[0] == pytest.approx(100 * 60, rel=0.05)


def test_demand_moves_and_shares_follow(desk: Desk, quotas: Quotas) -> None:
    busy, idle = Envoy(desk, quotas), Envoy(desk, quotas)
    rounds(desk, [busy, idle], [150, 10], 4)
    before = rounds(desk, [busy, idle], [150, 10], 4)
    rounds(desk, [busy, idle], [10, 150], 4)
    after = rounds(desk, [busy, idle], [10, 150], 4)

    assert before[0] > 5 * before[1] > 0
    assert after[1] > 5 * after[0] > 0


def test_what_an_envoy_had_that_is_gone_comes_back(desk: Desk, quotas: Quotas) -> None:
    one, other = Envoy(desk, quotas), Envoy(desk, quotas)
    rounds(desk, [one, other], [200, 200], 4)
    half = rounds(desk, [one, other], [200, 200], 4)
    one.stream.cancel()
    rounds(desk, [other], [200], 2)
    alone = rounds(desk, [other], [200], 4)

    assert half[1] == pytest.approx(1000, rel=0.25)
    assert alone[0] > 1.6 * half[1]
    assert quotas.status()["streams"] == 1


def test_envoys_that_come_and_go_do_not_use_up_what_is_for_a_day(
    desk: Desk, quotas: Quotas
) -> None:
    for _ in range(5):
        envoy = Envoy(desk, quotas)
        envoy.report(daily="x")
        assert bucket(envoy) == (10, 0)
        envoy.stream.cancel()
        desk.clock.advance(ROUND)
    assert stand(desk.ask("edge", priced(0, daily="x")))[3] == 9950

    # Who is asked for more is given more, a round later.
    assert rounds(desk, [Envoy(desk, quotas)], [100], 4, "daily")[0] > 1400


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=4),
    st.integers(1, 6),
    st.sampled_from(["path", "fast", "few"]),
)
def test_all_together_never_let_in_more_than_the_limit(
    rates: list[int], turns: int, key: str
) -> None:
    desk = Desk(FILE)
    quotas = Quotas(desk.limit, desk)
    envoys = [Envoy(desk, quotas) for _ in rates]
    passed = sum(rounds(desk, envoys, rates, turns, key))

    seconds = turns * ROUND + 2 * SPAN / 1e6
    most = {"path": 60 * 2, "few": 3 * 2, "fast": 100 + 100 * seconds}[key]
    assert passed <= most


def rounds(desk: Desk, envoys: list[Envoy], rates: list[int], turns: int, key: str = "fast") -> Any:
    """How many went in at each, of so many requests a second, in so many rounds of five seconds."""
    passed = [0] * len(envoys)
    for _ in range(turns):
        for envoy in envoys:
            envoy.report(**{key: "x"})
        for _ in range(25):
            desk.clock.advance(ROUND / 25)
            for place, envoy in enumerate(envoys):
                wanted = int(rates[place] * ROUND / 25)
                passed[place] += sum(envoy.ask() for _ in range(wanted))
    return passed


def test_a_bucket_whose_limit_is_gone_is_to_be_forgotten(desk: Desk, quotas: Quotas) -> None:
    envoy = Envoy(desk, quotas)
    envoy.report(few="x")
    envoy.report(unknown="x")
    desk.change(FILE.replace("few", "many"))
    quotas.settle()
    told = envoy.line.sent[-1].bucket_action

    assert [one.WhichOneof("either") for one in told] == ["abandon_action"]
    assert [(pair.key, pair.value) for pair in told[0].bucket_id.bucket] == [("few", "x")]
    assert blanket(envoy, few="x") == "ALLOW_ALL"


def test_who_is_silent_about_a_bucket_has_no_share_of_it(desk: Desk, quotas: Quotas) -> None:
    one, other = Envoy(desk, quotas), Envoy(desk, quotas)
    rounds(desk, [one, other], [200, 200], 2)
    rounds(desk, [other], [200], 5)

    assert rounds(desk, [other], [200], 4)[0] > 1600
    assert [len(shares) for shares in quotas.shares.values()] == [2]
    desk.clock.advance(590.0)
    other.report(fast="x")
    quotas.sweep(desk.clock.now())
    assert [len(shares) for shares in quotas.shares.values()] == [1]


def test_usage_is_collected(desk: Desk, quotas: Quotas) -> None:
    envoy = Envoy(desk, quotas)
    envoy.allowed, envoy.denied = 2, 5
    envoy.report(few="x")
    envoy.allowed = 4
    envoy.report(unknown="x")

    assert quotas.status() == {
        "streams": 1,
        "buckets": 1,
        "usage": {
            "": {"allowed": 4, "denied": 0},
            "edge.few": {"allowed": 2, "denied": 5},
        },
    }
    envoy.stream.end()
    assert envoy.line.finished == [(0, "")]
    assert (quotas.status()["streams"], quotas.status()["buckets"]) == (0, 0)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (b"\xff", "the message is no RateLimitQuotaUsageReports: Error parsing message"),
        (b"", "the domain is empty; name one in the first message"),
        (
            Reports(domain="edge", bucket_quota_usages=[{}]).SerializeToString(),
            "a bucket has from 1 to 100 entries, not 0",
        ),
        (
            Reports(domain="e" * (NAMED + 1)).SerializeToString(),
            "the domain has at most 8,192 characters",
        ),
    ],
)
def test_garbage_ends_the_call(quotas: Quotas, message: bytes, said: str) -> None:
    stream = quotas.open(Line())

    with pytest.raises(Status) as caught:
        stream.receive(message)

    assert caught.value.code == INVALID_ARGUMENT
    assert caught.value.message.startswith(said)


def test_buckets_of_one_envoy_are_bounded(desk: Desk, quotas: Quotas) -> None:
    envoy = Envoy(desk, quotas)
    for number in range(BUCKETS):
        envoy.report(unknown=str(number))

    with pytest.raises(Status) as caught:
        envoy.report(unknown="more")
    assert caught.value.code == RESOURCE_EXHAUSTED


def test_one_report_is_about_so_many_buckets_and_no_more(desk: Desk, quotas: Quotas) -> None:
    reports = Reports(domain="edge")
    for _ in range(BUCKETS + 1):
        reports.bucket_quota_usages.add().bucket_id.bucket.add(key="few", value="x")

    with pytest.raises(Status) as caught:
        quotas.open(Line()).receive(reports.SerializeToString())
    assert caught.value.code == RESOURCE_EXHAUSTED
    assert quotas.status()["usage"] == {}


def test_a_bucket_is_not_called_anything_however_long(desk: Desk, quotas: Quotas) -> None:
    envoy = Envoy(desk, quotas)
    envoy.report(unknown="é" * 4000)

    with pytest.raises(Status) as caught:
        envoy.report(unknown="é" * 4096)
    assert caught.value.message == "a bucket's name has at most 8,192 bytes in all"


def test_buckets_of_all_envoys_are_bounded(desk: Desk, quotas: Quotas) -> None:
    one, other = Envoy(desk, quotas), Envoy(desk, quotas)
    quotas.hold(HELD - 2000)
    one.report(few="x")

    with pytest.raises(Status) as caught:
        other.report(few="x")
    assert caught.value.code == RESOURCE_EXHAUSTED
    one.report(few="x")
    one.stream.cancel()
    other.report(few="x")


def test_buckets_that_are_not_reported_for_long_are_forgotten(desk: Desk, quotas: Quotas) -> None:
    envoy = Envoy(desk, quotas)
    for number in range(BUCKETS):
        envoy.report(unknown=str(number))
    desk.clock.advance(GONE / 1e6 + 1)
    quotas.sweep(desk.clock.now())

    assert blanket(envoy, unknown="more") == "ALLOW_ALL"


def test_a_store_that_is_lost_in_the_middle_is_no_assignment(desk: Desk) -> None:
    leaf, key = desk.limit.find("edge", [("few", "x")])
    assert leaf is not None
    limiter = desk.limit.limiter(leaf)

    def perform(effect: Any) -> Any:
        if effect.func == limiter.take:
            return Decision(False, reason="unavailable")
        return effect()

    share = Share()
    assert drive(share.fund(leaf, limiter, key, (), desk.clock.now()), perform) is None
    assert share.grant == (0, 0, SPAN)


def test_two_services_on_one_store_share_a_limit(valkey: Server) -> None:
    async def visit() -> None:
        desks = [Desk(FILE, store=valkey.patient) for _ in range(2)]
        told = []
        for desk in desks:
            envoy = Envoy(desk, Quotas(desk.limit, desk))
            envoy.line.heard = asyncio.Event()
            envoy.report(few="x")
            await envoy.line.heard.wait()
            strategy = envoy.line.sent[0].bucket_action[-1].quota_assignment_action
            told.append(strategy.rate_limit_strategy)
            envoy.stream.cancel()

        assert told[0].token_bucket.max_tokens == 3
        assert told[1].WhichOneof("either") == "blanket_rule"
        for desk in desks:
            await desk.close()

    asyncio.run(visit())


def test_a_store_that_is_gone_is_no_assignment(valkey: Server) -> None:
    async def visit() -> None:
        desk = Desk(FILE, store=valkey.url)
        quotas = Quotas(desk.limit, desk)
        envoy = Envoy(desk, quotas)
        valkey.kill()
        envoy.report(few="x")
        task = envoy.stream._task
        await task

        assert (envoy.line.sent, envoy.line.finished) == ([], [])

    asyncio.run(visit())


def test_what_is_under_way_is_not_taken_for_forgotten(valkey: Server) -> None:
    async def visit() -> None:
        desk = Desk(FILE, store=valkey.url)
        quotas = Quotas(desk.limit, desk)
        envoy = Envoy(desk, quotas)
        envoy.line.heard = asyncio.Event()
        envoy.report(few="x")
        await asyncio.sleep(0)
        assert quotas.status()["buckets"] == 1
        quotas.sweep(desk.clock.now())
        await envoy.line.heard.wait()

        assert quotas.status()["buckets"] == 1
        envoy.stream.cancel()
        await desk.close()

    asyncio.run(visit())


def test_what_was_reported_before_the_end_is_answered_before_it(valkey: Server) -> None:
    async def visit() -> None:
        desk = Desk(FILE, store=valkey.url)
        quotas = Quotas(desk.limit, desk)
        envoy = Envoy(desk, quotas)
        envoy.report(few="x")
        envoy.report(path="x")
        task = envoy.stream._task
        await asyncio.sleep(0)
        envoy.stream.end()
        assert envoy.line.finished == []
        await task

        assert len(envoy.line.sent) == 2
        assert envoy.line.finished == [(0, "")]
        assert (quotas.status()["streams"], quotas.status()["buckets"]) == (0, 0)
        await desk.close()

    asyncio.run(visit())


def test_reports_that_wait_are_bounded_by_their_bytes(valkey: Server) -> None:
    async def visit() -> None:
        desk = Desk(FILE, store=valkey.url)
        quotas = Quotas(desk.limit, desk)
        quotas.hold(HELD - 2000)
        one, other = Envoy(desk, quotas), Envoy(desk, quotas)
        one.report(unknown="x" * 1500)
        with pytest.raises(Status) as caught:
            other.report(unknown="x" * 1500)
        assert caught.value.code == RESOURCE_EXHAUSTED
        one.stream.cancel()
        other.report(few="x")
        await other.stream._task
        assert len(other.line.sent) == 1
        await desk.close()

    asyncio.run(visit())
