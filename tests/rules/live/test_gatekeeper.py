"""What rules do to requests, in both colours: one visit after the other, in virtual time."""

from __future__ import annotations

import pytest

from headgate.rules.live.entry import Refusal
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from tests.rules.live.visitor import Visit


def test_a_rule_counts_each_key_apart(visit: Visit) -> None:
    visitor = visit(Rule("login", match={"path": "/login"}, key="client.ip", limit="2/min"))

    said = [visitor.say("/login", client=client) for client in "aabaab"]

    assert said == ["", "", "", "login", "login", ""]


def test_a_request_that_meets_no_rule_goes_in(visit: Visit) -> None:
    visitor = visit(Rule("login", match={"path": "/login"}, limit="0/s"))

    entry = visitor.ask("/other")

    assert (bool(entry), entry.decisions, entry.idle) == (True, {}, True)


def test_who_is_refused_is_told_when_to_come_back(visit: Visit) -> None:
    visitor = visit(Rule("api", limit="2/min"))
    refused = [visitor.ask() for _ in range(3)][-1]

    assert refused.refusal is not None
    assert refused.refusal.retry_after == 30.0
    visitor.clock.advance(29.999999)
    assert visitor.say() == "api"
    visitor.clock.advance(0.000001)
    assert visitor.say() == ""


def test_who_is_refused_by_one_rule_has_spent_nothing_of_another(visit: Visit) -> None:
    visitor = visit(
        Rule("first", limit="10/min"),
        Rule("second", limit="2/min"),
        Rule("third", limit="10/min"),
    )
    for _ in range(5):
        visitor.say()

    assert visitor.say() == "second"
    visitor.clock.advance(30)
    assert {name: one.remaining for name, one in visitor.ask().decisions.items()} == {
        "first": 9, "second": 0, "third": 9,
    }  # fmt: skip


def test_the_first_rule_of_a_group_counts_alone(visit: Visit) -> None:
    visitor = visit(
        Rule("search", match={"path": "/v1/search"}, group="api", limit="1/min"),
        Rule("rest", match={"path": "/v1/**"}, group="api", limit="3/min"),
        Rule("all", limit="100/min"),
    )

    assert [visitor.say("/v1/search"), visitor.say("/v1/search")] == ["", "search"]
    assert [visitor.say("/v1/other") for _ in range(4)] == ["", "", "", "rest"]
    assert list(visitor.ask("/").decisions) == ["all"]


def test_a_ban_comes_before_everything(visit: Visit) -> None:
    visitor = visit(
        Rule("banned", match={"client.ip": ["203.0.113.0/24"]}, deny=True), Rule("all", limit="1/s")
    )

    refused = visitor.ask(client="203.0.113.9")

    assert refused.refusal == Refusal("denied", visitor.keeper.rules.rules[0], 403)
    assert visitor.say(client="198.51.100.1") == ""


@pytest.mark.parametrize(
    ("policy", "said", "kind"),
    [("deny", ["few", "few"], "key"), ("allow", ["", ""], ""), ("share", ["", "few"], "limit")],
)
def test_requests_without_a_key_are_treated_as_the_rule_says(
    visit: Visit, policy: str, said: list[str], kind: str
) -> None:
    visitor = visit(Rule("few", key="header.x-user", limit="1/min", empty_key=policy))

    assert [visitor.say(), visitor.say()] == said
    refusal = visitor.ask().refusal
    assert ("" if refusal is None else refusal.kind) == kind
    assert visitor.say(x_user="42") == ""


def test_the_status_for_requests_without_a_key_is_the_rules(visit: Visit) -> None:
    visitor = visit(Rule("few", key="header.x-user", limit="1/min", empty_key_status=401))

    assert visitor.ask().refusal == Refusal("key", visitor.keeper.rules.rules[0], 401)


def test_a_wait_is_spent_before_going_in(visit: Visit) -> None:
    visitor = visit(Rule("slow", limit="1/s", over="wait 2s"))

    waits = [visitor.ask().waited for _ in range(4)]

    assert waits == [0.0, 1.0, 1.0, 1.0]


def test_who_would_wait_too_long_is_refused_at_once(visit: Visit) -> None:
    visitor = visit(Rule("slow", limit="1/min", over="wait 2s"))
    visitor.say()

    refused = visitor.ask()

    assert (refused.rule, visitor.clock.now()) == ("slow", 0)


