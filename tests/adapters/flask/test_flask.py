"""Rules in front of a Flask application, and limits at its views."""

from __future__ import annotations

import importlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Blueprint, Flask, Response, g, request, send_file, stream_with_context
from flask.views import MethodView, View

from headgate import ManualClock, MissingExtra
from headgate.adapters.flask import Headgate, exempt, limit
from headgate.errors import RulesError
from headgate.rules.live.gatekeeper import Gatekeeper
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from tests.adapters.serving import Guest, served
from tests.crowd import together

ONCE = Rules([Rule("once", limit="1/min")])
ALONE = Rules([Rule("alone", concurrent=1)])


@pytest.fixture
def app() -> Flask:
    """An application with one view."""
    app = Flask(__name__)
    app.add_url_rule("/", "index", lambda: "hello")
    return app


def statuses(app: Flask, path: str, times: int, **options: Any) -> list[int]:
    client = app.test_client()
    return [client.get(path, buffered=True, **options).status_code for _ in range(times)]


def test_rules_stand_in_front_of_the_application(app: Flask, clock: ManualClock) -> None:
    Headgate(app, ONCE, clock=clock)
    allowed, refused = app.test_client().get("/"), app.test_client().get("/")

    assert (allowed.data, allowed.headers["RateLimit"]) == (b"hello", '"once";r=0;t=60')
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "60")
    assert refused.json["violated-policies"] == ["once"]
    assert refused.headers.getlist("RateLimit") == ['"once";r=0;t=60']


def test_what_is_not_found_is_counted_too(app: Flask, clock: ManualClock) -> None:
    Headgate(app, ONCE, clock=clock)

    assert statuses(app, "/nothing", 2) == [404, 429]


def test_rules_and_store_may_be_in_the_configuration(
    app: Flask, tmp_path: Path, clock: ManualClock
) -> None:
    (tmp_path / "rules.json").write_text(
        '{"version": 1, "store": "redis://nowhere", "rules": [{"name": "once", "limit": "1/min"}]}'
    )
    app.config |= {"HEADGATE_RULES": tmp_path / "rules.json", "HEADGATE_STORE": "memory://"}
    headgate = Headgate(clock=clock)
    headgate.init_app(app)

    assert statuses(app, "/", 2) == [200, 429]


def test_each_application_counts_for_itself(clock: ManualClock) -> None:
    headgate = Headgate(rules=ONCE, clock=clock)
    apps = [Flask("one"), Flask("two")]
    for app in apps:
        app.add_url_rule("/", "index", lambda: "hello")
        headgate.init_app(app)

    assert [statuses(app, "/", 2) for app in apps] == [[200, 429], [200, 429]]


def test_applications_may_count_together(clock: ManualClock) -> None:
    keeper = Gatekeeper(ONCE, clock=clock)
    apps = [Flask("one"), Flask("two")]
    for app in apps:
        app.add_url_rule("/", "index", lambda: "hello")
        Headgate(app, keeper)

    assert [statuses(app, "/", 1) for app in apps] == [[200], [429]]


def test_an_application_has_one_headgate(app: Flask) -> None:
    Headgate(app)
    with pytest.raises(ValueError) as caught:
        Headgate(app)

    assert str(caught.value) == f'Headgate: "{__name__}" has one already'


def test_user_and_plan_are_asked_within_the_request(app: Flask, clock: ManualClock) -> None:
    rules = Rules(
        [Rule("own", match={"path": "/"}, key="user", limit="1/min")],
        plans={"paid": {"own": "2/min"}},
    )
    Headgate(
        app,
        rules,
        user=lambda: request.args["user"],
        plan=lambda: g.get("plan") or request.headers.get("x-plan"),
        clock=clock,
    )
    app.add_url_rule("/free", "free", lambda: "hello")

    assert statuses(app, "/?user=ann", 2) == [200, 429]
    assert statuses(app, "/?user=bob", 3, headers={"x-plan": "paid"}) == [200, 200, 429]
    assert statuses(app, "/free", 3) == [200, 200, 200]


def test_the_user_is_whom_the_server_knows_unless_one_says_otherwise(
    app: Flask, clock: ManualClock
) -> None:
    Headgate(app, Rules([Rule("own", key="user", limit="1/min")]), clock=clock)

    assert statuses(app, "/", 2, environ_base={"REMOTE_USER": "ann"}) == [200, 429]
    assert statuses(app, "/", 1) == [403]


