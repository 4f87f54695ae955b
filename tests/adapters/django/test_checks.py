"""What `manage.py check` says about `settings.HEADGATE`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import run_checks
from django.core.management import CommandError, call_command
from django.test import override_settings

import headgate.adapters.django.middleware  # noqa: F401 - which brings the checks with it
from headgate.errors import RulesError
from headgate.rules.live.gatekeeper import Gatekeeper
from headgate.rules.model.rules import Rules
from tests.adapters.django.site import MIDDLEWARE
from tests.missing import lose

SAYS = "store is an address such as memory://, shared://web or redis://host, not "


@contextmanager
def said(**words: Any) -> Iterator[None]:
    """The project with these words in its settings."""
    with override_settings(HEADGATE={word.upper(): found for word, found in words.items()}):
        yield


def found() -> list[tuple[str, str]]:
    return [(str(one.id), str(one.msg)) for one in run_checks(tags=["headgate"])]


@pytest.mark.parametrize(
    ("words", "number", "sentence"),
    [
        ({"ruels": Rules()}, 1, 'HEADGATE: there is no "RUELS"; try RULES'),
        (
            {},
            2,
            "HeadgateMiddleware: HEADGATE has no RULES; name a file, as in "
            'HEADGATE = {"RULES": BASE_DIR / "rules.yaml"}',
        ),
        (
            {"rules": "/nowhere/rules.yaml"},
            2,
            'HEADGATE["RULES"]: /nowhere/rules.yaml: cannot be read: No such file or directory',
        ),
        (
            {"rules": 7},
            2,
            'HEADGATE["RULES"]: rules stand in a file or in RedisRules, not in int 7',
        ),
        (
            {"rules": Rules(), "store": "memory"},
            3,
            f'HEADGATE["STORE"]: {SAYS}"memory"; after the word comes ://',
        ),
        (
            {"rules": Rules(), "user": "nowhere.who"},
            4,
            "HEADGATE[\"USER\"]: No module named 'nowhere'",
        ),
        (
            {"rules": Rules(), "user": "tests.adapters.django.people.nobody"},
            4,
            'HEADGATE["USER"]: Module "tests.adapters.django.people" does not define a "nobody" '
            "attribute/class",
        ),
        (
            {"rules": Rules(), "plan": 7},
            4,
            'HEADGATE["PLAN"] is a function of the request, or its dotted name, not 7',
        ),
    ],
)
def test_what_is_wrong_is_an_error(words: dict[str, Any], number: int, sentence: str) -> None:
    with said(**words):
        assert found() == [(f"headgate.E00{number}", sentence)]


def test_a_broken_file_is_reported_with_all_that_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("version: 1\nrules:\n  - name: api\n    limit: 5/sex\n    kee: user\n")
    with pytest.raises(RulesError) as caught:
        Rules.load(file)

    with said(rules=file):
        assert found() == [("headgate.E002", f'HEADGATE["RULES"]: {caught.value}')]
    assert len(caught.value.problems) == 2


def test_the_store_of_a_file_is_looked_at_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose(monkeypatch, "hiredis")
    file = tmp_path / "rules.yaml"
    file.write_text("version: 1\nstore: redis://host\nrules: []\n")
    sentence = 'the extra "redis" is not installed; try pip install "headgate[redis]"'
    with said(rules=file):
        assert found() == [("headgate.E002", f'HEADGATE["RULES"]: {sentence}')]
    with said(rules=file, store="memory://"):
        assert found() == []
    with said(rules=file, store="redis://host"):
        assert found() == [("headgate.E003", f'HEADGATE["STORE"]: {sentence}')]


def test_settings_are_a_dict() -> None:
    with override_settings(HEADGATE="rules.yaml"):
        assert found() == [("headgate.E001", "HEADGATE is a dict, not 'rules.yaml'")]


def test_a_bad_switch_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_ENABLED", "maybe")
    with said(rules=Rules()):
        assert found() == [
            (
                "headgate.E005",
                "HEADGATE_ENABLED is 1, true, yes or on, or 0, false, no or off, not 'maybe'",
            )
        ]


def test_everything_is_reported_at_once() -> None:
    with said(rules="/nowhere/rules.yaml", store="memory", user=7, plan=7):
        assert [number[-1] for number, _ in found()] == ["2", "3", "4", "4"]


@pytest.mark.parametrize(
    "words",
    [
        {"rules": Rules()},
        {"rules": Gatekeeper(Rules())},
        {"rules": Rules(), "store": "shared://web", "user": "tests.adapters.django.people.awaited"},
        # Who stands on a server is not asked for.
        {"rules": "redis://nobody.invalid"},
    ],
)
def test_what_is_right_is_not_reported(words: dict[str, Any]) -> None:
    with said(**words):
        assert found() == []


def test_rules_are_only_missed_where_the_middleware_is() -> None:
    with override_settings(MIDDLEWARE=[], HEADGATE={}):
        assert found() == []


def test_the_command_fails() -> None:
    with said(rules=Rules(), store="memory"), pytest.raises(CommandError) as caught:
        call_command("check")

    assert str(caught.value) == (
        "SystemCheckError: System check identified some issues:\n\nERRORS:\n"
        f'?: (headgate.E003) HEADGATE["STORE"]: {SAYS}"memory"; after the word comes ://\n\n'
        "System check identified 1 issue (0 silenced)."
    )


def test_the_app_is_all_that_a_project_needs(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(
        'SECRET_KEY = "not one"\n'
        'INSTALLED_APPS = ["headgate.adapters.django"]\n'
        f'MIDDLEWARE = ["{MIDDLEWARE}"]\n'
        'HEADGATE = {"RULES": "/nowhere/rules.yaml"}\n'
    )
    places = os.pathsep.join([str(tmp_path), *sys.path])
    told = subprocess.run(
        [sys.executable, "-m", "django", "check", "--settings", "shop"],
        env={**os.environ, "PYTHONPATH": places},
        capture_output=True,
        text=True,
        check=False,
    )

    assert told.returncode == 1
    assert told.stderr == (
        "SystemCheckError: System check identified some issues:\n\nERRORS:\n"
        '?: (headgate.E002) HEADGATE["RULES"]: /nowhere/rules.yaml: cannot be read: No such file '
        "or directory\n\nSystem check identified 1 issue (0 silenced).\n"
    )
