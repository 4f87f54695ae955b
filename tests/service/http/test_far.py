"""Where it is counted on a server: answers come when they are there, and others do not wait."""

from __future__ import annotations

import pytest

from tests.servers.launch import Server
from tests.servers.waiting import until
from tests.service.http.staging import API, asked, plan, posted, told
from tests.service.http.staging import HttpServiceHost as Stage
from tests.service.http.test_auth import CLIENT, ME, NGINX

A = {"rule": "api", "key": "a"}
# So many are read before the first is answered.
QUEUE = 16
HEALTH = asked("GET", "/health")


@pytest.fixture
def url(valkey: Server) -> str:
    return valkey.patient


def test_every_verb_is_answered_from_afar(url: str) -> None:
    with Stage(plan(), store=url) as stage:
        answers = [
            stage.post(f"/v1/{verb}", {**A, "cost": 10})
            for verb in ("take", "peek", "debit", "refund")
        ]
        many = told(stage.post("/v1/take", {"many": [A, A, {**A, "cost": 101}]}))["answers"]
        state = told(stage.get("/v1/keys/api/a"))
        reset = stage.post("/v1/reset", A)
        fresh = told(stage.get("/v1/keys/api/a"))

    assert [answer.status for answer in answers] == [200] * 4
    assert [told(answer)["remaining"] for answer in answers] == [90, 90, 80, 90]
    assert answers[0].all("ratelimit-policy") == ['"api";q=100;w=60']
    assert [one["allowed"] for one in many] == [True, True, False]
    assert (state["remaining"], reset.status, fresh["remaining"]) == (88, 204, 100)


def test_requests_from_afar_are_answered_in_their_order(url: str) -> None:
    with Stage(plan(), store=url) as stage, stage.talk() as talk:
        talk.send((posted("/v1/take", A) + HEALTH) * 5)
        answers = [talk.hear() for _ in range(10)]

    assert [told(answer)["remaining"] for answer in answers[::2]] == [99, 98, 97, 96, 95]
    assert [answer.status for answer in answers] == [200] * 10


def test_bookings_and_places_are_held_from_afar(url: str) -> None:
    rules = plan(API, {"name": "export", "concurrent": 1})
    with Stage(rules, store=url) as stage:
        booked = told(stage.post("/v1/reserve", {**A, "cost": 10}))
        cancelled = stage.post("/v1/cancel", {"id": booked["id"]})
        place = {"rule": "export", "key": ""}
        held, full = stage.post("/v1/hold", place), stage.post("/v1/hold", place)
        released = stage.post("/v1/release", {"id": told(held)["id"]})

    assert (booked["remaining"], told(cancelled)["remaining"]) == (90, 100)
    assert (held.status, full.status, released.status) == (200, 429, 204)


def test_proxies_and_checks_are_answered_from_afar(url: str) -> None:
    with Stage(plan({**CLIENT, "limit": "1/min"}, client=ME), store=url) as stage:
        answers = [
            stage.get("/v1/auth", **NGINX).status,
            stage.get("/v1/auth", **NGINX).status,
            stage.get("/v1/auth?rule=api&deny=403", **NGINX).status,
        ]
        check = told(stage.post("/v1/check", {"request": {"client": NGINX["x_real_ip"]}}))

    assert (answers, check["status"]) == ([200, 429, 403], 429)


MODES = [("deny", 503, "unavailable"), ("allow", 200, ""), ("local", 200, "")]


@pytest.mark.parametrize(("mode", "status", "reason"), MODES)
def test_where_a_store_is_gone_the_rule_says_what_becomes_of_a_question(
    valkey: Server, mode: str, status: int, reason: str
) -> None:
    with Stage(plan({**API, "when_unavailable": mode}), store=valkey.url) as stage:
        valkey.kill()
        answer = stage.post("/v1/take", A)

    assert (answer.status, told(answer)["reason"], told(answer)["degraded"]) == (
        status, reason, True,
    )  # fmt: skip
    assert answer.all("retry-after") == (["1"] if status == 503 else [])


def test_what_only_the_store_can_do_is_not_said_to_be_done_without_it(valkey: Server) -> None:
    with Stage(plan(), store=valkey.url) as stage:
        valkey.kill()
        answer = stage.post("/v1/reset", A)

    assert (answer.status, told(answer)["detail"]) == (503, "The store could not be asked.")


def test_it_is_ready_while_its_store_answers(valkey: Server) -> None:
    with Stage(plan(), store=valkey.url) as stage:

        def back() -> bool:
            stage.tick(1.1)
            return stage.get("/ready").status == 200

        # A machine that stands still is no store that does.
        until(back, "it to be ready")
        valkey.kill()
        believed = stage.get("/ready")
        stage.tick(1.1)
        gone, reference = stage.get("/ready"), stage.get("/healthcheck")
        alive = stage.get("/health")
        valkey.restart()
        until(back, "it to be ready again")

    place = f"127.0.0.1:{valkey.port}"
    assert (believed.status, alive.status) == (200, 200)
    said = {"status": "unready", "problem": f"The store redis://{place} does not answer."}
    assert (gone.status, told(gone)) == (503, said)
    assert (reference.status, reference.body) == (500, b"unhealthy\n")


def test_who_leaves_is_not_waited_for_and_others_are_served(valkey: Server) -> None:
    with Stage(plan({**API, "when_unavailable": "deny"}), store=valkey.url) as stage:
        stage.post("/v1/take", A)
        valkey.pause()
        with stage.talk() as talk, stage.talk() as other:
            talk.send(posted("/v1/take", A))
            other.send(HEALTH)
            assert other.hear().status == 200
        stage.turn()

        until(lambda: stage.hall.status()["connections"] == 0, "both to be gone")
        clerks = [one.clerk for one in stage.hall.things["http"].values()]
        until(lambda: not any(clerk.tasks for clerk in clerks), "nothing to be left", 5.0)
        valkey.resume()
        assert stage.get("/health").status == 200


def test_so_many_wait_for_each_other_and_no_more(url: str) -> None:
    ask = posted("/v1/take", A)
    with Stage(plan(), store=url) as stage, stage.talk() as talk:
        for _ in range(3):
            talk.send(ask * QUEUE)
            assert [talk.hear().status for _ in range(QUEUE)] == [200] * QUEUE
        talk.send(ask * (QUEUE + 2))
        answers = [talk.hear() for _ in range(QUEUE + 1)]

        assert [answer.status for answer in answers] == [200] * QUEUE + [400]
        assert talk.finish() == b""
