"""Rules on Redis: put up once, read by all, and no worse than before when there is no server."""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from headgate.clock import ManualClock
from headgate.errors import RulesError, StoreUnavailable
from headgate.rules.live.gatekeeper import Gatekeeper
from headgate.rules.model.rules import Rules
from headgate.rules.watch.sources import RedisRules, digest, publish
from headgate.rules.watch.watcher import Watcher
from tests.crowd import together
from tests.rules.watch.scenes import limited, version
from tests.servers.cluster import Cluster
from tests.servers.launch import Server
from tests.servers.process import launch
from tests.servers.proxy import Proxy
from tests.servers.sentinels import Sentinels
from tests.stores.redis.callers import url

OLD, NEW, BAD = limited("5/min"), limited("7/min"), limited("7/sex")
KEY = "headgate:1:rules:{default}"


class Site:
    """A gatekeeper by rules on a server, and its watcher, which nobody has started."""

    def __init__(self, where: str, text: str = OLD, cache: str | Path = "") -> None:
        self.url = where
        publish(text, where, form="json")
        self.source = RedisRules(where, cache=cache)
        self.keeper = Gatekeeper(self.source.load())
        self.watcher = Watcher(self.keeper, self.source, clock=ManualClock())
        self.watcher.look()

    def publish(self, text: str) -> int:
        """Put another text up."""
        return publish(text, self.url, form="json")

    def problems(self) -> list[str]:
        """What is wrong after one more look."""
        self.watcher.look()
        return [str(problem) for problem in self.watcher.status.problems]


def test_what_is_published_is_read_as_it_was(server: Server) -> None:
    site = Site(server.url)

    assert site.keeper.rules == Rules.read(OLD, "json")
    seal = digest(OLD.encode(), "json")
    assert posted(server) == {"version": "1", "text": OLD, "form": "json", "digest": seal}


def posted(server: Server) -> dict[str, str]:
    """What stands on the board."""
    fields = server.ask("HGETALL", KEY)
    return dict(zip(fields[::2], fields[1::2], strict=True))


def test_a_fleet_changes_with_its_next_look(server: Server) -> None:
    first = Site(server.url)
    second = Site(server.url)
    number = first.publish(NEW)

    assert number == 2
    assert [site.watcher.look() for site in (first, second)] == [True, True]
    assert {site.keeper.version for site in (first, second)} == {version(NEW)}
    assert [site.watcher.look() for site in (first, second)] == [False, False]


def test_a_rollback_is_the_old_text_published_again(server: Server) -> None:
    site = Site(server.url)
    seen: list[Any] = []
    for text in [NEW, OLD, NEW]:
        seen.append(site.publish(text))
        site.watcher.look()
        seen.append(site.keeper.version)

    assert seen == [2, version(NEW), 3, version(OLD), 4, version(NEW)]


def test_what_stands_there_already_is_not_put_up_again(server: Server) -> None:
    site = Site(server.url)

    assert [site.publish(OLD), site.publish(OLD)] == [1, 1]
    # The same bytes mean something else in another format.
    assert publish(OLD, server.url) == 2


@pytest.mark.parametrize("form", ["json", "yaml"])
@pytest.mark.parametrize("text", [OLD, OLD.encode()])
def test_every_form_of_text_may_be_published(server: Server, form: str, text: str | bytes) -> None:
    publish(text, server.url, "web", form)

    assert RedisRules(server.url, "web").load() == Rules.read(OLD, "json")


def test_bad_rules_are_not_sent(server: Server) -> None:
    with pytest.raises(RulesError) as refusal:
        publish(BAD, server.url, form="json")

    assert str(refusal.value) == (
        "rules:1:71: rules[0].limit: "
        'rate "7/sex": unknown unit "sex" at column 3; try s, min, h or day'
    )
    assert server.ask("EXISTS", KEY) == 0


def test_names_are_apart(server: Server) -> None:
    publish(OLD, server.url, form="json")
    publish(NEW, server.url, "a name, of any kind", form="json")
    other = RedisRules(server.url, "a name, of any kind")

    assert [RedisRules(server.url).load().digest, other.load().digest] == [
        version(OLD),
        version(NEW),
    ]


