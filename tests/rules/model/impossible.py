"""What is well formed and still cannot be: where it is put, where it is found, and what is said.

Each row is the way to a value of the rich file, the value put there, the way to where the problem
is told, and a piece of the message.
"""

from __future__ import annotations

from typing import Any

from tests.rules.model.forms import Path

LOGIN: Path = ("rules", 1)
API: Path = ("rules", 2)
QUOTA: Path = ("rules", 3)

Row = tuple[Path, Any, Path, str]


def here(at: Path, value: Any, said: str) -> Row:
    return at, value, at, said


LIMITS = [
    here((*LOGIN, "limit"), "5/fortnight", 'unknown unit "fortnight"'),
    here((*LOGIN, "limit"), "5/month", "{rate: 5/30day, by: fixed_window, calendar: month}"),
    here((*LOGIN, "limit"), "5 per 2 months", "try 30day"),
    here((*LOGIN, "limit"), "5/min;9/h", "several are a list: [5/min, 9/h]"),
    here((*LOGIN, "limit"), "0.5/s", "try 1 per 2s"),
    here((*LOGIN, "limit"), "5", "try 5/s or 5/min"),
    here((*LOGIN, "limit"), "/s", "expected a count"),
    here((*LOGIN, "limit"), "5/s burst", "expected a burst"),
    here((*LOGIN, "limit"), "5/s burst 0", "a burst of 0 lets nothing in"),
    here((*LOGIN, "limit"), "-5/s", "expected a count"),
    here((*LOGIN, "limit"), "1,000/s", "try 1000, 1_000 or 0.5"),
    here((*LOGIN, "limit"), "5 per 0s", "a period is 1us to 36525day"),
    here((*LOGIN, "limit"), f"{'9' * 30}/s", "the most is"),
    here((*LOGIN, "limit"), "5 requests/s", 'unknown size "requests"'),
    here(
        (*LOGIN, "limit"), ["5/s", ["6/s"]], "is a rate such as 100/min, or a mapping, not a list"
    ),
    here((*LOGIN, "limit", "rate"), "5000000/s", "use sliding_window"),
    here((*LOGIN, "limit", "rate"), "5/min burst 10", "has no burst"),
    here((*LOGIN, "limit", "burst"), 5, "is for token_bucket and gcra and leaky_bucket, not for"),
    here((*LOGIN, "limit", "parts"), 5, "is for sliding_window, not for sliding_log"),
    here((*LOGIN, "limit", "penalty"), 6, "penalty is from 0 to 5"),
    here((*LOGIN, "limit", "name"), "a b", "a name of letters, digits and _ . : -"),
    here((*API, "limit", 0, "initial"), 41, "initial is from 0 to 40"),
    here((*API, "limit", 0, "burst"), 1 << 50, "choose a smaller one"),
    here((*API, "limit", 1, "rate"), "5/s burst 7 burst 8", "unexpected"),
    here((*QUOTA, "limit", 0, "zone"), "Mars/Olympus", 'try "UTC"'),
    here((*QUOTA, "limit", 0, "anchor"), "first", "a calendar has its own anchor"),
    here((*QUOTA, "limit", 1, "zone"), "UTC", "is the zone of a calendar; say calendar: day"),
    here((*QUOTA, "limit", 2, "parts"), 7, "choose a number of parts that does"),
    here((*QUOTA, "limit", 3, "period"), "2day", "period is from 0.001 to 86400 seconds"),
    ((*API, "limit", 0, "rate"), "unlimited", (*API, "limit", 0, "burst"), "leave it out"),
    ((*API, "limit", 0, "rate"), "20/s burst 30", (*API, "limit", 0, "burst"), "say it once"),
    ((*QUOTA, "limit", 0, "rate"), "9/h", (*QUOTA, "limit", 0, "calendar"), 'write "9/day"'),
    ((*QUOTA, "by"), "gcra", (*QUOTA, "limit", 0, "calendar"), "is for fixed_window, not for gcra"),
]
FITTING = [
    here(("plans", "free", "banned"), "5/s", "has no limit, concurrent or bandwidth to change"),
    here(("plans", "free", "quota"), "5/s burst 10", "has no burst"),
    here(("plans", "free", "quota"), 5, 'is about concurrent, and rule "quota" has none'),
    here(("plans", "free", "five"), "5/s", 'is about limit, and rule "five" has none'),
    here(("plans", "free", "files"), ["5/s", "6/s"], "is about limit, and rule"),
    here(("plans", "free", "files"), {"rate": f"{1 << 49}/week"}, "choose a smaller"),
    here(("plans", "free"), "unlimted", "did you mean unlimited?"),
    here((*LOGIN, "overrides", "192.0.2.0/24"), 5, "is about concurrent"),
    here(("rules", 4, "by"), "gcra", "is about limit, and there is none"),
    here(("rules", 5, "cost"), 2, "is about limit, and there is none"),
    here(("rules", 5, "counts"), {"status": 200}, "is about limit, and there is none"),
    here(("rules", 6, "overrides"), {"x": "unlimited"}, "is about key, and there is none"),
    here(("rules", 6, "empty_key"), "share", "is about key, and there is none"),
    here(("rules", 8, "when_unavailable"), "deny", "is about limit or concurrent or bandwidth"),
    here(("rules", 0, "limit"), "5/s", "is never asked, for deny lets nobody in; leave it out"),
    here(("rules", 0, "key"), "user", "is never asked, for deny lets nobody in; leave it out"),
    here(("rules", 0, "over"), "reject 503", "is never asked, for deny lets nobody in"),
    here(("rules", 5, "bandwidth"), "0B/s", "nothing would ever be sent, so deny instead"),
    here(("rules", 5, "bandwidth"), f"{1 << 49}/week", "choose a smaller"),
    here((*API, "rollout"), "101%", "is a share such as 25%"),
    here((*API, "rollout"), "5 percent", "is a share such as 25%"),
    here((*LOGIN, "name"), "x" * 65, "at most 64 of them"),
    here((*LOGIN, "description"), "x" * 5000, "at most 4,000 characters"),
    here((*LOGIN, "deny"), False, "leave it out"),
    ((*API, "empty_key"), "allow", (*API, "empty_key_status"), "is for empty_key: deny, not allow"),
    ((*LOGIN, "name"), "api", (*API, "name"), '"api" is the name of rules[1]'),
    ((*LOGIN, "limit", "name"), "api", (*API, "name"), '"api" is the name of rules[1]'),
    ((*LOGIN, "name"), "quota:1", (*QUOTA, "name"), '"quota:1" is the name of rules[1]'),
]
ASKING = [
    here((*LOGIN, "key"), "path.id", "no {id} stands there; try /login/{id}"),
    here((*LOGIN, "key"), "user:{header.x", "a brace without the other"),
    here((*LOGIN, "key"), "user:{}", "no fact in the braces"),
    here((*LOGIN, "key"), "header.x_user", "try header.x-user"),
    here((*LOGIN, "key"), "ip", "try client.ip"),
    here((*LOGIN, "key"), "x" * 1001, "at most 1,000 characters"),
    here((*LOGIN, "match", "path.id"), "5", "no {id} stands there"),
    here((*LOGIN, "match", "path"), "login", "begins with /; try /login"),
    here((*LOGIN, "match", "path"), "/a/b**", "** stands alone between slashes"),
    here((*LOGIN, "match", "path"), "/{a}/{a}", "is there twice"),
    here((*LOGIN, "match", "path"), "/a?b=c", "match query.b instead"),
    here((*LOGIN, "match", "path"), "/x%2e", "paths are compared decoded"),
    here((*LOGIN, "match", "path"), "/x{id}", "a parameter is a whole segment"),
    here((*LOGIN, "match", "method"), "PSOT", "did you mean POST?"),
    here((*LOGIN, "match", "host"), "https://a.example/", "try a.example"),
    here((*LOGIN, "match", "header.x"), f"{'*' * 2000}", "at most 1,000 characters"),
    here((*LOGIN, "match", "client.ip"), "10.0.0.1/8", "try 10.0.0.0/8"),
    here((*LOGIN, "match", "client.ip"), "300.1.1.1", "try one such as 10.0.0.0/8"),
    here((*API, "when"), "size >> 3", "expected a text or a number"),
    here((*API, "when"), 'path.id == "5"', "no {id} stands there"),
    here((*API, "when"), "header.x-beta ==", "a text stands in quotes"),
    here((*API, "when"), "sise > 3", "try size"),
    here((*API, "when"), "(size > 3", "a parenthesis was opened"),
    here((*API, "when"), "x" * 1001, "at most 1,000"),
    here((*API, "cost", 1, "by"), "path", "is body, response.body, response.header.NAME"),
    here((*API, "cost", 1, "by"), "response.path", "is body, response.body"),
    here((*API, "cost", 1, "by"), "path.tenant", "is body, response.body"),
    here((*API, "cost", 0, "per"), 10, 'say where with "by"'),
    here((*LOGIN, "counts", "status"), 600, "is a status such as 401, or 4xx"),
    here((*LOGIN, "counts", "status"), "6xx", "is a status such as 401, or 4xx"),
]
AROUND = [
    here(("version",), 2, "is 1, the version of this form, not 2"),
    here(("store",), "reddis://host", "did you mean redis?"),
    here(("store",), "memory", "after the word comes ://"),
    here(("store",), "memory://x", "nothing follows memory://"),
    here(("store",), "shared://", "as in shared://web"),
    here(("store",), "leased+memory://", "leases are for servers"),
    here(("store",), "redis://host/x", "is not a number"),
    here(("store",), "redis://host:99999", "they go from 1 to 65535"),
    here(("store",), "redis://a,b", "redis+cluster://"),
    here(("store",), "redis+sentinel://a", "which primary?"),
    here(("store",), "rediss://host?ssl_cert_reqs=maybe", "ssl_cert_reqs is one of"),
    here(("store",), "redis://host?color=red", "unknown option 'color'"),
    here(("plan",), "path.id", "no path is matched here"),
    here(("headers",), ["none", "draft-11"], "none stands alone"),
    here(("headers",), ["x-epoch", "x-delta"], "choose one"),
    here(("headers",), ["draft-11", "draft-11"], "names a dialect twice"),
    here(("headers",), "draft-12", "did you mean draft-11?"),
    here(("client", "trusted_proxies"), ["0.0.0.0/0"], "trusts everybody"),
    here(("client", "header"), "x_real_ip", "try x-real-ip"),
    here((*API, "over"), "wait", "write wait 2s"),
    here((*API, "over"), "redirect", "write redirect /busy"),
    here((*API, "over"), "rejct", "did you mean reject?"),
    here((*API, "over"), "reject 999", "from 200 to 599"),
    here((*API, "over"), "reject later", "from 200 to 599"),
    here((*API, "over"), f"reject {'4' * 5000}", "from 200 to 599"),
    here((*API, "over"), "wait forever", "a duration such as 2s"),
    here((*API, "over"), "wait 2sec0", "a duration such as 2s"),
    here((*API, "over"), "wait 2fortnights", "a duration such as 2s"),
    here((*API, "over"), "wait 1us", "at least 1ms"),
    here((*API, "over"), "wait 99999day", "at most 36525day"),
    here((*API, "over"), "redirect busy", "is /a/path or an http address"),
    here((*API, "over"), "degrade now", "degrade with terms is a mapping"),
    here((*API, "over"), {"wait": "2s", "reject": 429}, "is one way, not 2: wait, reject"),
    here(("rules", 4, "over", "redirect", "status"), 304, "is 301, 302, 303, 307 or 308"),
    here(("rules", 4, "over", "redirect", "to"), "busy", "is /a/path or an http address"),
    here(("rules", 4, "over", "redirect", "to"), "/a\r\nx: y", "is /a/path or an http address"),
    here((*QUOTA, "over", "degrade", "headers", "x"), "a\nb", "is printable ASCII"),
    here(("rules", 7, "adaptive", "busy"), 0.5, "is for bbr, not for vegas"),
    here(("rules", 7, "adaptive", "initial"), 5000, "initial is from 2 to 1,000"),
    here(("rules", 7, "adaptive"), "vega", "did you mean vegas?"),
    here(("rules", 8, "breaker", "last"), 5, "is 30 or more"),
    here(("rules", 8, "breaker", "failures"), 50, "above 0 and up to 1"),
    (
        ("client", "header"),
        "cf-connecting-ip",
        ("client", "trusted_hops"),
        "trusted_hops is 0 or 1",
    ),
    (("rules", 6, "adaptive", "floor"), 500, ("rules", 6, "adaptive", "ceiling"), "is 500 or more"),
]
# Names that are wrong, so that the problem is told where they stand.
STRAYS = [
    here(("plans", "free", "apj"), "5/s", "there is no such rule; did you mean api?"),
    here((*API, "cost", 1, "path"), "/x", "stands beside match; put it in there"),
    here((*LOGIN, "match", "haeder.x-user"), "1", "try header.x-user"),
    here((*LOGIN, "match", "ip"), "10.0.0.1", "try client.ip"),
    here((*LOGIN, "match", "header.x_user"), "1", "try header.x-user"),
    here((*LOGIN, "match", "header."), "1", "try header.NAME"),
    here((*API, "match", "header.X-Beta"), "1", "stands twice, in capitals or not"),
    here((*API, "over", "wiat"), "1s", "did you mean wait?"),
    here((*QUOTA, "over", "degrade", "headers", "a b"), "x", "a header's name is letters"),
]
