"""The feed: pages that are open hear of everything, and those that cannot keep up are let go."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from headgate.rules.model.place import listening
from headgate.workers import feed as module
from headgate.workers.admin import Admin
from headgate.workers.doors import doors
from headgate.workers.feed import event
from tests.workers.test_admin import BEARER, NEAR, TOKEN, Office, reading, request


class Page:
    """A page that is open, in the loop of its admin."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.head = ""

    @classmethod
    async def open(cls, admin: Admin, *headers: str, target: str = "/events") -> Page:
        host, _, port = admin.door.place.partition(":")
        page = cls(*await asyncio.open_connection(host, int(port), limit=1 << 24))
        page.writer.write(request(f"GET {target}", NEAR, BEARER, *headers))
        page.head = (await page.reader.readuntil(b"\r\n\r\n")).decode()
        return page

    async def hear(self) -> tuple[str, str, Any]:
        """The next event: its name, its mark and its data."""
        async with asyncio.timeout(20):
            while True:
                text = (await self.reader.readuntil(b"\n\n")).decode()
                said = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
                if "event" in said:
                    return said["event"], said.get("id", ""), json.loads(said["data"])

    def close(self) -> None:
        self.writer.close()


class Opened:
    """An admin that beats when it is told to."""

    async def __aenter__(self) -> Admin:
        (door,) = doors([("127.0.0.1:0", listening("127.0.0.1:0"))], 1, ())
        self.admin = Admin(door, TOKEN, Office())
        await self.admin.open()
        assert self.admin._looking is not None
        self.admin._looking.cancel()
        return self.admin

    async def __aexit__(self, *_: object) -> None:
        self.admin.close()


def at(seconds: float) -> Any:
    return {**reading(), "at": seconds}


def test_a_page_hears_what_was_and_then_what_is() -> None:
    async def converse() -> None:
        async with Opened() as admin:
            admin.feed.beat(at(1.0))
            admin.feed.beat(at(2.0))
            page = await Page.open(admin)
            name, _, past = await page.hear()
            assert (name, [one["n"] for one in past["points"]]) == ("history", [1])
            _, mark, now = await page.hear()
            assert (mark, now["reading"]["at"]) == (f"{past['mark']}-1", 2.0)

            admin.feed.beat(at(3.0))

            _, mark, now = await page.hear()
            assert (mark, now["point"]["n"]) == (f"{past['mark']}-2", 2)
            page.close()

    asyncio.run(converse())


@pytest.mark.parametrize("way", ["header", "target"])
def test_a_page_that_comes_back_is_told_only_what_it_has_missed(way: str) -> None:
    async def converse() -> None:
        async with Opened() as admin:
            for second in range(5):
                admin.feed.beat(at(float(second)))
            mark = f"{admin.feed.ring.mark}-2"
            known = f"Last-Event-ID: {mark}" if way == "header" else "X: y"
            page = await Page.open(
                admin, known, target="/events" if way == "header" else f"/events?since={mark}"
            )

            _, _, past = await page.hear()

            assert [one["n"] for one in past["points"]] == [3, 4]
            assert "content-type: text/event-stream\r\n" in page.head
            page.close()

    asyncio.run(converse())


def test_only_so_many_pages_may_be_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 1)

    async def converse() -> None:
        async with Opened() as admin:
            first = await Page.open(admin)
            await first.hear()
            second = await Page.open(admin)
            assert second.head.startswith("HTTP/1.1 503 ")
            assert "retry-after: 5\r\n" in second.head
            first.close()
            while admin.feed.full:
                await asyncio.sleep(0)
            third = await Page.open(admin)
            assert third.head.startswith("HTTP/1.1 200 ")
            third.close()
            second.close()

    asyncio.run(converse())


def test_a_page_that_takes_nothing_in_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BEHIND", 1 << 16)

    async def converse() -> None:
        async with Opened() as admin:
            page = await Page.open(admin)
            page.writer.transport.pause_reading()  # type: ignore[attr-defined]
            much = at(1.0)
            much["version"] = "x" * 500_000
            for _ in range(100):
                admin.feed.beat(much)
                if not admin.feed._writers:
                    break
            assert not admin.feed._writers
            page.writer.transport.abort()

    asyncio.run(converse())


def test_pages_are_let_go_when_the_admin_closes_and_none_comes_in_any_more() -> None:
    async def converse() -> None:
        async with Opened() as admin:
            page = await Page.open(admin)
            await page.hear()

            admin.close()

            async with asyncio.timeout(20):
                assert await page.reader.read() == b""
            assert admin.feed.full
            page.close()

    asyncio.run(converse())


def test_what_is_no_number_is_null_and_what_strangers_wrote_stays_on_its_line() -> None:
    said = event("beat", {"wait": float("inf"), "key": "a\nevent: evil\n\n"}, "x-1")

    assert said == (
        b'id: x-1\nevent: beat\ndata: {"wait": null, "key": "a\\nevent: evil\\n\\n"}\n\n'
    )
