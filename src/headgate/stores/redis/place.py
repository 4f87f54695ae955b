"""Places: where a server is and how to get in, read from URLs and from users' own clients.

    redis://user:secret@host:6379/0          one server; `rediss://` with TLS, `unix:///path`
    redis+cluster://host:7000,host:7001      a cluster, known from any of its nodes
    redis+sentinel://host:26379,host:26380/name/0     the primary that sentinels watch as `name`

`valkey` may stand for `redis` in all of them. Options stand after a `?` and are called as in
redis-py; `OPTIONS` lists them.
"""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote

from headgate.errors import MissingExtra

SENTINEL = 26379
SCHEMES = {"redis": "", "rediss": "s", "redis+cluster": "", "rediss+cluster": "s",
           "redis+sentinel": "", "rediss+sentinel": "s", "unix": ""}  # fmt: skip

# What may stand after the question mark.
OPTIONS = ("budget", "db", "sentinel_password", "ssl_ca_certs", "ssl_cert_reqs", "ssl_certfile",
           "ssl_check_hostname", "ssl_keyfile")  # fmt: skip
DEMANDS = {"required": ssl.CERT_REQUIRED, "optional": ssl.CERT_OPTIONAL, "none": ssl.CERT_NONE}


@dataclass(frozen=True)
class Place:
    """A server, and what it wants to hear before it answers. Prints without its secrets."""

    host: str = "localhost"
    port: int = 6379
    path: str = ""
    db: int = 0
    username: str = ""
    password: str = ""
    provider: Any = None
    tls: ssl.SSLContext | None = None

    def at(self, host: str, port: int) -> Place:
        """Another server that one enters in the same way."""
        return replace(self, host=host, port=port, path="")

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        return self.host, self.port

    def greeting(self) -> list[tuple[bytes | str | int, ...]]:
        """The commands that open a conversation."""
        said: list[tuple[bytes | str | int, ...]] = []
        credentials = self.provider.get_credentials() if self.provider else ()
        if not credentials and (self.username or self.password):
            credentials = (self.username, self.password) if self.username else (self.password,)
        if credentials:
            said.append(("AUTH", *credentials))
        if self.db:
            said.append(("SELECT", self.db))
        return said

    def __str__(self) -> str:
        return self.path or f"{self.host}:{self.port}"

    def __repr__(self) -> str:
        return f"Place({str(self)!r})"


class Route(NamedTuple):
    """The way to a store: `single`, `cluster` or `sentinel`, and the places to begin with.

    `name` is what the sentinels call the primary, `entry` how one enters it, `budget` the seconds
    that a call may take, 0 where that is not said. `scheme` is what it is called in messages.
    """

    kind: str
    seeds: tuple[Place, ...]
    entry: Place
    name: str = ""
    budget: float = 0.0
    scheme: str = "redis"


def route(url: str) -> Route:
    """The way that a URL describes, or an error that says how one is written."""
    plain = "redis" + url[6:] if url.startswith("valkey") else url
    scheme, mark, rest = plain.partition("://")
    if not mark or scheme not in SCHEMES:
        known = ", ".join(f"{scheme}://" for scheme in SCHEMES)
        raise wrong(url, f"unknown scheme; try one of {known}")
    login, _, rest = rest.rpartition("@")
    if re.search("[/?#@]", login):
        raise wrong(url, "in a password, / ? # and @ are written %2F %3F %23 and %40")
    if "#" in rest:
        raise wrong(url, "there is nothing to say after a #")
    where, _, query = rest.partition("?")
    hosts, _, path = where.partition("/")
    options = dict(parse_qsl(query))
    for word in options:
        if word not in OPTIONS:
            raise wrong(url, f"unknown option {word!r}; known are {', '.join(OPTIONS)}")
    username, _, password = login.partition(":")
    entry = Place(username=unquote(username), password=unquote(password))
    if SCHEMES[scheme]:
        entry = replace(entry, tls=context(options, url))
    if scheme == "unix":
        db = number(options.get("db", "0"), url)
        found = single(replace(entry, path="/" + unquote(path), db=db))
    else:
        found = spread(scheme, hosts, path.strip("/"), options, entry, url)
    return (
        found._replace(budget=spendable(options["budget"], url)) if "budget" in options else found
    )


def spread(
    scheme: str, hosts: str, path: str, options: dict[str, str], entry: Place, url: str
) -> Route:
    """A route by its hosts and its path."""
    if scheme.endswith("+sentinel"):
        name, _, base = path.partition("/")
        if not name:
            raise wrong(url, "which primary? try redis+sentinel://host:26379/name")
        seeds = tuple(entry.at(*split(host, SENTINEL, url)) for host in hosts.split(","))
        watch = options.get("sentinel_password", "")
        seeds = tuple(replace(seed, username="", password=watch) for seed in seeds)
        return Route("sentinel", seeds, replace(entry, db=number(base or "0", url)), name)
    places = tuple(entry.at(*split(host, 6379, url)) for host in hosts.split(","))
    if scheme.endswith("+cluster"):
        if path or "db" in options:
            raise wrong(url, "a cluster has one database; leave the number out")
        return Route("cluster", places, entry)
    if len(places) > 1:
        raise wrong(url, "several hosts are a redis+cluster:// or redis+sentinel://")
    db = number(options.get("db", path or "0"), url)
    return single(replace(places[0], db=db))


