"""Setups that are sound, and the pieces of which unsound ones are made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from headgate.clock import SystemClock
from headgate.doctor.examine import examine
from headgate.doctor.finding import BAD, DOUBT, Finding
from headgate.doctor.machine import Machine
from tests.faults.impostor import bulk

FIT = Machine(True, True, 1 << 20, 1 << 34, "tmpfs", lambda name: True)
RULE = {"name": "api", "key": "client.ip", "limit": "100/min"}
GATEWAY = {"listen": "127.0.0.1:8080", "routes": [{"upstream": "http://127.0.0.1:9000"}]}
PROXY = {"trusted_proxies": ["127.0.0.1"]}
# What a Redis that is well says of itself.
INFO = {
    "redis_version": "7.2.4", "maxmemory": "0", "maxmemory_policy": "noeviction",
    "used_memory": "1000000", "role": "master", "loading": "0", "rdb_last_bgsave_status": "ok",
    "aof_last_write_status": "ok", "connected_slaves": "1", "cluster_enabled": "0",
}  # fmt: skip


def write(folder: Path, **said: Any) -> Path:
    """A rule file that says this, which only its owner reads."""
    file = folder / "rules.json"
    file.write_text(json.dumps({"version": 1, "rules": [RULE], **said}, indent=1))
    file.chmod(0o600)
    return file


def found(file: Path, machine: Machine = FIT, store: str = "") -> list[str]:
    """What is not well, in the words of each finding, but for what it always says."""
    return [told(one, file) for one in examine(str(file), store, machine) if ill(one)]


def ill(one: Finding) -> bool:
    return one.verdict in (DOUBT, BAD)


def told(one: Finding, file: Path) -> str:
    at = f"{one.where.replace(str(file), 'FILE')}: " if one.where else ""
    return f"{one.verdict}: {one.check}: {at}{one.found}".replace(str(file), "FILE")


def answering(ahead: float = 0.0, stuck: bool = False, **info: str) -> Any:
    """The answers of an impostor that says this of itself, with a clock that is ahead.

    One that is `stuck` cannot save, and refuses to write.
    """
    written = b"*1\r\n" + bulk(b"SET MISCONF unable to persist to disk") if stuck else b"*0\r\n"

    def answer(words: list[bytes]) -> bytes:
        word = words[0].upper()
        if word == b"INFO":
            said = {**INFO, **info}
            return bulk("".join(f"{name}:{value}\r\n" for name, value in said.items()).encode())
        if word == b"TIME":
            now = SystemClock().now() + round(ahead * 1e6)
            return b"*2\r\n" + bulk(b"%d" % (now // 1_000_000)) + bulk(b"%d" % (now % 1_000_000))
        simple = {
            b"PING": b"+PONG\r\n", b"EVAL": written, b"EVALSHA": b"-NOSCRIPT none\r\n",
            b"UNLINK": b":0\r\n",
        }  # fmt: skip
        return simple.get(word, b"-ERR unknown command\r\n")

    return answer
