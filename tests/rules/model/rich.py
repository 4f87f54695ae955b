"""A rule file that uses every field of every table, and smaller ones that are good too."""

from __future__ import annotations

from typing import Any

RICH: dict[str, Any] = {
    "version": 1,
    "store": "redis://cache.example/2",
    "client": {
        "trusted_proxies": ["10.0.0.0/8", "2001:db8::/32"],
        "header": "forwarded",
        "trusted_hops": 2,
        "ipv4": 24,
        "ipv6": 56,
    },
    "headers": ["draft-11", "x-epoch"],
    "plan": "header.x-plan",
    "plans": {
        "vip": "unlimited",
        "free": {"api": "5/s burst 10", "five": 2, "files": "10KB/s"},
        "paid": {
            "api": {"limit": [{"rate": "50/s", "burst": 100}, "100000/day"]},
            "five": {"concurrent": 50},
            "files": {"bandwidth": "1MB/s"},
        },
    },
    "budget": {
        "limit": "1000/min",
        "grant": 20,
        "keys": ["a-key-of-at-least-thirty-two-bytes", "the-next-of-at-least-as-many-bytes"],
        "key": ["header.x-user", "shop:{client.ip}"],
        "plans": {"vip": "unlimited", "free": 5},
        "most": 200,
        "by": "gcra",
        "ttl": "10s",
        "skew": "500ms",
        "header": "x-funds",
        "name": "shop",
        "when_unavailable": "deny",
    },
    "service": {
        "listen": [
            {
                "address": "grpc://0.0.0.0:8443",
                "tls": {"certificate": "web.pem", "key": "web.key", "clients": "clients.pem"},
                "caller": "envoy",
            },
            "resp://unix:/run/limits.sock",
        ],
        "workers": 3,
        "admin": {"listen": "127.0.0.1:9902", "token": "a-token-of-some-length"},
        "limits": {"connections": 4000, "per_client": 50, "body": "32KB", "sets": 100},
        "timeouts": {"head": "4s", "body": "19s", "idle": "29s", "send": "39s", "drain": "14s"},
        "ratelimit": {
            "files": ["web.yaml", "mail.yaml"],
            "headers": True,
            "metadata": True,
            "shadow": True,
        },
        "callers": {
            "envoy": {"token": "a-token-of-some-length"},
            "shop": {
                "token": ["another-of-some-length", "the-next-of-some-length"],
                "rules": ["api", "five"],
                "limit": "1000/s",
            },
        },
        "secret": "a-secret-of-some-length",
    },
    "gateway": {
        "listen": [
            {
                "address": "0.0.0.0:8443",
                "tls": {"certificate": "web.pem", "key": "web.key", "clients": "clients.pem"},
                "proxy_protocol": True,
            },
            "unix:/run/web.sock",
        ],
        "workers": 4,
        "admin": {"listen": "127.0.0.1:9901", "token": "a-token-of-some-length"},
        "limits": {
            "head": "32KB",
            "lines": 50,
            "body": "1GB",
            "connections": 5000,
            "per_client": 100,
            "requests": 1000,
        },
        "timeouts": {
            "head": "5s",
            "body": "20s",
            "idle": "30s",
            "send": "40s",
            "connect": "2s",
            "answer": "50s",
            "stall": "45s",
            "total": "4min",
            "drain": "15s",
        },
        "upstreams": {
            "shop": {
                "servers": ["http://10.0.0.1:9000", "https://10.0.0.2:9443", "unix:/run/app.sock"],
                "balance": "hash",
                "key": ["header.x-user", "ip:{client.ip}"],
                "connections": 50,
                "idle": "9s",
                "health": {
                    "path": "/healthz",
                    "every": "10s",
                    "timeout": "2s",
                    "up": 3,
                    "down": 4,
                    "status": [200, "3xx"],
                },
                "breaker": {"calls": 10, "pause": "3s", "status": "5xx"},
                "retries": {"most": 2, "budget": "10%"},
                "tls": {"ca": "ca.pem", "verify": True, "name": "shop.example"},
            }
        },
        "routes": [
            {
                "name": "shop",
                "match": {"path": "/api/**"},
                "upstream": "shop",
                "host": "shop.example:9000",
                "path": {"strip": "/api", "add": "/v2"},
                "timeouts": {"connect": "1s", "answer": "5s", "stall": "6s", "total": "30s"},
                "retries": {"most": 3, "budget": "5%"},
                "upgrade": True,
                "budget": True,
            },
            {"upstream": "http://127.0.0.1:9000"},
        ],
        "audit": {"rate": "5/s", "file": "refused.log"},
    },
    "alerts": {
        "conditions": [
            {
                "name": "many-refused",
                "when": "refused",
                "rule": ["api", "five"],
                "above": "20%",
                "below": "12.5%",
                "window": "2min",
                "least": 50,
                "after": "30s",
                "calm": "1min",
                "severity": "critical",
            },
            {
                "name": "slow",
                "when": "latency",
                "route": ["shop", "http"],
                "above": "250ms",
                "below": 0.2,
                "quantile": "99.5%",
            },
            {"name": "queue", "when": "queue", "above": 50, "below": 20},
            {"name": "open", "when": "breaker", "rule": "backend"},
        ],
        "notify": {
            "webhook": [
                "https://hooks.example/services/T0/B0/x",
                {
                    "url": "http://127.0.0.1:9000/alerts?for=web",
                    "secret": "a-secret-of-some-length",
                    "token": "a-token-of-some-length",
                },
            ],
            "log": "error",
        },
        "runbooks": "https://wiki.example/runbooks",
    },
    "rules": [
        {
            "name": "banned",
            "description": "Who was asked to stay away.",
            "match": {"client.ip": ["203.0.113.0/24"], "not": {"path": "/appeal"}},
            "deny": {"status": 451, "body": "no"},
            "mode": "shadow",
            "headers": False,
        },
        {
            "name": "login",
            "match": {"method": "POST", "path": "/login"},
            "key": "client.ip",
            "limit": {"rate": "5/min", "by": "sliding_log", "name": "logins", "penalty": 1},
            "counts": {"status": [401, "5xx"]},
            "over": {"reject": {"status": 403}},
            "overrides": {"192.0.2.0/24": "unlimited", "198.51.100.0/24": "50/min"},
        },
        {
            "name": "api",
            "match": {
                "path": ["/v1/{tenant}/**", "/v2/{tenant}/**"],
                "host": "*.example.com",
                "scheme": "https",
                "header.x-beta": "1",
                "query.page": "2",
                "cookie.seen": "yes",
            },
            "when": 'size < 1000000 and not user == "root"',
            "group": "tenants",
            "key": ["user", "tenant:{path.tenant}"],
            "empty_key": "deny",
            "empty_key_status": 401,
            "limit": [
                {"rate": "20/s", "burst": 40, "initial": 10, "refill": "interval"},
                {"rate": "10000/day", "borrow": True},
            ],
            "cost": [
                {"path": "/v1/*/search", "units": 5},
                {"match": {"method": "PUT"}, "by": "body", "per": "1KB", "most": 1000000},
                2,
            ],
            "over": {"wait": {"timeout": "2s", "queue": 10, "status": 503}},
            "when_unavailable": "deny",
            "rollout": "25%",
        },
        {
            "name": "quota",
            "group": "tenants",
            "by": "fixed_window",
            "limit": [
                {"rate": "1000/day", "calendar": "day", "zone": "Europe/Paris"},
                {"rate": "100/h", "anchor": "first"},
                {"rate": "60/min", "by": "sliding_window", "parts": 6, "oldest": "whole"},
                {"rate": "10/s", "by": "warm_up", "period": "3s"},
            ],
            "over": {
                "degrade": {
                    "status": 203,
                    "headers": {"content-type": "text/plain"},
                    "body": "busy",
                    "stale": "5min",
                }
            },
        },
        {
            "name": "five",
            "key": "user",
            "concurrent": 5,
            "over": {"redirect": {"to": "/busy", "status": 303}},
        },
        {"name": "files", "match": {"path": "/files/**"}, "key": "user", "bandwidth": "100KB/s"},
        {
            "name": "overload",
            "adaptive": {
                "by": "bbr",
                "floor": 4,
                "ceiling": 400,
                "probe_every": "20s",
                "busy": 0.7,
                "window": "10s",
                "cool": "2s",
            },
        },
        {"name": "search", "adaptive": {"by": "vegas", "initial": 30}},
        {
            "name": "backend",
            "breaker": {
                "failures": 0.6,
                "calls": 30,
                "window": "20s",
                "last": 100,
                "slow": 0.9,
                "slow_after": "800ms",
                "pause": "4s",
                "longest": "2min",
                "probes": 3,
                "status": ["5xx", 429],
            },
        },
    ],
}