def spendable(text: str, url: str) -> float:
    """The seconds that a call may take."""
    try:
        budget = float(text)
    except ValueError:
        budget = 0.0
    if not 0.0 < budget < 3600.0:
        raise wrong(url, f"budget is a number of seconds above 0 such as 0.2, not {text!r}")
    return budget


def single(place: Place) -> Route:
    return Route("single", (place,), place)


def split(text: str, usual: int, url: str) -> tuple[str, int]:
    """Host and port of `host`, `host:port`, `[::1]:port`."""
    host, colon, digits = text.rpartition(":")
    if not colon or digits.endswith("]"):
        host, digits = text, str(usual)
    if host.startswith("[") != host.endswith("]"):
        raise wrong(url, f"{text!r} is no address; an IPv6 one is written [::1]:6379")
    port = number(digits, url)
    if not 0 < port < 65536:
        raise wrong(url, f"{port} is no port; they go from 1 to 65535")
    return host.strip("[]") or "localhost", port


def number(text: str, url: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise wrong(url, f"{text!r} is not a number; ports and databases are")
    return int(text)


def wrong(url: str, problem: str) -> ValueError:
    """What is wrong with a URL; none of its secrets is told."""
    return ValueError(f"store {hidden(url)!r}: {problem}")


def hidden(url: str) -> str:
    """The URL without its secrets."""
    scheme, mark, rest = url.partition("://")
    if not mark:
        return url.rpartition("@")[2]
    return f"{scheme}{mark}{rest.rpartition('@')[2].partition('?')[0]}"


def context(options: dict[str, str], url: str) -> ssl.SSLContext:
    """TLS as redis-py's options say it."""
    demand = options.get("ssl_cert_reqs", "required")
    if demand not in DEMANDS:
        raise wrong(url, f"ssl_cert_reqs is one of {', '.join(DEMANDS)}, not {demand!r}")
    named = options.get("ssl_check_hostname", "true").lower() not in {"false", "0", "no"}
    try:
        made = ssl.create_default_context(cafile=options.get("ssl_ca_certs"))
        if "ssl_certfile" in options:
            made.load_cert_chain(options["ssl_certfile"], options.get("ssl_keyfile"))
    except OSError as problem:
        files = [said for word, said in options.items() if word.startswith("ssl_") and "/" in said]
        raise wrong(url, f"cannot read {' or '.join(files)}: {problem}") from None
    made.check_hostname = named and demand != "none"
    made.verify_mode = DEMANDS[demand]
    return made


def adopted(client: Any) -> Route:
    """The way to the servers of a redis-py client, sync or async, single, cluster or sentinel."""
    nodes = getattr(client, "nodes_manager", None)
    if nodes is not None:
        known = list(nodes.startup_nodes.values())
        entry = settled(getattr(client, "connection_kwargs", None) or nodes.connection_kwargs)
        return Route("cluster", tuple(entry.at(node.host, node.port) for node in known), entry)
    pool = getattr(client, "connection_pool", None)
    if pool is None:
        raise TypeError(f"a store is a URL or a redis-py client, not {client!r}")
    entry = pooled(pool)
    watch = getattr(pool, "sentinel_manager", None)
    if watch is not None:
        seeds = tuple(pooled(one.connection_pool) for one in watch.sentinels)
        return Route("sentinel", seeds, entry, str(pool.service_name))
    return single(entry)


def pooled(pool: Any) -> Place:
    """A place by the connections that a pool would make."""
    return settled({"connection_class": pool.connection_class, **pool.connection_kwargs})


def settled(options: dict[str, Any]) -> Place:
    """A place by the options of a redis-py connection."""
    kind = options.get("connection_class")
    secure = options.get("ssl") or (isinstance(kind, type) and issubclass(kind, secured()))
    return Place(
        host=options.get("host") or "localhost",
        port=int(options.get("port") or 6379),
        path=options.get("path") or "",
        db=int(options.get("db") or 0),
        username=options.get("username") or "",
        password=options.get("password") or "",
        provider=options.get("credential_provider"),
        tls=context(spelled(options), "of that client") if secure else None,
    )


def spelled(options: dict[str, Any]) -> dict[str, str]:
    """What a redis-py connection says of TLS, as a URL says it."""
    demands: dict[Any, str] = {None: "none"} | {mode: word for word, mode in DEMANDS.items()}
    demand = options.get("ssl_cert_reqs", "required")
    said = {word: options[word] for word in OPTIONS if options.get(word) is not None}
    return {word: str(value) for word, value in said.items()} | {
        "ssl_cert_reqs": demands.get(demand, str(demand))
    }


def secured() -> tuple[type, ...]:
    """The kinds of connection that redis-py has for TLS."""
    try:
        import redis.asyncio  # noqa: PLC0415 - only those who have a client of it need it
    except ImportError:
        raise MissingExtra("redis") from None
    return redis.connection.SSLConnection, redis.asyncio.connection.SSLConnection
