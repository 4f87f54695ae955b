"""Views: what there is to know of the service, its rules, and who asks most."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from headgate.measures import MILLION
from headgate.rules.live.tally import Tally
from headgate.service.http.asking import ALL, Asking, then
from headgate.service.http.basket import body
from headgate.service.http.routes import Example
from headgate.service.http.saying import Answer, Trouble, answer, sentence, text, written
from headgate.service.teller import unheard

Answers = Answer | Awaitable[Answer]

# So many keys are told unless it is said how many, and so many at most.
FEW, MANY = 10, 512


def health(asking: Asking) -> Answer:
    """Whether the process serves; who reads this has been served."""
    return answer({"status": "ok"})


def ready(asking: Asking) -> Answers:
    """Whether those who ask now are answered as the rules will have it."""
    return then(asking.hall.things["ready"](), stood)


def stood(standing: Any) -> Answer:
    """How it stands."""
    if standing:
        return answer({"status": "ready"})
    return answer({"status": "unready", "problem": standing.problem}, 503)


def healthcheck(asking: Asking) -> Answers:
    """The same, as envoyproxy/ratelimit says it."""
    return then(
        asking.hall.things["ready"](),
        lambda standing: text("OK") if standing else text("unhealthy\n", 500),
    )


def rules(asking: Asking) -> Answer:
    """The rules that the caller may ask by."""
    asking.admit()
    found = [one for one in asking.hall.teller.rules() if asking.may(one["name"])]
    return answer({"version": asking.hall.keeper.version, "rules": found})


def rule(asking: Asking) -> Answer:
    """One of them."""
    name = asking.parts[0]
    asking.admit(name)
    found = {one["name"]: one for one in asking.hall.teller.rules()}
    if name not in found:
        raise Trouble(404, sentence(unheard(name, [*found])))
    return answer(found[name])


def top(asking: Asking) -> Answer:
    """Who asks most by one rule."""
    options = asking.options("rule", "limit")
    name = options.get("rule", "")
    few = options.get("limit", str(FEW))
    if not (few.isascii() and few.isdigit() and len(few) <= 3 and 1 <= int(few) <= MANY):
        raise Trouble(400, f'limit is a whole number from 1 to {MANY}, not "{few[:60]}".')
    names = [one.name for one in asking.hall.keeper.rules.rules]
    if not name:
        raise Trouble(400, "Say of which rule, as in ?rule=api.")
    asking.admit(name)
    if name not in names:
        raise Trouble(404, sentence(unheard(name, names)))
    tally = asking.hall.keeper.tallies().get(name) or Tally()
    found, total, span = tally.tops.most(int(few), asking.hall.house.now)
    keys = [one._asdict() for one in found]
    return answer({"rule": name, "seconds": span / MILLION, "total": total, "keys": keys})


def ratelimit(asking: Asking) -> Answers:
    """What envoyproxy/ratelimit answers to a descriptor in JSON."""
    asking.admit(ALL)
    found = mounted(asking).json(body(asking.exchange))
    return then(found, lambda pair: called(*pair))


def called(status: int, body: bytes) -> Answer:
    """The answer to a call; what is wrong with one is told in plain words."""
    return written(body, status) if status in (200, 429) else text(body.decode("ascii"), status)


def rlconfig(asking: Asking) -> Answer:
    """Its domains, as it prints them."""
    asking.admit(ALL)
    return text(mounted(asking).rlconfig())


def mounted(asking: Asking) -> Any:
    """Who answers for envoyproxy/ratelimit; Trouble if there is nobody."""
    found = asking.hall.things.get("ratelimit")
    if found is None:
        raise Trouble(404, "Nobody answers Envoy's calls here.")
    return found


EXAMPLES = {
    "rule": (
        Example(
            "api", "A rule that counts users", None, 200,
            {"name": "api", "description": "", "key": ["header.x-user"],
             "limits": ["TokenBucket(\"100/min\", name='api')"], "concurrent": 0,
             "mode": "enforce", "passed": 0, "refused": 0, "shadowed": 0},
            "/v1/rules/api",
        ),
    ),
    "health": (Example("well", "It serves", None, 200, {"status": "ok"}),),
    "ready": (Example("ready", "All is well", None, 200, {"status": "ready"}),),
    "top": (
        Example(
            "nobody", "Nobody has asked yet", None, 200,
            {"rule": "api", "seconds": 0.0, "total": 0, "keys": []}, "/v1/top?rule=api",
        ),
        Example(
            "which", "It is not said of which rule", None, 400,
            {"type": "about:blank", "title": "Bad Request", "status": 400,
             "detail": "Say of which rule, as in ?rule=api."},
            "/v1/top",
        ),
    ),
}  # fmt: skip
