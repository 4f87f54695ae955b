"""Plays a seeded sample of the soak: some tests of each kind that only `make soak` plays at length.

    HEADGATE_SOAK=2 python -m pytest -p tests.soak_sample -m "" --sample-seed 7

`tools/soak.py --sample` runs this as part of `make test`, so that soak tests cannot rot unnoticed.
Modules and tests are ranked by a digest of the seed and their names: the same seed chooses the same
tests, and a new test changes the choice of its own module only. No test begins after the budget of
time is spent, except that one test of each kind is played whatever the time.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import blake2b
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import pytest

TESTS = Path(__file__).parent
MODULES_PER_KIND = 2
TESTS_PER_MODULE = 2
BEGAN = time.monotonic()
SPENT = "the time of the sample is spent"

# Where node ids begin that the sample leaves to `make soak`, and why. What is chosen may take some
# three seconds of CPU, or some six on the clock, at HEADGATE_SOAK=2.
LEFT_TO_SOAK = {
    "house/test_release.py": "builds every archive twice",
    "realtime/test_gateway": "measures, and needs the machine for itself",
    "realtime/test_leases.py": "takes 5 s",
    "realtime/test_outages.py::test_an_outage_shows": "takes 5 s",
    "realtime/test_overload.py": "measures, and needs the machine for itself",
    "realtime/test_pacing.py": "measures, and needs the machine for itself",
    "realtime/test_permits.py::test_what_a_killed_process_held": "takes 5 s",
    "realtime/test_quotas.py": "takes 5 s",
    "realtime/test_realtime.py": "measures, and needs the machine for itself",
    "realtime/test_reload.py": "takes 12 s",
    "realtime/test_workers.py": "takes 15 s",
    "realtime/test_permits.py::test_processes_that_are_killed_all_the_time": "takes 70 s",
    "replay/test_truth.py": "reads two million lines",
    "rules/model/test_sweep.py::test_every_way_to_break_a_file": "takes 5 s of CPU",
}


class Kind(NamedTuple):
    """One difference between `make soak` and `make test`: where it occurs, and in which tests."""

    name: str
    source: re.Pattern[str]
    includes: Callable[[pytest.Item], bool]


KINDS = (
    Kind(
        "hypothesis examples",
        re.compile(r"^from hypothesis", re.MULTILINE),
        lambda item: getattr(getattr(item, "obj", None), "is_hypothesis_test", False),
    ),
    Kind("longer traces", re.compile(r"\bscale: int\b"), lambda item: "scale" in fixtures(item)),
    Kind("larger sizes", re.compile(r"^from tests\.conftest import .*SCALE", re.MULTILINE), bool),
    Kind("all combinations", re.compile(r"^from tests\.pairs import", re.MULTILINE), bool),
    Kind(
        "marked soak",
        re.compile(r"\bmark\.soak\b"),
        lambda item: item.get_closest_marker("soak") is not None,
    ),
    Kind(
        "marked realtime",
        re.compile(r"\bmark\.realtime\b"),
        lambda item: item.get_closest_marker("realtime") is not None,
    ),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("soak sample")
    group.addoption("--sample-seed", type=int, default=1, help="which tests are chosen")
    group.addoption("--sample-budget", type=float, default=12.0, help="seconds, then none begins")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Collect the chosen modules only: collecting all of them takes longer than the sample."""
    sample = Sample(config.getoption("--sample-seed"), config.getoption("--sample-budget"))
    config.pluginmanager.register(sample, "headgate-soak-sample")
    config.args = sorted({str(path) for paths in sample.modules.values() for path in paths})


class Sample:
    """The chosen tests, in an order in which the kinds take turns, and how many were played."""

    def __init__(self, seed: int, budget: float) -> None:
        self.seed = seed
        self.budget = budget
        self.modules = choose_modules(seed)
        self.kinds: dict[str, str] = {}
        self.finished: Counter[str] = Counter()
        self.left_out = 0

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Keep the chosen tests, the kinds in turns."""
        chosen = dict(self.choose_tests(items))
        self.kinds = {item.nodeid: kind for item, kind in chosen.items()}
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = [*chosen]

    def choose_tests(self, items: list[pytest.Item]) -> Iterator[tuple[pytest.Item, str]]:
        """The chosen tests with their kinds: one test of each kind, then the next ones."""
        taken: set[str] = set()
        for turn in zip_longest(*(self.fitting_tests(kind, items) for kind in KINDS)):
            for kind, item in zip(KINDS, turn, strict=True):
                if item is not None and item.nodeid not in taken:
                    taken.add(item.nodeid)
                    yield item, kind.name

    def fitting_tests(self, kind: Kind, items: list[pytest.Item]) -> list[pytest.Item]:
        """Tests of one kind: the first of each of its modules, then the second ones."""
        fitting = [
            sorted(
                (item for item in items if item.path == path and is_fitting(kind, item)),
                key=lambda item: rank(self.seed, item.nodeid),
            )[:TESTS_PER_MODULE]
            for path in self.modules[kind.name]
        ]
        return [item for turn in zip_longest(*fitting) for item in turn if item is not None]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Leave the test out if the budget is spent and its kind has been played."""
        if time.monotonic() - BEGAN > self.budget and self.finished[self.kinds[item.nodeid]]:
            self.left_out += 1
            pytest.skip(SPENT)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count the tests that were played, and those that this machine cannot play."""
        if report.when == "call" or (report.skipped and SPENT not in str(report.longrepr)):
            self.finished[self.kinds[report.nodeid]] += 1

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail if a kind had no test: then the sample proves nothing about it."""
        if self.missing() and session.exitstatus in (pytest.ExitCode.OK, 5):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say what was played, and how to play it again."""
        counts = ", ".join(f"{kind.name} {self.finished[kind.name]}" for kind in KINDS)
        terminalreporter.write_line(
            f"soak sample: seed {self.seed}, {time.monotonic() - BEGAN:.0f} s: {counts}; "
            f"left out for lack of time: {self.left_out}"
        )
        for name in self.missing():
            terminalreporter.write_line(f'soak sample: no test of the kind "{name}" was played')

    def missing(self) -> list[str]:
        return [kind.name for kind in KINDS if not self.finished[kind.name]]


def choose_modules(seed: int) -> dict[str, list[Path]]:
    """For each kind some modules, in order of their rank."""
    paths = [path for path in TESTS.rglob("test_*.py") if not is_left_to_soak(name(path))]
    ranked = sorted(paths, key=lambda path: rank(seed, name(path)))
    texts = {path: path.read_text() for path in ranked}
    return {
        kind.name: [path for path in ranked if kind.source.search(texts[path])][:MODULES_PER_KIND]
        for kind in KINDS
    }


def is_fitting(kind: Kind, item: pytest.Item) -> bool:
    """Whether a test is of that kind, and short enough."""
    return kind.includes(item) and not is_left_to_soak(item.nodeid.removeprefix("tests/"))


def is_left_to_soak(named: str) -> bool:
    """Whether a module or a test is one that the sample does not play."""
    return named.startswith(tuple(LEFT_TO_SOAK))


def name(path: Path) -> str:
    """A module as it is named from this folder."""
    return path.relative_to(TESTS).as_posix()


def rank(seed: int, named: str) -> bytes:
    """Where something stands among others, for one seed."""
    return blake2b(f"{seed} {named}".encode(), digest_size=8).digest()


def fixtures(item: pytest.Item) -> list[str]:
    """The names of the fixtures that a test asks for."""
    return getattr(item, "fixturenames", [])