def test_several_waits_are_one(visit: Visit) -> None:
    visitor = visit(
        Rule("one", limit="1/s", over="wait 5s"), Rule("two", limit="1 per 3s", over="wait 5s")
    )
    visitor.say()

    assert (visitor.ask().waited, visitor.clock.now()) == (3.0, 3_000_000)


def test_no_more_wait_than_the_queue_has_room_for(visit: Visit) -> None:
    visitor = visit(Rule("slow", limit="1/s", over={"wait": {"timeout": "9s", "queue": 0}}))
    visitor.say()

    refused = visitor.ask()

    assert refused.refusal is not None
    assert (refused.refusal.kind, refused.refusal.retry_after) == ("capacity", 1.0)


def test_places_are_held_until_the_request_leaves(visit: Visit) -> None:
    visitor = visit(Rule("five", key="header.x-user", concurrent=2))
    inside = [visitor.ask(x_user="a"), visitor.ask(x_user="a")]

    assert [visitor.say(x_user="a"), visitor.say(x_user="b")] == ["five", ""]
    visitor.leave(inside[0])
    assert visitor.say(x_user="a") == ""
    visitor.leave(inside[1], status=0)


def test_a_crowd_is_the_services_problem_and_a_greedy_user_is_their_own(visit: Visit) -> None:
    visitor = visit(
        Rule("user", match={"path": "/user"}, key="header.x-user", concurrent=1),
        Rule("all", match={"path": "/all"}, concurrent=1),
    )
    held = [visitor.ask("/user", x_user="a"), visitor.ask("/all")]

    kinds = [visitor.ask(path, x_user="a").refusal for path in ("/user", "/all")]

    assert [one.kind for one in kinds if one is not None] == ["limit", "capacity"]
    for entry in held:
        visitor.leave(entry)


def test_who_finds_no_place_has_spent_nothing(visit: Visit) -> None:
    visitor = visit(Rule("one", limit="3/min", concurrent=1))
    held = visitor.ask()
    for _ in range(5):
        assert visitor.say() == "one"

    visitor.leave(held)

    assert [visitor.say(), visitor.say(), visitor.say()] == ["", "", "one"]


def test_only_failed_logins_count(visit: Visit) -> None:
    visitor = visit(Rule("login", limit="2/min", counts={"status": [401, 403]}))
    for _ in range(5):
        visitor.leave(visitor.ask(), 200)

    said = []
    for status in (401, 200, 403, 401):
        entry = visitor.ask()
        said.append(entry.rule)
        if entry:
            visitor.leave(entry, status)

    assert said == ["", "", "", "login"]


def test_a_crowd_of_logins_cannot_look_before_it_is_charged(visit: Visit) -> None:
    visitor = visit(Rule("login", limit="2/min", counts={"status": 401}))

    said = [visitor.ask().rule for _ in range(3)]

    assert said == ["", "", "login"]


def test_what_an_answer_costs_is_charged_afterwards(visit: Visit) -> None:
    visitor = visit(
        Rule("tokens", limit="100/min", cost={"by": "response.header.x-tokens"}),
    )
    visitor.leave(visitor.ask(), x_tokens="150")

    assert visitor.say() == "tokens"
    visitor.clock.advance(30.6)
    assert visitor.say() == ""


def test_the_bytes_of_an_answer_are_charged_afterwards(visit: Visit) -> None:
    visitor = visit(
        Rule("bytes", limit="10/min", cost={"by": "response.body", "per": "1KB"}),
    )
    visitor.leave(visitor.ask(), size=9_001)

    assert visitor.ask().decisions["bytes"].remaining == 0


@pytest.mark.parametrize(
    ("cost", "path", "headers", "spent"),
    [
        (3, "/", {}, 3),
        ({"path": "/search", "units": 5}, "/search", {}, 5),
        ({"path": "/search", "units": 5}, "/", {}, 1),
        ([{"method": "POST", "units": 7}, {"path": "/search", "units": 5}], "/search", {}, 5),
        ({"by": "header.x-units"}, "/", {"x_units": "4"}, 4),
        ({"by": "header.x-units", "most": 10}, "/", {"x_units": "5000"}, 10),
        ({"by": "header.x-units"}, "/", {"x_units": "-4"}, 1),
        ({"by": "header.x-units"}, "/", {}, 1),
        ({"by": "query.n", "units": 2}, "/", {"query": "n=6"}, 12),
        ({"by": "body", "per": "1KB"}, "/", {"content_length": "2001"}, 3),
        ({"by": "body", "per": "1KB"}, "/", {}, 1),
    ],
)
def test_a_request_costs_what_the_rule_says(
    visit: Visit, cost: object, path: str, headers: dict[str, str], spent: int
) -> None:
    visitor = visit(Rule("api", limit="100/min", cost=cost))

    entry = visitor.ask(path, **headers)

    assert entry.decisions["api"].remaining == 100 - spent


