"""What every test may lean on: the form under test, hypothesis profiles, a clock, a scale."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

import headgate
from headgate import ManualClock

if TYPE_CHECKING:
    from tests.servers.locked import Notary

pytest_plugins = [
    "tests.servers.fixtures",
    "tests.stalls",
    "tests.stall_replay",
    "tests.faults.report",
]

FORM = "compiled" if headgate.COMPILED else "interpreted"
WANTED = os.environ.get("HEADGATE_FORM", FORM)
SCALE = int(os.environ.get("HEADGATE_SOAK", "1"))
BRIEF = os.environ.get("HEADGATE_BRIEF", "") not in {"", "0"}

settings.register_profile(
    "default",
    deadline=None,
    # A red build on somebody's unrelated change helps nobody: new examples are found at desks.
    derandomize=os.environ.get("CI") == "true",
    suppress_health_check=[HealthCheck.too_slow],
    # Making examples takes longer than trying them; `make soak` has forty times as many.
    max_examples=25,
)
settings.register_profile("brief", settings.get_profile("default"), max_examples=10)
settings.register_profile("soak", settings.get_profile("default"), max_examples=100 * SCALE)
settings.load_profile("soak" if SCALE > 1 else "brief" if BRIEF else "default")


def pytest_report_header() -> str:
    """Say which form is under test: a compiled module hides the source it was made from."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return f"headgate {headgate.__version__}, {FORM}, Python {version}"


def pytest_sessionstart() -> None:
    """Refuse to test one form in the name of the other."""
    if WANTED != FORM:
        pytest.exit(
            f"HEADGATE_FORM={WANTED}, but the headgate found at {headgate.__file__} is {FORM}",
            returncode=pytest.ExitCode.USAGE_ERROR,
        )


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep what is collected out of the garbage collector's way: it stays to the end, all of it.

    Looking through some ten thousand tests again and again took a tenth of the time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands at zero until the test moves it."""
    return ManualClock()


@pytest.fixture(scope="session")
def scale() -> int:
    """How many times as long a trace should be: 1, or 10 under `make soak`."""
    return SCALE


@pytest.fixture(scope="session")
def notary(tmp_path_factory: pytest.TempPathFactory) -> Notary:
    """An authority for TLS, whom the test may have believed or not."""
    from tests.servers.locked import Notary

    return Notary(tmp_path_factory.mktemp("notary"))