def test_rules_that_were_read_are_not_sent_again(server: Server) -> None:
    text = OLD + " " * 100_000
    site = Site(server.url, text)
    before = sent(server)
    for _ in range(10):
        site.watcher.look()
    unchanged = sent(server) - before
    site.publish(NEW + " " * 100_000)
    site.watcher.look()
    changed = sent(server) - before - unchanged

    assert unchanged < 10_000
    assert changed > 100_000


def sent(server: Server) -> int:
    return int(server.info("stats")["total_net_output_bytes"])


def test_many_who_publish_at_once_leave_one_whole_text(server: Server) -> None:
    texts = [limited(f"{number}/min") for number in range(1, 9)]
    numbers = together(lambda number: publish(texts[number], server.url, form="json"), 8)
    found = posted(server)

    assert sorted(numbers) == list(range(1, 9))
    assert found["text"] == texts[numbers.index(8)]
    assert RedisRules(server.url).load().digest == version(found["text"])


BY_HAND: dict[str, tuple[list[Any], str]] = {
    "text": (
        ["HSET", KEY, "text", NEW + " "],
        "this is not what was published, by its digest; use publish to change it",
    ),
    "format": (
        ["HSET", KEY, "form", "toml"],
        "this is not what was published, by its digest; use publish to change it",
    ),
    "bytes": (
        ["HSET", KEY, "digest", b"\xff\xfe" * 300],
        "this is not what was published, by its digest; use publish to change it",
    ),
    "nothing": (["DEL", KEY], "no rules are published here yet; use publish"),
}


@pytest.mark.parametrize("case", BY_HAND)
def test_what_was_written_by_hand_changes_nothing_and_is_reported(
    server: Server, case: str
) -> None:
    site = Site(server.url)
    command, wrong = BY_HAND[case]
    server.ask(*command)

    title = f"{server.url}#default"
    assert [site.problems(), site.problems()] == [[f"{title}: {wrong}"]] * 2
    assert (site.keeper.version, site.watcher.status.failures) == (version(OLD), 1)
    site.publish(NEW)
    assert (site.problems(), site.keeper.version) == ([], version(NEW))


def test_bad_rules_that_were_written_by_hand_with_their_digest_are_told_as_they_are(
    server: Server,
) -> None:
    site = Site(server.url)
    server.ask("HSET", KEY, "text", BAD, "digest", digest(BAD.encode(), "json"), "version", 7)

    assert site.problems() == [
        f"{server.url}#default:1:71: rules[0].limit: "
        'rate "7/sex": unknown unit "sex" at column 3; try s, min, h or day'
    ]
    assert site.keeper.version == version(OLD)


def test_a_key_of_another_type_is_reported(server: Server) -> None:
    site = Site(server.url)
    server.ask("DEL", KEY)
    server.ask("SET", KEY, "rules")
    (problem,) = site.problems()

    assert problem.startswith(f"{server.url}#default: 127.0.0.1:{server.port} refuses: WRONGTYPE")
    assert site.keeper.version == version(OLD)


def test_a_server_that_is_gone_changes_nothing_and_is_reported_once(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "headgate")
    site = Site(server.url)
    server.kill()
    gone = [site.problems() for _ in range(3)]
    launch(server)
    site.publish(NEW)
    back = site.problems()

    assert [len(problems) for problems in gone] == [1, 1, 1]
    assert gone[-1] == [
        f"{server.url}#default: 127.0.0.1:{server.port} cannot be reached: "
        "[Errno 111] Connection refused"
    ]
    assert (back, site.keeper.version, site.watcher.status.failures) == ([], version(NEW), 1)
    assert [record.levelname for record in caplog.records] == ["ERROR", "INFO", "INFO"]


def test_a_server_that_lost_everything_changes_nothing(server: Server) -> None:
    site = Site(server.url)
    server.restart()

    assert site.problems() == [
        f"{server.url}#default: no rules are published here yet; use publish"
    ]
    assert site.keeper.version == version(OLD)


def test_a_reply_cut_off_in_the_middle_changes_nothing(proxy: Proxy) -> None:
    site = Site(proxy.url)
    site.publish(NEW)
    proxy.cut(120)
    (problem,) = site.problems()
    proxy.heal()

    assert " broke: " in problem
    assert site.keeper.version == version(OLD)
    assert (site.problems(), site.keeper.version) == ([], version(NEW))


