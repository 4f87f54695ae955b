"""Bookings and places, which callers hold by an id: reserve, commit, cancel; hold, renew, release.

An id is good at every worker of the service, so whoever was given one may ask any of them.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from headgate.service.http.asking import Asking, then
from headgate.service.http.forms import Commit, Hold, Renew, Reserve, Ticket
from headgate.service.http.routes import Example
from headgate.service.http.saying import Answer, Trouble, answer, plain, told, written

Answers = Answer | Awaitable[Answer]

BOOKED = {
    200: "It is booked: `wait` is in how many seconds one may act.",
    403: "The rule lets nobody in, or not without a key; or the caller may not ask by it.",
    404: "There is no such rule, or it has no limit.",
    429: "It would take longer than they would wait, or it never fits.",
    503: "The store could not be asked, and the rule lets nobody in unasked.",
}
ENDED = {
    200: "It is done; this is how the key stands.",
    404: "The id is none of ours.",
    410: "The id is too old, or was used before.",
    503: "The store could not be asked.",
}
HELD = {
    200: "The place is held for `expires_in` seconds, unless it is renewed or given back.",
    403: BOOKED[403],
    404: "There is no such rule, or it has no places.",
    429: "All places are taken.",
    503: "The store could not be asked.",
}
KEPT = {
    204: "It is done.",
    404: "The id is none of ours.",
    410: "The place is lost: its time was over, or it was given back before.",
    503: "The store could not be asked.",
}


def reserve(asking: Asking) -> Answers:
    """Book the first moment at which it fits."""
    form = asking.read(Reserve)
    asking.admit(form.rule)
    found = asking.hall.teller.reserve(form.rule, form.key, form.cost, form.timeout, form.plan)
    return then(found, lambda ticket: booked(asking, form, ticket))


def booked(asking: Asking, form: Any, ticket: Any) -> Answer:
    """What was booked, or why nothing was."""
    decision = ticket.decision
    reception = asking.clerk.reception
    if not decision:
        found: Answer = reception.declare(form.rule, form.key, form.plan, decision, 1)
        return found
    reception.note(decision)
    standing = reception.standing(form.rule, form.key, form.plan, decision)
    return answer({"id": ticket.id, "wait": ticket.wait, **plain(decision)}, 200, standing)


def commit(asking: Asking) -> Answers:
    """What was booked is done, for what it really cost."""
    form = asking.read(Commit)
    asking.admit(asking.hall.teller.tickets.rule(form.id))
    found = asking.hall.teller.commit(form.id, form.cost)
    return then(found, lambda decision: written(told(decision)))


def cancel(asking: Asking) -> Answers:
    """What was booked is given back."""
    form = asking.read(Ticket)
    asking.admit(asking.hall.teller.tickets.rule(form.id))
    return then(asking.hall.teller.cancel(form.id), lambda decision: written(told(decision)))


def hold(asking: Asking) -> Answers:
    """Hold a place."""
    form = asking.read(Hold)
    asking.admit(form.rule)
    found = asking.hall.teller.hold(form.rule, form.key, form.ttl, form.plan)
    return then(found, lambda place: held(asking, form, place))


def held(asking: Asking, form: Any, place: Any) -> Answer:
    """A place, or that there is none."""
    reception = asking.clerk.reception
    if not place.decision:
        refused: Answer = reception.declare(form.rule, form.key, form.plan, place.decision, 1)
        return refused
    reception.note(place.decision)
    return answer({"id": place.id, "expires_in": place.ttl, **plain(place.decision)})


def renew(asking: Asking) -> Answers:
    """Hold it longer."""
    form = asking.read(Renew)
    asking.admit(asking.hall.teller.holds.rule(form.id))
    return then(asking.hall.teller.renew(form.id, form.ttl), kept)


def release(asking: Asking) -> Answers:
    """Give it back."""
    form = asking.read(Ticket)
    asking.admit(asking.hall.teller.holds.rule(form.id))
    return then(asking.hall.teller.release(form.id), kept)


def kept(there: bool) -> Answer:
    """It is done, unless the place was lost before."""
    if not there:
        raise Trouble(410, "The place is lost: its time was over, or it was given back before.")
    return 204, [], b""


GIVEN = {
    "allowed": True, "limit": 100, "remaining": 90, "retry_after": 0.0, "reset_after": 6.0,
    "reason": "", "rule": "api", "degraded": False,
}  # fmt: skip
EXAMPLES = {
    "reserve": (
        Example(
            "ten", "Ten for now, or for when they are there within two seconds",
            {"rule": "api", "key": "user:42", "cost": 10, "timeout": 2}, 200,
            {"id": "...", "wait": 0.0, **GIVEN},
        ),
    ),
    "commit": (
        Example(
            "none", "An id that was not given here", {"id": "abc"}, 404,
            {"type": "about:blank", "title": "Not Found", "status": 404,
             "detail": "the id is none of ours; show one exactly as it was given."},
        ),
    ),
    "hold": (
        Example(
            "place", "One of the five places of an export", {"rule": "export", "key": "user:42"},
            200, {"id": "...", "expires_in": 30.0, **GIVEN, "limit": 5, "remaining": 4,
             "reset_after": 30.0, "rule": "export"},
        ),
    ),
}  # fmt: skip