def test_a_view_has_a_limit_of_its_own(app: Flask, clock: ManualClock) -> None:
    @app.get("/login")
    @limit("2/min", key="client.ip", by="fixed_window")
    def login() -> str:
        """Let somebody in."""
        return "in"

    Headgate(app, clock=clock)
    answers = [app.test_client().get("/login") for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert [answer.headers["RateLimit"] for answer in answers] == [
        '"login";r=1;t=60', '"login";r=0;t=60', '"login";r=0;t=60',
    ]  # fmt: skip
    assert statuses(app, "/login", 1, environ_base={"REMOTE_ADDR": "203.0.113.7"}) == [200]
    assert statuses(app, "/", 5) == [200] * 5
    assert (login.__name__, login.__doc__) == ("login", "Let somebody in.")


def test_a_rule_of_a_view_is_called_after_its_endpoint_or_as_one_says(
    app: Flask, clock: ManualClock
) -> None:
    views = Blueprint("shop", __name__)

    @views.get("/buy")
    @limit("9/min")
    def buy() -> str:
        return "bought"

    @app.get("/named")
    @limit("9/min", name="mine")
    def named() -> str:
        return "named"

    app.register_blueprint(views)
    Headgate(app, clock=clock)
    policies = [
        app.test_client().get(path).headers["RateLimit-Policy"] for path in ("/buy", "/named")
    ]

    assert policies == ['"shop.buy";q=9;w=60', '"mine";q=9;w=60']


def test_several_limits_at_a_view_must_all_agree(app: Flask, clock: ManualClock) -> None:
    @app.get("/both")
    @limit("5/min", by="fixed_window")
    @limit("1/s", by="fixed_window")
    def both() -> str:
        return "both"

    Headgate(app, clock=clock)
    client = app.test_client()

    assert client.get("/both").headers["RateLimit"] == '"both";r=4;t=60, "both.2";r=0;t=1'
    refused = client.get("/both")
    assert (refused.status_code, refused.json["violated-policies"]) == (429, ["both.2"])
    assert refused.headers.getlist("RateLimit") == ['"both";r=3;t=60, "both.2";r=0;t=1']


def test_views_with_one_name_count_together(app: Flask, clock: ManualClock) -> None:
    for path in ("/a", "/b"):
        view = limit("1/min", name="search")(lambda: "found")
        app.add_url_rule(path, path, view)
    Headgate(app, clock=clock)

    assert statuses(app, "/a", 1) + statuses(app, "/b", 1) == [200, 429]


def test_one_name_has_one_meaning(app: Flask) -> None:
    app.add_url_rule("/a", "a", limit("1/min", name="search")(lambda: "found"))
    app.add_url_rule("/b", "b", limit("2/min", name="search")(lambda: "found"))
    Headgate(app)
    app.testing = True
    app.test_client().get("/a")
    with pytest.raises(ValueError) as caught:
        app.test_client().get("/b")

    assert str(caught.value) == 'limit: "search" stands at another view with other terms'
    assert statuses(app, "/a", 1) == [429]


def test_a_limit_that_is_none_is_refused_where_it_is_written() -> None:
    with pytest.raises(RulesError) as caught:
        limit("5/sex")

    assert "unknown unit" in str(caught.value)


def test_the_rules_of_the_file_come_before_those_of_a_view(app: Flask, clock: ManualClock) -> None:
    app.add_url_rule("/a", "a", limit("1/min", by="fixed_window")(lambda: "a"))
    Headgate(app, Rules([Rule("all", limit="3/min", by="fixed_window")]), clock=clock)
    answers = [app.test_client().get("/a") for _ in range(4)]

    assert [answer.headers["RateLimit"] for answer in answers] == [
        '"all";r=2;t=60, "a";r=0;t=60',
        '"all";r=1;t=60, "a";r=0;t=60',
        '"all";r=0;t=60, "a";r=0;t=60',
        '"all";r=0;t=60',
    ]
    assert [answer.status_code for answer in answers] == [200, 429, 429, 429]


def test_views_go_by_what_the_file_says_of_clients_headers_and_plans(
    app: Flask, clock: ManualClock
) -> None:
    app.add_url_rule("/a", "a", limit("1/min", key="client.ip")(lambda: "a"))
    rules = Rules(
        headers="x-delta",
        client={"trusted_hops": 1},
        plan="header.x-plan",
        plans={"vip": "unlimited"},
    )
    keeper = Gatekeeper(Rules(), clock=clock)
    Headgate(app, keeper, clock=clock)
    app.test_client().get("/a")
    keeper.change(rules)

    first = {"x-forwarded-for": "203.0.113.1"}
    assert statuses(app, "/a", 2, headers=first) == [200, 429]
    assert statuses(app, "/a", 2, headers={**first, "x-plan": "vip"}) == [200, 200]
    assert "X-RateLimit-Reset" in app.test_client().get("/a", headers=first).headers


def test_a_blueprint_has_one_limit_for_all_its_views(app: Flask, clock: ManualClock) -> None:
    views = limit("2/min", key="client.ip")(Blueprint("admin", __name__, url_prefix="/admin"))
    views.add_url_rule("/a", "a", lambda: "a")
    views.add_url_rule("/b", "b", lambda: "b")
    app.register_blueprint(views)
    Headgate(app, clock=clock)
    client = app.test_client()

    answers = [client.get(path) for path in ("/admin/a", "/admin/b", "/admin/a", "/")]

    assert [answer.status_code for answer in answers] == [200, 200, 429, 200]
    assert answers[0].headers["RateLimit-Policy"] == '"admin";q=2;w=60'


def test_what_is_exempt_is_not_counted(app: Flask, clock: ManualClock) -> None:
    @app.get("/health")
    @exempt
    def health() -> str:
        return "well"

    @app.get("/own")
    @exempt
    @limit("2/min")
    def own() -> str:
        return "own"

    views = exempt(Blueprint("open", __name__, url_prefix="/open"))
    inner = Blueprint("inner", __name__, url_prefix="/inner")
    inner.add_url_rule("/", "index", lambda: "inner")
    views.register_blueprint(inner)
    app.register_blueprint(views)
    Headgate(app, ONCE, clock=clock)

    assert statuses(app, "/health", 3) == [200] * 3
    assert statuses(app, "/open/inner/", 3) == [200] * 3
    assert statuses(app, "/own", 3) == [200, 200, 429]
    assert statuses(app, "/", 2) == [200, 429]


def test_views_of_classes_and_coroutines_have_limits_too(app: Flask, clock: ManualClock) -> None:
    class Page(View):
        decorators = [limit("1/min")]  # noqa: RUF012 - as Flask has it

        def dispatch_request(self) -> str:
            return "page"

    class Api(MethodView):
        @limit("1/min")
        def get(self, number: int) -> str:
            return str(number)

    @limit("1/min")
    async def later() -> str:
        return "later"

    app.add_url_rule("/page", view_func=Page.as_view("page"))
    app.add_url_rule("/api/<int:number>", view_func=Api.as_view("api"))
    app.add_url_rule("/later", view_func=later)
    Headgate(app, clock=clock)

    for path in ("/page", "/api/7", "/later"):
        assert statuses(app, path, 2) == [200, 429]


def test_a_refusal_goes_through_error_handlers_if_one_wants(app: Flask, clock: ManualClock) -> None:
    @app.errorhandler(429)
    def sorry(error: Any) -> tuple[str, int, dict[str, str]]:
        rule = request.environ["headgate.entry"].rule
        return f"sorry: {rule}", 430, {"retry-after": error.response.headers["retry-after"]}

    Headgate(app, ONCE, clock=clock, refusals="raise")
    app.test_client().get("/")
    answer = app.test_client().get("/")

    assert (answer.status_code, answer.text, answer.headers["Retry-After"]) == (
        430, "sorry: once", "60",
    )  # fmt: skip


def test_a_refusal_that_nobody_handles_is_answered_as_ever(app: Flask, clock: ManualClock) -> None:
    Headgate(app, ONCE, clock=clock, refusals="raise")
    app.test_client().get("/")
    answer = app.test_client().get("/")

    assert (answer.status_code, answer.content_type) == (429, "application/problem+json")
    assert answer.headers["RateLimit"] == '"once";r=0;t=60'


def test_what_is_no_error_is_answered_at_once(app: Flask, clock: ManualClock) -> None:
    rules = Rules([Rule("once", limit="1/min", over="redirect /busy")])
    Headgate(app, rules, clock=clock, refusals="raise")

    assert statuses(app, "/", 2) == [200, 302]


def test_there_are_two_ways_to_refuse() -> None:
    with pytest.raises(ValueError) as caught:
        Headgate(refusals="throw")

    assert str(caught.value) == 'Headgate: refusals is "answer" or "raise", not \'throw\''


def test_a_limit_needs_a_headgate(app: Flask) -> None:
    app.add_url_rule("/a", "a", limit("1/min")(lambda: "a"))
    app.testing = True
    with pytest.raises(RuntimeError) as caught:
        app.test_client().get("/a")

    assert str(caught.value) == f'limit: "{__name__}" has no Headgate; call Headgate(app)'


def test_what_a_test_makes_up_is_not_counted(app: Flask, clock: ManualClock) -> None:
    Headgate(app, ONCE, clock=clock)
    for _ in range(3):
        with app.test_request_context("/"):
            assert app.preprocess_request() is None


@pytest.mark.parametrize("testing", [False, True])
def test_a_place_is_given_back_when_a_view_fails(app: Flask, testing: bool) -> None:
    @app.get("/fail")
    @limit(concurrent=1)
    def fail() -> str:
        raise KeyError("x")

    app.testing = testing
    Headgate(app, ALONE)
    for _ in range(3):
        if testing:
            with pytest.raises(KeyError):
                app.test_client().get("/fail")
        else:
            assert statuses(app, "/fail", 1) == [500]

    assert statuses(app, "/", 1) == [200]


def test_a_place_is_held_for_the_length_of_a_stream(app: Flask) -> None:
    @app.get("/stream")
    @limit(concurrent=1, key="header.x-user")
    def stream() -> Response:
        def parts() -> Iterator[str]:
            yield request.args["part"]
            yield "two"

        return Response(stream_with_context(parts()))

    Headgate(app)
    path, ann, bob = "/stream?part=one", {"x-user": "ann"}, {"x-user": "bob"}
    first = app.test_client().get(path, headers=ann, buffered=False)
    others = [statuses(app, path, 1, headers=ann), statuses(app, path, 1, headers=bob)]
    read = b"".join(first.response)
    first.close()

    assert (others, read) == ([[429], [200]], b"onetwo")
    assert statuses(app, path, 1, headers=ann) == [200]


def test_a_place_is_given_back_though_the_answer_is_replaced(app: Flask) -> None:
    app.after_request(lambda response: Response("another"))
    Headgate(app, ALONE)

    assert statuses(app, "/", 3) == [200] * 3


@pytest.mark.parametrize(
    ("rules", "took"),
    [(ALONE, 0.0), (Rules([Rule("slow", bandwidth="10KB/s")]), 2.0)],
    ids=["held", "slow"],
)
def test_files_are_sent_as_rules_will_have_it(
    app: Flask, clock: ManualClock, rules: Rules, took: float
) -> None:
    app.add_url_rule("/file", "file", lambda: send_file(io.BytesIO(b"x" * 30_000), "text/plain"))
    Headgate(app, rules, clock=clock)
    answer = app.test_client().get("/file")

    assert (len(answer.data), answer.content_length, clock.now() / 1e6) == (30_000, 30_000, took)
    assert statuses(app, "/", 1) == [200]


def test_threads_count_together() -> None:
    app = Flask(__name__)
    for number in range(8):
        view = limit("3/h", by="fixed_window")(lambda: "hello")
        app.add_url_rule(f"/{number}", f"view{number}", view)
    Headgate(app, Rules([Rule("all", limit="1000/h")]))

    answers = together(lambda _: [statuses(app, f"/{number}", 1)[0] for number in range(8)], 8)

    assert [sorted(column) for column in zip(*answers, strict=True)] == [[200] * 3 + [429] * 5] * 8


def test_a_server_serves_it(clock: ManualClock) -> None:
    app = Flask(__name__)
    app.add_url_rule("/", "index", lambda: "hello")
    Headgate(app, ONCE, clock=clock)
    with served(app) as port:
        guests = [Guest(port, "/"), Guest(port, "/")]
        for guest in guests:
            guest.go()

    assert [guest.status for guest in guests] == [200, 429]
    assert guests[1].headers["retry-after"] == "60"


def test_without_flask_there_is_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "flask", None)
    monkeypatch.delitem(sys.modules, "headgate.adapters.flask")
    with pytest.raises(MissingExtra) as caught:
        importlib.import_module("headgate.adapters.flask")

    assert str(caught.value) == (
        'the extra "flask" is not installed; try pip install "headgate[flask]"'
    )