def test_plans_say_what_their_users_may(visit: Visit) -> None:
    visitor = visit(
        Rule("api", key="header.x-user", limit="1/min"),
        plan="header.x-plan",
        plans={"vip": "unlimited", "pro": {"api": "3/min"}},
    )

    said = {
        plan: [visitor.say(x_user="a", x_plan=plan) for _ in range(5)]
        for plan in ("", "pro", "vip", "unknown")
    }

    assert said == {
        "": ["", "api", "api", "api", "api"],
        "pro": ["", "", "", "api", "api"],
        "vip": ["", "", "", "", ""],
        "unknown": ["api", "api", "api", "api", "api"],
    }


def test_rules_about_plans_go_by_where_the_plan_stands(visit: Visit) -> None:
    visitor = visit(
        Rule("free", match={"plan": "free"}, limit="1/s"),
        Rule("gold", when='plan == "gold"', limit="2/s"),
        Rule("each", match={"path": "/each"}, key="plan", limit="1/s"),
        plan="header.x-plan",
    )

    # What the app says is not what the rules ask for.
    assert [visitor.say(x_plan="free", plan="gold") for _ in range(2)] == ["", "free"]
    assert [visitor.say(x_plan="gold", plan="free") for _ in range(3)] == ["", "", "gold"]
    assert [visitor.say("/each", x_plan=plan) for plan in ("a", "b", "a")] == ["", "", "each"]


def test_the_app_may_say_what_plan_it_is(visit: Visit) -> None:
    visitor = visit(Rule("api", limit="0/s"), plans={"vip": "unlimited"})

    assert [visitor.say(plan="vip"), visitor.say(plan="free")] == ["", "api"]


def test_single_keys_have_terms_of_their_own(visit: Visit) -> None:
    visitor = visit(
        Rule(
            "api", key="header.x-user", limit="1/min",
            overrides={"partner": "3/min", "a b": "unlimited"},
        )
    )  # fmt: skip

    assert [visitor.say(x_user="partner") for _ in range(4)] == ["", "", "", "api"]
    assert [visitor.say(x_user="a b") for _ in range(3)] == ["", "", ""]
    assert [visitor.say(x_user="c") for _ in range(2)] == ["", "api"]


def test_members_get_more_of_everything(visit: Visit) -> None:
    visitor = visit(
        Rule("many", match={"path": "/many"}, key="header.x-user", concurrent=1),
        Rule("files", match={"path": "/files"}, key="header.x-user", bandwidth="10KB/s"),
        plan="header.x-plan",
        plans={"pro": {"many": 2, "files": "100KB/s"}},
    )
    inside = [visitor.ask("/many", x_user="a", x_plan="pro") for _ in range(3)]
    assert [entry.rule for entry in inside] == ["", "", "many"]
    for entry in inside[:2]:
        visitor.leave(entry)

    free = visitor.ask("/files", x_user="b")
    paid = visitor.ask("/files", x_user="a", x_plan="pro")

    assert [visitor.pour(free, 10_000), visitor.pour(free, 5_000)] == [0.0, 0.5]
    assert [visitor.pour(paid, 100_000), visitor.pour(paid, 5_000)] == [0.0, 0.05]


def test_a_shadow_counts_and_refuses_nobody(visit: Visit) -> None:
    visitor = visit(Rule("new", limit="1/min", mode="shadow"), Rule("old", limit="3/min"))

    entries = [visitor.ask() for _ in range(4)]

    assert [entry.rule for entry in entries] == ["", "", "", "old"]
    assert [[rule.name for rule in entry.shadowed] for entry in entries] == [
        [], ["new"], ["new"], ["new"],
    ]  # fmt: skip


def test_a_rollout_reaches_its_share_of_keys_and_always_the_same(visit: Visit) -> None:
    visitor = visit(Rule("new", key="header.x-user", limit="0/s", rollout="30%"))
    users = [str(number) for number in range(1000)]

    reached = [user for user in users if visitor.say(x_user=user)]

    assert 250 <= len(reached) <= 350
    assert reached == [user for user in users if visitor.say(x_user=user)]


