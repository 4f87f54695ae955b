"""Whether to send a service anything: what is asked for that, and how often."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from headgate import ManualClock
from headgate.measures import MILLION
from headgate.rules.live.gatekeeper import AsyncGatekeeper
from headgate.service.callers import Callers
from headgate.service.hall import Hall
from headgate.service.readiness import Readiness, Standing
from headgate.service.teller import Teller
from headgate.wire.house import House
from tests.servers.launch import Server
from tests.service.http.staging import API, plan


def hall(url: str) -> Hall:
    """A hall in this loop, whose rules count there."""
    keeper = AsyncGatekeeper(plan(API), url, ManualClock(1_000_000.0))
    found = Hall(keeper, Teller(keeper), Callers({}), House())
    found.loop = asyncio.get_running_loop()
    return found


async def told(readiness: Readiness) -> Standing:
    answer: Any = readiness()
    return answer if isinstance(answer, Standing) else await answer


@pytest.mark.parametrize("url", ["memory://", "shared://readiness"])
def test_a_store_at_hand_is_always_there(url: str) -> None:
    async def main() -> None:
        place = hall(url)
        assert isinstance(Readiness(place)(), Standing)
        assert Readiness(place)()
        await place.keeper.close()

    asyncio.run(main())


def test_who_is_leaving_is_not_ready() -> None:
    async def main() -> None:
        place = hall("memory://")
        place.retire()
        standing = await told(Readiness(place))
        assert (bool(standing), standing.problem) == (False, "The service is draining.")

    asyncio.run(main())


def scripts(server: Server) -> int:
    """How often a server was asked for a script."""
    said = server.info("commandstats")
    found = [said.get(f"cmdstat_{verb}", "calls=0,") for verb in ("fcall", "evalsha", "eval")]
    return sum(int(one.removeprefix("calls=").partition(",")[0]) for one in found)


def test_however_many_want_to_know_a_server_is_asked_once_a_second(valkey: Server) -> None:
    async def main() -> None:
        place = hall(valkey.url)
        readiness = Readiness(place)
        assert all(await asyncio.gather(*[told(readiness) for _ in range(50)]))
        first = scripts(valkey)
        for _ in range(50):
            assert await told(readiness)
        place.house.now += MILLION
        assert await told(readiness)

        # One of them may be a sign of life.
        assert 1 <= scripts(valkey) - first <= 2
        await place.keeper.close()

    asyncio.run(main())


def test_who_no_longer_waits_does_not_keep_others_from_knowing(valkey: Server) -> None:
    async def main() -> None:
        place = hall(valkey.url)
        readiness = Readiness(place)
        first = asyncio.ensure_future(told(readiness))
        second = asyncio.ensure_future(told(readiness))
        await asyncio.sleep(0)
        first.cancel()

        assert await second
        await place.keeper.close()

    asyncio.run(main())


def test_a_server_that_is_not_there_is_named_without_its_secrets(valkey: Server) -> None:
    valkey.kill()

    async def main() -> None:
        place = hall(f"redis://user:secret@127.0.0.1:{valkey.port}")
        standing = await told(Readiness(place))
        said = f"The store redis://***@127.0.0.1:{valkey.port} does not answer."
        assert standing.problem == said
        await place.keeper.close()

    asyncio.run(main())


def test_what_is_found_out_holds_for_the_store_that_was_asked(valkey: Server) -> None:
    valkey.kill()

    async def main() -> None:
        place = hall(valkey.url)
        readiness = Readiness(place)
        assert not await told(readiness)
        place.keeper.lodge._store = ""
        place.keeper.change(plan(API))

        assert await told(readiness)
        await place.keeper.close()

    asyncio.run(main())
