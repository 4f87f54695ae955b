"""Proxies that take part in the contest of gateways, and who meets whom over what."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import gateway_configs

if TYPE_CHECKING:
    from gateway_configs import Form

OURS, NGINX, ENVOY = "headgate", "nginx", "envoy"
ON_REDIS, ONE, MANY = "headgate-redis", "headgate-address", "headgate-addresses"
SERVED, REFUSED = 200, 429
ADDRESSES = 100_000
# Nobody asks a million times a second. An address asks a few times in a run, and is known for long.
AMPLE, PLENTY, SPENT = "1000000/s", "1000/min", "1/day"
# It believes what is said here about who the client is.
TRUSTING = "client: {trusted_proxies: 127.0.0.0/8}"
REAL = "set_real_ip_from 127.0.0.0/8; real_ip_header X-Forwarded-For;"


@dataclass(frozen=True)
class Proxy:
    """Somebody who stands before the files: the program, how it is told, and what it answers."""

    name: str
    program: str
    form: Form
    terms: dict[str, str] = field(default_factory=dict)
    status: int = SERVED
    # At most so many addresses are told to it in turn.
    addresses: int = ADDRESSES

    @property
    def asks(self) -> bool:
        """Whether it asks Redis for every request."""
        return self.terms.get("store", "").startswith("redis:")


@dataclass(frozen=True)
class Contest:
    """One load on several proxies, the first of which the others are held against."""

    name: str
    size: int
    proxies: tuple[str, ...]
    addresses: int = 0

    @property
    def path(self) -> str:
        """The file that is asked for."""
        return f"/{self.size}"


CONTESTS = {
    contest.name: contest
    for contest in (
        Contest("1 KB", 1024, (NGINX, "haproxy", ENVOY, OURS, ON_REDIS)),
        Contest("100 KB", 102_400, (NGINX, "haproxy", ENVOY, OURS)),
        Contest(
            "addresses", 1024, (ONE, MANY, "headgate-redis-addresses", "nginx-addresses"), ADDRESSES
        ),
        Contest("refused", 1024, ("nginx-refusing", "headgate-refusing")),
    )
}


def proxies(redis: str) -> list[Proxy]:
    """Everybody; `redis` is the address of the server that some of them ask."""
    slow = {"rate": "1r/m", "burst": "1", "client": ""}
    fast = {"rate": "1000000r/s", "burst": "1000000", "client": ""}
    return [
        Proxy(NGINX, "nginx", gateway_configs.NGINX_PROXY, fast),
        Proxy("haproxy", "haproxy", gateway_configs.HAPROXY),
        Proxy(ENVOY, "envoy", gateway_configs.ENVOY),
        _headgate(OURS, AMPLE),
        _headgate(ON_REDIS, AMPLE, store=redis),
        # Both are told of the client by a proxy: of one all the time, or of many in turn.
        replace(_headgate(ONE, AMPLE, client=TRUSTING), addresses=1),
        _headgate(MANY, PLENTY, client=TRUSTING),
        _headgate("headgate-redis-addresses", PLENTY, store=redis, client=TRUSTING),
        Proxy("nginx-addresses", "nginx", gateway_configs.NGINX_PROXY, fast | {"client": REAL}),
        Proxy("nginx-refusing", "nginx", gateway_configs.NGINX_PROXY, slow, REFUSED),
        _headgate("headgate-refusing", SPENT, status=REFUSED),
    ]


def command(program: str, config: Path) -> list[str]:
    """What is typed to start it in the foreground with one worker."""
    words = {
        "nginx": ["-e", "stderr", "-c", str(config)],
        "haproxy": ["-db", "-f", str(config)],
        "envoy": [
            *("-c", str(config), "--concurrency", "1"),
            *("--log-level", "warning", "--disable-hot-restart"),
        ],
        "headgate": ["-m", "headgate.cli", "gateway", str(config), "--workers", "1"],
    }
    return [found(program) or program, *words[program]]


def found(program: str) -> str | None:
    """Where the program is, if it is here; Headgate is where this Python is."""
    if program == "headgate":
        return sys.executable
    places = [str(Path(sys.executable).parent), os.environ.get("PATH", ""), "/usr/sbin"]
    return shutil.which(program, path=os.pathsep.join(places))


def version(program: str) -> str:
    """What the program says of itself, in a word."""
    said = subprocess.run(
        [found(program) or program, "--version" if program == "envoy" else "-v"],
        capture_output=True,
        text=True,
        check=False,
    )
    return _numbered(said.stdout + said.stderr)


def _numbered(said: str) -> str:
    # nginx/1.22.1, HAProxy version 2.6.12, envoy version: <digest>/1.40.0/Clean, wrk 4.1.0
    words = said.replace("/", " ").replace("-", " ").split()
    return next((word for word in words if word[0].isdigit() and word.count(".") == 2), "unknown")


def _headgate(
    name: str,
    limit: str,
    store: str = "memory://",
    client: str = "",
    status: int = SERVED,
) -> Proxy:
    terms = {"store": store, "client": client, "limit": limit}
    return Proxy(name, "headgate", gateway_configs.HEADGATE, terms, status)
