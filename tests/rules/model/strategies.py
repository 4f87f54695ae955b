"""Good rules of all sorts, as the plain data a file would say."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Plain = dict[str, Any]

NAMES = st.text("abcdefgXYZ019_.-", min_size=1, max_size=12)
WORDS = st.text("abc xyz*?äß/:", min_size=1, max_size=10)
STATUSES = st.integers(200, 599)
PATHS = st.sampled_from(["/", "/login", "/v1/**", "/users/{id}", "/files/*.png", "/a/*/b", "/**/x"])
UNITS = st.sampled_from(["s", "min", "h", "day", "30s", "1500ms"])
DURATIONS = st.one_of(
    st.integers(1, 1000),
    st.floats(0.01, 1000),
    st.sampled_from(["2s", "500ms", "1.5min", "3 h", "10ms"]),
)
FACTS = st.sampled_from(
    ["client.ip", "user", "plan", "header.x-user", "query.q", "cookie.c", "host"]
)
WHENS = st.sampled_from(
    ['header.x-beta == "1"', "size > 1000", 'not user in ["a", "b"] or size < 5']
)
STATUS_LISTS = st.one_of(
    st.integers(100, 599), st.sampled_from(["4xx", "5xx"]), st.just([401, "5xx"])
)


def optional(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Plain]:
    """A mapping with some of these."""
    return st.fixed_dictionaries({}, optional=fields)


@st.composite
def rates(draw: st.DrawFn, burst: bool = True) -> str:
    """A rate, with a burst if it may."""
    count = draw(st.integers(1, 1000))
    plain = f"{count} per {draw(UNITS)}"
    extra = burst and draw(st.booleans())
    return f"{plain} burst {count + draw(st.integers(0, 100))}" if extra else plain


@st.composite
def allowances(draw: st.DrawFn) -> Any:
    """A limit, short or with its algorithm and options."""
    by = draw(st.sampled_from(["", "", "gcra", "fixed_window", "sliding_window", "warm_up"]))
    if not by:
        return draw(rates())
    options = {
        "gcra": optional(burst=st.integers(1, 50), penalty=st.just(1)),
        "fixed_window": optional(anchor=st.sampled_from(["clock", "first"])),
        "sliding_window": optional(parts=st.sampled_from([1, 2, 5]), oldest=st.just("whole")),
        "warm_up": optional(period=DURATIONS),
    }
    return {"rate": draw(rates(burst=False)), "by": by, **draw(options[by])}


def listed(one: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """One, or a list of some."""
    return st.one_of(one, st.lists(one, min_size=1, max_size=3))


MATCHES = optional(
    **{
        "method": listed(st.sampled_from(["GET", "post", "DELETE"])),
        "path": listed(PATHS),
        "client.ip": listed(st.sampled_from(["10.0.0.0/8", "203.0.113.7", "2001:db8::/32"])),
        "header.X-Flag": st.one_of(WORDS, st.booleans(), st.integers(-5, 5)),
        "not": st.fixed_dictionaries(
            {"host": listed(st.sampled_from(["a.example", "*.b.example"]))}
        ),
    }
).filter(bool)
COSTS = st.one_of(
    st.integers(0, 9),
    st.fixed_dictionaries({"units": st.integers(0, 9), "path": PATHS}),
    st.fixed_dictionaries(
        {"by": st.sampled_from(["body", "header.x-n", "response.body", "response.header.x-n"])},
        optional={"per": st.sampled_from([1, 10, "1KB"]), "most": st.integers(1, 10**6)},
    ),
)
OVERS = st.one_of(
    st.sampled_from(["reject", "reject 503", "wait 2s", "redirect /busy", "degrade"]),
    st.builds(lambda terms: {"reject": terms}, optional(status=STATUSES)),
    st.builds(
        lambda terms, timeout: {"wait": {**terms, "timeout": timeout}},
        optional(queue=st.integers(0, 9), status=STATUSES),
        DURATIONS,
    ),
    st.builds(
        lambda terms: {"degrade": terms},
        optional(status=STATUSES, body=WORDS, stale=DURATIONS, headers=st.just({"x-a": "b"})),
    ),
    st.builds(
        lambda status: {"redirect": {"to": "https://example.com/x?y", "status": status}},
        st.sampled_from([301, 302, 303, 307, 308]),
    ),
)
ADAPTIVES = st.one_of(
    st.sampled_from(["bbr", "vegas", "gradient", "aimd"]),
    st.builds(
        lambda by, terms: {"by": by, **terms},
        st.sampled_from(["vegas", "gradient", "aimd"]),
        optional(
            initial=st.integers(10, 90), floor=st.integers(1, 9), ceiling=st.integers(100, 999)
        ),
    ),
)
BREAKERS = st.one_of(
    st.just(True),
    optional(
        failures=st.floats(0.01, 1),
        calls=st.integers(1, 50),
        window=DURATIONS,
        last=st.integers(50, 100),
        pause=DURATIONS,
        slow_after=DURATIONS,
        status=STATUS_LISTS,
    ),
)
SERVERS = st.sampled_from(
    [
        "http://127.0.0.1:9000",
        "https://a.example",
        "unix:/run/a.sock",
        "http://[::1]",
        "http://b_c/",
    ]
)
RETRIES = st.one_of(
    st.integers(0, 10), optional(most=st.integers(0, 10), budget=st.sampled_from([5, "2.5%"]))
)
UPSTREAMS = st.one_of(
    SERVERS,
    st.fixed_dictionaries(
        {"servers": st.one_of(SERVERS, st.lists(SERVERS, min_size=1, unique=True))},
        optional={
            "connections": st.integers(0, 9),
            "idle": DURATIONS,
            "health": st.one_of(
                st.just("/up?deep=1"),
                st.fixed_dictionaries({"path": st.just("/")}, optional={"status": STATUS_LISTS}),
            ),
            "breaker": st.one_of(st.booleans(), BREAKERS),
            "retries": RETRIES,
        },
    ),
)
WAYS = {
    "match": MATCHES,
    "host": st.sampled_from(["keep", "upstream", "a.example", "A:80", "[::1]"]),
    "path": st.sampled_from([{"strip": "/a"}, {"add": "/b%20/c"}, {"strip": "/a", "add": "/b"}]),
    "timeouts": optional(answer=DURATIONS, total=st.just(0)),
    "retries": RETRIES,
    "upgrade": st.booleans(),
    "budget": st.booleans(),
}
TERMS = st.one_of(st.just("unlimited"), rates(), st.lists(rates(), min_size=1, max_size=2))


@st.composite
def rules(draw: st.DrawFn, name: str) -> Plain:
    """One rule."""
    plain: Plain = {"name": name, **draw(optional(description=WORDS, match=MATCHES, when=WHENS))}
    plain |= draw(optional(group=NAMES, mode=st.just("shadow"), headers=st.booleans()))
    deed = draw(st.sampled_from(["deny", "limit", "limit", "concurrent", "bandwidth", "else"]))
    if deed == "deny":
        return {**plain, "deny": draw(st.one_of(st.just(True), STATUSES, optional(body=WORDS)))}
    plain |= draw(optional(over=OVERS, rollout=st.one_of(st.integers(0, 100), st.floats(0, 100))))
    if deed == "else":
        return {**plain, "adaptive": draw(ADAPTIVES), "breaker": draw(BREAKERS)}
    made = {"concurrent": st.integers(1, 99), "bandwidth": st.just("100KB/s")}
    plain[deed] = draw(made[deed] if deed in made else listed(allowances()))
    plain |= draw(optional(when_unavailable=st.sampled_from(["allow", "deny"]), key=listed(FACTS)))
    if deed == "limit":
        plain |= draw(optional(cost=listed(COSTS), counts=st.builds(dict, status=STATUS_LISTS)))
    if "key" in plain and deed == "limit":
        keys = st.dictionaries(WORDS, TERMS, max_size=2)
        plain |= draw(optional(empty_key=st.sampled_from(["allow", "share"]), overrides=keys))
    return plain


@st.composite
def gateways(draw: st.DrawFn) -> Plain:
    """What a gateway does."""
    upstreams = draw(st.dictionaries(NAMES, UPSTREAMS, max_size=2))
    targets = st.one_of(SERVERS, st.sampled_from([*upstreams])) if upstreams else SERVERS
    route = st.fixed_dictionaries({"upstream": targets}, optional=WAYS)
    listeners = st.one_of(
        st.sampled_from([":80", "[::]:0", "localhost:1", "unix:/run/b.sock"]),
        st.fixed_dictionaries(
            {"address": st.just("127.0.0.1:0"), "proxy_protocol": st.booleans()},
            optional={"tls": st.just({"certificate": "a.pem", "key": "a.key"})},
        ),
    )
    plain = optional(
        listen=listed(listeners).filter(apart),
        workers=st.integers(1, 9),
        admin=st.sampled_from(["127.0.0.2:9901", {"listen": "[::1]:0", "token": ""}]),
        limits=optional(head=st.sampled_from([1000, "64KiB"]), body=st.integers(0, 10**9)),
        timeouts=optional(idle=DURATIONS, stall=st.just("0s"), drain=st.just(0)),
        audit=optional(rate=rates(), file=st.sampled_from(["-", "a b.log"])),
    )
    return {**draw(plain), "upstreams": upstreams, "routes": draw(st.lists(route, max_size=2))}


def apart(listeners: Any) -> bool:
    """Whether none of them stands there twice; those at port 0 may."""
    several = listeners if isinstance(listeners, list) else [listeners]
    fixed = [one for one in several if isinstance(one, str) and not one.endswith(":0")]
    return len({*fixed}) == len(fixed)


WATCHED = {
    "refused": optional(
        above=st.sampled_from(["20%", "12.5 %"]), least=st.integers(1, 9), after=DURATIONS
    ),
    "queue": optional(above=st.floats(1, 10**6), calm=DURATIONS),
    "latency": optional(above=DURATIONS, quantile=st.just("99.9%"), route=listed(WORDS)),
    "breaker": optional(severity=st.sampled_from(["info", "critical"])),
}


@st.composite
def alerts(draw: st.DrawFn) -> Any:
    """Of what somebody is told: a list, or a mapping with more."""
    found = []
    for name in draw(st.lists(NAMES, max_size=3, unique=True)):
        when = draw(st.sampled_from([*WATCHED]))
        found.append({"name": name, "when": when, **draw(WATCHED[when])})
    # Whatever followed its host would be printed as a secret is.
    notify = {"log": "none", "webhook": "https://hooks.example"}
    return draw(st.sampled_from([found, {"conditions": found, "notify": notify}, {}]))


@st.composite
def files(draw: st.DrawFn) -> Plain:
    """A whole file."""
    names = draw(st.lists(NAMES, max_size=4, unique_by=str.lower))
    plain: Plain = {"version": 1, "rules": [draw(rules(name)) for name in names]}
    limited = [rule["name"] for rule in plain["rules"] if "limit" in rule]
    named = st.dictionaries(st.sampled_from(limited), TERMS, max_size=2) if limited else st.just({})
    plans = st.one_of(st.just("unlimited"), named)
    top = optional(
        store=st.sampled_from(["memory://", "shared://web", "redis://h/1", "leased+redis://h"]),
        client=optional(
            trusted_proxies=listed(st.sampled_from(["10.0.0.0/8", "2001:db8::/32"])),
            trusted_hops=st.integers(0, 3),
            ipv6=st.integers(1, 128),
        ),
        headers=st.sampled_from(["none", ["draft-11", "x-delta"]]),
        plan=FACTS,
        plans=st.dictionaries(NAMES, plans, max_size=2),
        gateway=gateways(),
        alerts=alerts(),
    )
    return {**plain, **draw(top)}
