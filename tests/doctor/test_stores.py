"""Whatever is wrong with a server is found, by the check for it; a sound one passes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("hiredis")

from headgate.doctor.examine import examine
from headgate.doctor.interview import Server as Facts
from headgate.doctor.servers import judged, reached
from headgate.stores.redis.place import route
from tests.doctor.scenes import INFO, answering, found, ill, told, write
from tests.faults.impostor import Impostor
from tests.servers.cluster import Cluster
from tests.servers.launch import Server
from tests.servers.ports import Port
from tests.servers.proxy import Proxy
from tests.servers.sentinels import Sentinels

USER = ("--user", "doctor", "on", ">sesame", "resetchannels")


def test_nothing_is_found_at_a_server_that_is_well(valkey: Server, tmp_path: Path) -> None:
    file = write(tmp_path, store=valkey.patient)
    findings = [*examine(str(file))]
    keys = valkey.ask("KEYS", "headgate:1:doctor:*")

    assert found(file) == []
    assert keys == []
    assert {one.check for one in findings if one.check.startswith("store.")} == {
        "store.reach", "store.version", "store.eviction", "store.memory", "store.role",
        "store.writes", "store.clock", "store.permissions", "store.latency",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru"),
            "bad: store.eviction: PLACE: maxmemory-policy is allkeys-lru",
        ),
        (
            ("--maxmemory-policy", "volatile-ttl"),
            "doubt: store.eviction: PLACE: maxmemory-policy is volatile-ttl, though no maxmemory "
            "is set",
        ),
        (("--maxmemory", "1"), "bad: store.memory: PLACE: uses USED of 0.0 MB"),
        (
            ("--replicaof", "127.0.0.1 PORT"),
            "bad: store.role: PLACE: is a replica of 127.0.0.1:PORT",
        ),
    ],
)  # fmt: skip
def test_a_server_with_bad_settings_is_found(
    options: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    port = Port()
    given = [one.replace("PORT", str(port.number)) for one in options]
    with Server("valkey", *given) as server:
        places = {"PLACE": f"127.0.0.1:{server.port}", "PORT": str(port.number)}
        messages = found(write(tmp_path, store=server.patient))
    for word, value in places.items():
        said = said.replace(word, value)

    assert [re.sub("uses [0-9.]+ MB", "uses USED", one) for one in messages] == [said]


@pytest.mark.parametrize(
    ("rights", "rule", "said"),
    [
        ("~headgate:* +@all -eval", {}, "refuses EVAL: NOPERM"),
        ("~headgate:* +@all -evalsha -unlink", {}, "refuses EVALSHA, UNLINK: NOPERM"),
        ("~headgate:* +@all -set -zadd", {}, "refuses SET, ZADD: "),
        ("~headgate:* +@all -hset", {"concurrent": 5}, "refuses HSET: "),
        ("~other:* +@all", {}, "refuses EVAL, EVALSHA, UNLINK: NOPERM"),
    ],
)
def test_a_user_who_may_not_is_found(
    rights: str, rule: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with Server("valkey", *USER, *rights.split()) as server:
        store = f"redis://doctor:sesame@127.0.0.1:{server.port}?budget=20"
        rules = [{"name": "api", "key": "client.ip", "limit": "100/min", **rule}]
        (message,) = found(write(tmp_path, store=store, rules=rules))

    assert message.startswith(f"bad: store.permissions: 127.0.0.1:{server.port}: {said}")


def test_a_user_who_may_do_just_what_is_needed_is_well(tmp_path: Path) -> None:
    # As docs/how-to/limit-a-fleet.md has it.
    page = (Path(__file__).parents[2] / "docs/how-to/limit-a-fleet.md").read_text()
    (line,) = [one for one in page.splitlines() if one.startswith("ACL SETUSER")]
    rights = line.split()[5:]
    with Server("valkey", *USER, *rights) as server:
        file = write(tmp_path, store=f"redis://doctor:sesame@127.0.0.1:{server.port}?budget=20")
        findings = [*examine(str(file))]
        messages = found(file)

    assert messages == []
    assert [one.found for one in findings if one.check == "store.version"] == [
        "will not tell (INFO)"
    ]


@pytest.mark.parametrize(
    ("ahead", "info", "said"),
    [
        (0.0, {"redis_version": "5.0.14"}, "bad: store.version: PLACE: is Redis 5.0.14"),
        (0.0, {"redis_version": "6.0.16"}, "bad: store.version: PLACE: is Redis 6.0.16"),
        (20.0, {}, "doubt: store.clock: PLACE: is 20 s ahead of this machine"),
        (-7200.0, {}, "bad: store.clock: PLACE: is 7,200 s behind this machine"),
        (0.0, {"loading": "1"}, "bad: store.writes: PLACE: is still loading its data"),
        (0.0, {"rdb_last_bgsave_status": "err", "stuck": True},
         "bad: store.writes: PLACE: could not save its data the last time, and refuses to write"),
        (0.0, {"rdb_last_bgsave_status": "err"},
         "doubt: store.writes: PLACE: could not save its data the last time, and goes on"),
        (0.0, {"aof_last_write_status": "err", "stuck": True},
         "bad: store.writes: PLACE: could not write its log the last time, and refuses to write"),
        (0.0, {"maxmemory": "1100000"}, "doubt: store.memory: PLACE: uses 1.0 MB of 1.1 MB"),
    ],
)  # fmt: skip
def test_what_a_server_says_of_itself_is_judged(
    ahead: float, info: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with Impostor(answering(ahead, **info)) as impostor:
        place = f"127.0.0.1:{impostor.port}"
        messages = found(write(tmp_path, store=f"redis://{place}?budget=20"))

    assert messages == [said.replace("PLACE", place)]


def test_a_server_that_is_slow_is_found(valkey: Server, proxy: Proxy, tmp_path: Path) -> None:
    proxy.latency(0.01)
    (message,) = found(write(tmp_path, store=f"{proxy.url}?budget=0.005"))

    said, _, rest = message.partition(" answers in ")
    assert said == f"bad: store.latency: 127.0.0.1:{proxy.port}:"
    assert rest.endswith(", within a budget of 5.0 ms")


def test_a_server_that_is_not_there_is_found(tmp_path: Path) -> None:
    port = Port()
    store = f"redis://me:hunter2@127.0.0.1:{port.number}"

    assert found(write(tmp_path, store=store)) == [
        f"bad: store.reach: 127.0.0.1:{port.number}: cannot be reached: [Errno 111] Connection "
        "refused"
    ]


def test_a_wrong_password_is_found(password_server: Server, tmp_path: Path) -> None:
    store = f"redis://default:wrong@127.0.0.1:{password_server.port}?budget=20"
    (message,) = found(write(tmp_path, store=store))

    said = f"bad: store.reach: 127.0.0.1:{password_server.port}: refuses: WRONGPASS"
    assert message.startswith(said)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("redis://cache.example", [
            "doubt: store.tls: cache.example:6379: all keys go there in plain text",
            "doubt: store.open: cache.example:6379: lets in whoever reaches it",
        ]),
        ("redis://me:secret@cache.example", [
            "doubt: store.tls: cache.example:6379: the password and all keys go there in plain "
            "text",
        ]),
        ("rediss://me:secret@cache.example?ssl_cert_reqs=none", [
            "bad: store.tls: cache.example:6379: whoever stands between may pose as it, for "
            "ssl_cert_reqs is none",
        ]),
        ("rediss://me:secret@cache.example", []),
        ("redis://localhost", []),
        ("unix:///run/redis.sock", []),
    ],
)  # fmt: skip
def test_who_can_read_what_goes_there_is_told(url: str, said: list[str]) -> None:
    findings = reached(route(url), ())

    assert [told(one, Path("/nowhere")) for one in findings if ill(one)] == said


@pytest.mark.parametrize(
    ("state", "slots", "said"),
    [
        ("ok", "16384", []),
        ("fail", "10923",
         ["bad: store.cluster: a:1: its cluster is fail, with 10,923 of 16,384 slots served"]),
    ],
)  # fmt: skip
def test_a_cluster_that_is_not_whole_is_found(state: str, slots: str, said: list[str]) -> None:
    facts = Facts("a:1", info=INFO, cluster={"cluster_state": state, "cluster_slots_ok": slots})

    assert [told(one, Path("/nowhere")) for one in judged(facts, 0.05) if ill(one)] == said


def test_a_primary_without_a_replica_is_found() -> None:
    lone = {**INFO, "connected_slaves": "0"}
    servers = [Facts("a:1", info=INFO), Facts("b:1", info=lone)]
    findings = reached(route("redis+cluster://localhost"), servers)

    assert [told(one, Path("/nowhere")) for one in findings] == [
        "doubt: store.failover: cluster: b:1 has no replica"
    ]


def test_every_primary_of_a_cluster_is_asked(cluster: Cluster, tmp_path: Path) -> None:
    store = f"redis+cluster://127.0.0.1:{cluster.ports[0]}?budget=20"
    findings = [*examine(str(write(tmp_path, store=store)))]

    assert found(tmp_path / "rules.json") == []
    assert sorted(one.where for one in findings if one.check == "store.cluster") == sorted(
        f"127.0.0.1:{node.port}" for node in cluster.primaries()
    )


def test_the_primary_that_sentinels_name_is_asked(sentinels: Sentinels, tmp_path: Path) -> None:
    store = f"redis+sentinel://127.0.0.1:{sentinels.ports[0]}/{{}}?budget=20"
    name = sentinels.charter(sentinels.sentinels[0]).split("sentinel monitor ")[1].split()[0]
    file = write(tmp_path, store=store.format(name))
    findings = [*examine(str(file))]

    assert found(file) == []
    assert [one.where for one in findings if one.check == "store.role"] == [
        f"127.0.0.1:{sentinels.primary().port}"
    ]


def test_a_primary_that_no_sentinel_knows_is_found(sentinels: Sentinels, tmp_path: Path) -> None:
    port = sentinels.ports[0]
    store = f"redis+sentinel://127.0.0.1:{port}/nobody"

    assert found(write(tmp_path, store=store)) == [
        f"bad: store.reach: {store}: 127.0.0.1:{port}: knows nothing of nobody"
    ]
