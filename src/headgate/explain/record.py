"""Record: what is written of a refusal, so that one can tell afterwards why.

It is plain data, and bounded. A key may be what a client keeps to itself, so it is written as a
digest unless it is made of nothing but what the record says anyway, or the rules ask for it. The
digest is keyed by what names this boot of the machine: all workers write the same one for a key,
and who finds a log elsewhere cannot try names until one fits.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from hashlib import blake2b
from math import inf
from typing import Any

from headgate.decision import ENDLESS
from headgate.rules.live.entry import Entry, Pass, Refusal
from headgate.rules.matching.facts import Fact, composer, template
from headgate.rules.matching.request import Request
from headgate.rules.model.store import masked

BOOT = "/proc/sys/kernel/random/boot_id"
# What a record says of every request.
SAID = ("client.ip", "method", "host", "path")
# Nobody needs more of a path, and nobody shall write books into a log.
LONGEST = 200
# So many rules in shadow are named.
MOST = 10


def record(request: Any, entry: Entry, status: int, store: str, plain: bool) -> dict[str, Any]:
    """What there is to say of a refusal; `plain` writes keys as they are."""
    refusal: Any = entry.refusal
    wait = refusal.retry_after
    return {
        "rule": refusal.rule.name,
        "kind": refusal.kind,
        "status": status,
        "client": request.address,
        "method": request.method,
        "host": request.host[:LONGEST],
        "path": request.path[:LONGEST],
        "retry_after": round(wait, 3) if wait < inf else None,
        "version": entry.version,
        **counted(request, entry, refusal, plain),
        "waited": round(entry.waited, 3) if refusal.cause is not None else 0.0,
        "shadowed": [rule.name for rule in entry.shadowed][:MOST],
        "store": masked(store),
    }


def counted(request: Any, entry: Entry, refusal: Refusal, plain: bool) -> dict[str, Any]:
    """Who was counted, under which limit, and how it stood when the answer was no."""
    rule = refusal.rule
    found = [one for one in entry.passes if one.ruling.rule is rule]
    one = found[0] if found else None
    key = keyed(rule, request) if one is None else one.key
    word = "key" if plain or known(rule) else "key_hash"
    return {
        "reason": reason(refusal, one),
        "policy": refusal.policy,
        "key_source": ", ".join(rule.key),
        word: key if word == "key" else digest(key),
        "terms": chosen(request, one, key),
        **numbers(refusal, one),
    }


def reason(refusal: Refusal, one: Pass | None) -> str:
    """Why, in a word: what a decision calls it, what had no room, or the kind itself."""
    if refusal.cause is not None:
        return refusal.cause.reason
    if refusal.kind in ("limit", "unavailable") and one is not None:
        return one.decision.reason or refusal.kind
    return refusal.kind


def numbers(refusal: Refusal, one: Pass | None) -> dict[str, Any]:
    """What was asked, what there was, and when there is all of it again."""
    cause = refusal.cause
    if cause is not None:
        bound = None if cause.what == "breaker" else cause.bound
        left = 0 if cause.what in ("places", "adaptive") else None
        return {"full": cause.what, **quantities(None, bound, left, None), "degraded": False}
    if one is None or refusal.kind not in ("limit", "unavailable"):
        return {"full": "", **quantities(None, None, None, None), "degraded": False}
    decision = one.decision
    if refusal.kind == "unavailable" or decision.limit >= ENDLESS:
        said = quantities(one.cost, None, None, None)
    else:
        reset = round(decision.reset_after, 3)
        said = quantities(one.cost, decision.limit, decision.remaining, reset)
    return {"full": "", **said, "degraded": decision.degraded}


def quantities(
    cost: int | None, limit: int | None, remaining: int | None, reset: float | None
) -> dict[str, Any]:
    """What was asked, of how much, how much was left, and the seconds until all of it is."""
    return {"cost": cost, "limit": limit, "remaining": remaining, "reset": reset}


def chosen(request: Any, one: Pass | None, key: str) -> str:
    """Whether this key has terms of its own, or those of a plan."""
    if one is None:
        return ""
    ruling = one.ruling
    plan = request.plan if ruling.plans else ""
    _, name = ruling.terms(plan, key)
    if name.startswith("@plan:"):
        return f"plan {plan}"
    return "override" if name else ""


def keyed(rule: Any, request: Request) -> str:
    """The key of a request under a rule; nothing if all are counted together, or it has none."""
    return maker(tuple(rule.key), tuple(rule.match.paths))(request) if rule.key else ""


@lru_cache(1000)
def maker(parts: Sequence[str], paths: Sequence[str]) -> Callable[[Request], str]:
    """What makes keys of these facts."""
    return composer(parts, paths)


def known(rule: Any) -> bool:
    """Whether the key is made of nothing but what is written anyway."""
    return all(str(fact) in SAID for fact in facts(tuple(rule.key)))


@lru_cache(1000)
def facts(key: Sequence[str]) -> tuple[Fact, ...]:
    """The facts that a key is made of."""
    return tuple(piece for part in key for piece in template(part) if isinstance(piece, Fact))


def digest(key: str) -> str:
    """What stands for a key that is not told; nothing for none."""
    if not key:
        return ""
    return blake2b(key.encode("utf-8", "surrogatepass"), key=salt(), digest_size=8).hexdigest()


@cache
def salt() -> bytes:
    """What the digests of this machine are keyed by, until it starts again."""
    try:
        with open(BOOT, "rb") as file:
            return file.read(64).strip()
    except OSError:
        return secrets.token_bytes(32)
