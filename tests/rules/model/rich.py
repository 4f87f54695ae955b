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
    "gateway": {"routes": [{"match": {"path": "/**"}, "upstream": "http://127.0.0.1:9000"}]},
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