# What else may stand there: short forms, and words for mappings.
SMALL: dict[str, dict[str, Any]] = {
    "nothing": {"version": 1},
    "one": {"version": 1, "rules": [{"name": "all", "limit": "100/min"}]},
    "short": {
        "version": 1,
        "store": "shared://web",
        "headers": "none",
        "rules": [
            {"name": "a", "deny": True, "match": {"client.ip": "203.0.113.7"}},
            {"name": "b", "deny": 410, "match": {"path": "/old/**"}},
            {"name": "c", "breaker": True},
            {"name": "d", "adaptive": "aimd"},
            {"name": "e", "limit": "5/s", "over": "reject 503", "cost": 2},
            {"name": "f", "limit": "5/s", "over": "wait 500ms"},
            {"name": "g", "limit": "5/s", "over": "redirect /busy"},
            {"name": "h", "limit": "5/s", "over": "degrade", "counts": {"status": "4xx"}},
            {"name": "i", "limit": "unlimited", "rollout": 50},
        ],
    },
    "watched": {
        "version": 1,
        "rules": [{"name": "all", "limit": "100/min"}],
        "alerts": [{"name": "a", "when": "refused"}, {"name": "b", "when": "reload"}],
    },
    "forwarding": {
        "version": 1,
        "gateway": {
            "listen": ":8080",
            "admin": "unix:/run/admin.sock",
            "upstreams": {
                "a": "http://app",
                "b": {"servers": ["http://10.0.0.1", "http://[2001:db8::1]:81"]},
                "c": {"servers": "unix:/run/c.sock", "breaker": False, "health": "/", "retries": 0},
                "d": {"servers": "http://10.0.0.4", "breaker": {"pause": "1s"}, "idle": 0},
            },
            "routes": [
                {"match": {"path": "/a"}, "upstream": "a", "host": "keep", "upgrade": False},
                {"match": {"path": "/b"}, "upstream": "b", "host": "upstream"},
                {"match": {"path": "/c"}, "upstream": "c", "host": "a.example"},
                {"match": {"path": "/d"}, "upstream": "d", "host": "[::1]:80"},
                {"upstream": "https://a.example/"},
            ],
            "timeouts": {"stall": 0, "total": "0s", "drain": 0},
        },
    },
    "names": {
        "version": 1,
        "rules": [
            {
                "name": "a.b:c_d-1",
                "key": "user:{header.x-user}",
                "empty_key": "share",
                "limit": {"rate": "10/s", "by": "gcra", "burst": 20},
                "match": {"header.x-flag": True, "query.page": 2, "method": ["get", "PURGE"]},
                "overrides": {"user:root": {"rate": "100/s", "burst": 500}},
            }
        ],
    },
}