def test_a_breaker_opens_when_answers_fail_and_tries_again(visit: Visit) -> None:
    visitor = visit(Rule("shop", breaker={"failures": 0.5, "calls": 4, "pause": "5s"}))
    for status in (200, 500, 503, 502):
        visitor.leave(visitor.ask(), status)

    refused = visitor.ask()

    assert refused.refusal is not None
    assert refused.refusal.kind == "capacity"
    assert 4.5 <= refused.refusal.retry_after <= 5.5
    visitor.clock.advance(5.5)
    visitor.leave(visitor.ask(), 200)
    assert visitor.say() == ""


def test_an_answer_that_is_no_failure_leaves_the_breaker_alone(visit: Visit) -> None:
    visitor = visit(Rule("shop", breaker={"calls": 2}))
    for _ in range(10):
        visitor.leave(visitor.ask(), 404)

    assert visitor.say() == ""


def test_an_app_that_raises_has_failed(visit: Visit) -> None:
    visitor = visit(Rule("shop", breaker={"calls": 2}, concurrent=1))
    for _ in range(2):
        visitor.leave(visitor.ask(), 0)

    assert visitor.say() == "shop"


def test_a_limit_that_finds_itself_refuses_the_crowd(visit: Visit) -> None:
    visitor = visit(Rule("overload", adaptive={"by": "aimd", "initial": 3, "ceiling": 3}))
    entries = [visitor.ask() for _ in range(5)]
    inside = [entry for entry in entries if entry]

    refusal = entries[-1].refusal

    assert 1 <= len(inside) <= 3
    assert refusal == Refusal("capacity", visitor.keeper.rules.rules[0], 0, 1.0, "overload")
    for entry in inside:
        visitor.leave(entry)


def test_bytes_flow_at_the_rate_for_all_connections_of_a_key(visit: Visit) -> None:
    visitor = visit(Rule("files", key="header.x-user", bandwidth="100KB/s"))
    one, two = visitor.ask(x_user="a"), visitor.ask(x_user="a")

    waits = [visitor.pour(entry, 50_000) for entry in (one, two, one, two)]

    assert waits == [0.0, 0.0, 0.5, 0.5]
    assert one.piece == 5_000


def test_an_expression_says_what_else_must_be_true(visit: Visit) -> None:
    when = 'header.x-beta == "1" and not query.free == "yes"'
    visitor = visit(Rule("beta", when=when, limit="0/s"))

    assert [
        visitor.say(x_beta="1"), visitor.say(), visitor.say(x_beta="1", query="free=yes")
    ] == ["beta", "", ""]  # fmt: skip


def test_every_entry_names_the_rules_it_was_decided_by(visit: Visit) -> None:
    visitor = visit(Rule("api", limit="5/min"))
    before = visitor.ask()

    visitor.keeper.change(Rules([Rule("api", limit="6/min")]))

    assert before.version != visitor.ask().version == visitor.keeper.version


def test_costs_that_are_known_before_are_charged_before_beside_those_that_are_not(
    visit: Visit,
) -> None:
    visitor = visit(
        Rule(
            "api",
            limit="10/min",
            cost=[{"path": "/plain", "units": 3}, {"by": "response.header.x-tokens"}],
        )
    )
    visitor.leave(visitor.ask("/plain"))
    assert visitor.ask("/plain").decisions["api"].remaining == 4

    visitor.leave(visitor.ask("/other"), x_tokens="2")

    assert visitor.ask("/other").decisions["api"].remaining == 2


def test_an_answer_that_does_not_count_costs_nothing_afterwards(visit: Visit) -> None:
    visitor = visit(
        Rule(
            "api",
            limit="10/min",
            cost={"by": "response.header.x-tokens"},
            counts={"status": 200},
        )
    )
    visitor.leave(visitor.ask(), 500, x_tokens="7")
    visitor.leave(visitor.ask(), 200, x_tokens="4")

    assert visitor.ask().decisions["api"].remaining == 6


def test_a_client_that_went_away_says_nothing_about_the_app(visit: Visit) -> None:
    visitor = visit(Rule("shop", breaker={"calls": 2}))
    for _ in range(5):
        visitor.leave(visitor.ask(), 499)

    assert visitor.say() == ""
