"""Orders: what the command line says goes before the rules, now and when they change."""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate.errors import RulesError
from headgate.rules.model.rules import Rules
from headgate.rules.model.service import Service
from headgate.workers.orders import Orders
from headgate.workers.summary import summary

GATEWAY = "gateway: {routes: [{upstream: http://127.0.0.1:9000}], timeouts: {drain: 7s}}\n"
RULES = f"version: 1\n{GATEWAY}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "rules.yaml"
    found.write_text(RULES)
    return found


def test_another_process_hears_the_same() -> None:
    orders = Orders("rules.yaml", ("127.0.0.1:1", ":2"), "redis://host", "shared://x", 2.5, 3.0)

    assert Orders.heard(orders.told()) == orders


def test_without_a_word_the_rules_are_as_they_stand(file: Path) -> None:
    assert Orders(str(file)).origin.load() == Rules.load(file)


def test_it_listens_where_it_is_told_to(file: Path) -> None:
    rules = Orders(str(file), ("127.0.0.1:1", "[::1]:2")).origin.load()

    assert [str(one.place) for one in rules.gateway.listen] == ["127.0.0.1:1", "[::1]:2"]


def test_a_service_that_nothing_is_said_of_is_as_usual_and_its_rules_are_those(file: Path) -> None:
    file.write_text("version: 1\n")
    orders = Orders(str(file), serves="service")

    rules = orders.origin.load()
    assert rules == Rules.load(file)
    assert orders.terms(rules) == Service()
    moved = Orders(str(file), ("http://127.0.0.1:1",), serves="service")
    assert [one.speaks for one in moved.terms(moved.origin.load()).listen] == ["http"]


def test_rules_without_a_gateway_are_refused(file: Path) -> None:
    file.write_text("version: 1\n")

    with pytest.raises(RulesError) as caught:
        Orders(str(file)).origin.load()
    assert str(caught.value) == (
        f'{file}: lacks "gateway"; write where requests go, as in '
        "gateway: {routes: [{upstream: http://127.0.0.1:9000}]}"
    )


@pytest.mark.parametrize(
    ("said", "option", "shared"),
    [
        ("", "", True),
        ("store: memory://\n", "", False),
        ("store: redis://host\n", "", False),
        ("", "memory://", False),
    ],
)
def test_workers_count_together_unless_somebody_says_where(
    said: str, option: str, shared: bool, file: Path
) -> None:
    file.write_text(f"version: 1\n{said}{GATEWAY}")

    orders = Orders(str(file), store=option).sharing()
    rules = orders.origin.load()

    assert rules.store.startswith("shared://gateway-") == shared
    assert rules.digest == Rules.load(file).digest


def test_what_changes_is_amended_too(file: Path) -> None:
    origin = Orders(str(file), ("127.0.0.1:1",)).sharing().origin
    first = origin.fetch("")
    assert origin.fetch(first.mark) is None

    file.write_text(f"store: memory://\n{RULES}")
    rules = origin.fetch(first.mark).rules()

    assert (rules.store, rules.gateway.listen[0].address) == ("memory://", "127.0.0.1:1")


def test_the_grace_is_what_was_said_last(file: Path) -> None:
    rules = Rules.load(file)

    assert Orders(str(file)).grace(rules) == 7.0
    assert Orders(str(file), drain=0.0).grace(rules) == 0.0


def test_a_summary_adds_up_what_workers_counted() -> None:
    server = {"busy": 1, "well": True, "breaker": "closed"}
    told = {"version": "a", "requests": 3, "draining": True, "upstreams": {"s": server}}
    ill = {"busy": 2, "well": False, "breaker": "open"}
    other = {"version": "b", "requests": 4, "draining": False, "upstreams": {"s": ill}}
    about = {"slot": 0, "pid": 10, "up": True, "start": 5.0, "restarts": 0}
    fallen = {"slot": 2, "up": False, "restarts": 9}

    found = summary([{**told, **about}, {**other, **about, "slot": 1, "pid": 11}, fallen])

    assert found == {
        "version": "a, b",
        "requests": 7,
        "draining": False,
        "upstreams": {"s": {"busy": 3, "well": False, "breaker": "closed, open"}},
        "workers": [
            {**about, "version": "a", "requests": 3},
            {**about, "slot": 1, "pid": 11, "version": "b", "requests": 4},
            fallen,
        ],
    }


def test_a_summary_of_nobody_tells_of_nothing() -> None:
    assert summary([{"slot": 0, "up": False, "restarts": 1}]) == {
        "workers": [{"slot": 0, "up": False, "restarts": 1}]
    }