def test_a_process_that_starts_without_a_server_starts_with_the_last_good_rules(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "headgate")
    cache = tmp_path / "rules.cache"
    site = Site(server.url, cache=cache)
    site.publish(NEW)
    site.watcher.look()
    server.kill()
    loaded = RedisRules(server.url, cache=cache).load()

    assert loaded.digest == version(NEW)
    assert caplog.messages == [
        f"{server.url}#default: 127.0.0.1:{server.port} cannot be reached: "
        f"[Errno 111] Connection refused; begins with what {cache} has kept"
    ]


def test_the_rules_a_process_starts_with_are_kept_at_once(server: Server, tmp_path: Path) -> None:
    cache = tmp_path / "rules.cache"
    publish(OLD, server.url, form="json")
    RedisRules(server.url, cache=cache).load()

    assert cache.read_bytes().endswith(OLD.encode())


def test_a_process_that_starts_with_bad_rules_on_the_server_starts_with_the_last_good_ones(
    server: Server, tmp_path: Path
) -> None:
    cache = tmp_path / "rules.cache"
    Site(server.url, cache=cache)
    server.ask("HSET", KEY, "text", "{")

    assert RedisRules(server.url, cache=cache).load().digest == version(OLD)


def test_only_good_rules_are_kept_and_only_their_owner_can_read_them(
    server: Server, tmp_path: Path
) -> None:
    cache = tmp_path / "rules.cache"
    site = Site(server.url, cache=cache)
    before = cache.read_bytes()
    server.ask("HSET", KEY, "text", "{")
    site.watcher.look()

    assert cache.read_bytes() == before
    assert before == f"headgate rules 1 json {digest(OLD.encode(), 'json')}\n{OLD}".encode()
    assert stat.S_IMODE(cache.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["rules.cache"]


@pytest.mark.parametrize(
    "kept",
    [b"", b"\n", b"headgate rules 1 json\n{}",
     f"headgate rules 2 json {digest(OLD.encode(), 'json')}\n{OLD}".encode(),
     b"\xff" * 100,
     f"headgate rules 1 json {digest(b'{}', 'json')}\n{{}}".encode(),
     f"headgate rules 1 json {digest(OLD.encode(), 'json')}\n{OLD[:-1]}".encode()],
)  # fmt: skip
def test_a_cache_that_is_no_good_is_as_good_as_none(tmp_path: Path, kept: bytes) -> None:
    cache = tmp_path / "rules.cache"
    cache.write_bytes(kept)
    with pytest.raises(StoreUnavailable):
        RedisRules("redis://127.0.0.1:1", cache=cache).load()


@pytest.mark.parametrize("cache", ["", "nowhere/rules.cache"])
def test_without_a_cache_a_process_does_not_start_without_a_server(cache: str) -> None:
    with pytest.raises(StoreUnavailable) as refusal:
        RedisRules("redis://127.0.0.1:1", cache=cache).load()

    assert str(refusal.value) == "127.0.0.1:1 cannot be reached: [Errno 111] Connection refused"


def test_a_cache_that_cannot_be_written_is_told_and_does_no_harm(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "headgate")
    cache = tmp_path / "none" / "rules.cache"
    site = Site(server.url, cache=cache)
    site.publish(NEW)

    assert (site.watcher.look(), site.keeper.version) == (True, version(NEW))
    assert {*caplog.messages} == {f"rules are not kept in {cache}: No such file or directory"}


def test_no_secret_is_ever_told(password_server: Server) -> None:
    site = Site(password_server.url)
    password_server.ask("DEL", KEY)
    secret = password_server.url.partition("@")[0].rpartition(":")[2]

    assert secret not in f"{site.source!r} {site.watcher!r} {site.problems()}"
    assert repr(RedisRules("redis://a:b@h", "web", "c")) == (
        "RedisRules('redis://h', 'web', cache='c')"
    )


def test_a_cluster_has_a_board_too(cluster: Cluster) -> None:
    site = Site(url(cluster))
    site.publish(NEW)

    assert (site.watcher.look(), site.keeper.version) == (True, version(NEW))


def test_a_board_is_found_again_after_a_failover(sentinels: Sentinels) -> None:
    site = Site(url(sentinels))
    sentinels.kill_primary()
    sentinels.settle()
    site.problems()
    site.publish(NEW)

    assert (site.problems(), site.keeper.version) == ([], version(NEW))
