"""What real servers say when they refuse and what it is called; and doors that stay shut."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from headgate import ManualClock, StoreUnavailable, TokenBucket
from tests.faults.caller import COLOURS, MODES, Caller
from tests.faults.scenes import AMPLE, OWNER, SCENES, Bench, Scene
from tests.servers.fixtures import running
from tests.servers.launch import Server
from tests.servers.proxy import Proxy

LIMIT = TokenBucket("20 per 1000day")
SAID = ("full", "readonly", "loading", "busy", "locked", "forbidden")


@pytest.fixture(scope="module")
def redis_bench_process() -> Iterator[Server]:
    yield from running(lambda: Server("redis", "--requirepass", OWNER.password, login=OWNER))


@pytest.fixture
def redis_bench(redis_bench_process: Server) -> Iterator[Bench]:
    """The bench, with a Redis on it."""
    redis_bench_process.heal()
    with Proxy(redis_bench_process.port) as proxy:
        yield Bench(redis_bench_process, proxy)


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize(
    "scene", [one for one in SCENES if one.title in SAID], ids=lambda scene: scene.title
)
def test_redis_is_understood_like_valkey(
    scene: Scene, colour: str, redis_bench: Bench, hire: Callable[..., Caller]
) -> None:
    url = redis_bench.url
    caller = hire(colour, LIMIT, url=url, mode="raise", budget=AMPLE, clock=ManualClock())
    caller.take()

    with scene.play(redis_bench):
        calls = [caller.take() for _ in range(3)]

    assert isinstance(calls[-1].problem, StoreUnavailable)
    assert calls[-1].problem.kind == scene.kinds[0]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("colour", COLOURS)
def test_a_door_at_which_nobody_opens_is_not_waited_at_for_long(
    colour: str, mode: str, hire: Callable[..., Caller]
) -> None:
    with ExitStack() as stack:
        caller = hire(colour, LIMIT, url=shut(stack), mode=mode, clock=ManualClock())
        calls = [caller.take() for _ in range(4)]

    assert [call.without for call in calls] == [True] * 4
    assert {getattr(call.problem, "kind", "") for call in calls} == (
        {"connection"} if mode == "raise" else {""}
    )


def shut(stack: ExitStack) -> str:
    """The address of a port whose queue is full: Linux then drops who knocks, and says nothing."""
    door = stack.enter_context(socket.socket())
    door.bind(("127.0.0.1", 0))
    door.listen(0)
    for _ in range(4):
        queued = stack.enter_context(socket.socket())
        queued.setblocking(False)
        queued.connect_ex(door.getsockname())
    return f"redis://127.0.0.1:{door.getsockname()[1]}"
