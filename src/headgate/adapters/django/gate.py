"""Gate: a request goes in through rules and its answer comes out, told once for both colours.

What is held is held until the answer is ready, or, if it is streamed, until the end of the stream.
Where a rule says how fast an answer may flow, one that cannot be sent at once becomes a stream.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from asgiref.sync import async_to_sync
from django.http import HttpResponse

from headgate.adapters.django.desk import Desk, Question, Visitor
from headgate.adapters.django.stream import attend, failed, header, streamed
from headgate.adapters.stay import lines, together
from headgate.drive import Flow, adrive, drive
from headgate.rules.live.entry import Entry
from headgate.rules.live.gatekeeper import aperform, perform

UNTOLD = "headgate.untold"
Call = Callable[[Any], Any]


def passed(desk: Desk[Any], keeper: Any, request: Any, call: Call) -> Any:
    """What `call(request)` answers, if the keeper lets the request in; awaited if the desk is."""
    if desk.awaited:
        return adrive(visit(desk, keeper, request, call), aperform)
    visitor = Visitor(request, desk.reception.manners)
    entry = keeper.enter(visitor)
    if entry.owing or entry.bandwidth:
        return drive(stay(desk, keeper, visitor, entry, call), perform)
    # Nothing is held, so there is nothing to give back, whatever happens.
    untold = note(request, entry)
    if entry.refusal is not None:
        return refused(visitor, untold)
    return told(visitor, entry, untold, call(request))


def visit(desk: Desk[Any], keeper: Any, request: Any, call: Call) -> Flow[Any]:
    """Enter, be answered, and leave."""
    visitor = Visitor(request, desk.reception.manners)
    entry = yield from ask(desk, keeper, visitor)
    return (yield from stay(desk, keeper, visitor, entry, call))


def stay(desk: Desk[Any], keeper: Any, visitor: Visitor, entry: Entry, call: Call) -> Flow[Any]:
    """Be answered, and leave."""
    untold = note(visitor.source, entry)
    if entry.refusal is not None:
        return refused(visitor, untold)
    try:
        response = told(visitor, entry, untold, (yield partial(call, visitor.source)))
        return (yield from depart(desk, keeper, entry, response))
    except BaseException as problem:
        yield partial(keeper.leave, entry, failed(problem))
        raise


def note(request: Any, entry: Entry) -> list[Entry]:
    """Put an entry where others find it; all those that nobody was told of yet."""
    meta = request.META
    untold: list[Entry] = meta.setdefault(UNTOLD, [])
    untold.append(entry)
    meta["headgate.entry"] = entry
    return untold


def ask(desk: Desk[Any], keeper: Any, visitor: Visitor) -> Flow[Entry]:
    """Enter, with an answer to whatever a rule wants to know of the user."""
    while True:
        try:
            return (yield partial(keeper.enter, visitor))  # type: ignore[no-any-return]
        except Question as question:
            word = question.word
        visitor.answer(word, (yield partial(desk.find, word, visitor.source)))


def refused(visitor: Visitor, untold: list[Entry]) -> HttpResponse:
    """Answer in the view's place. That tells of everything, and nobody needs to again."""
    answer = visitor.manners.herald.answer(together(untold), visitor.header("accept"))
    untold.clear()
    status, fields, body = answer
    return HttpResponse(body, status=status, headers=dict(lines(fields)))


def told(visitor: Visitor, entry: Entry, untold: list[Entry], response: Any) -> Any:
    """The answer; whoever is outermost tells in its headers of all limits that were met."""
    if untold and untold[0] is entry:
        headers = response.headers
        met = entry if len(untold) == 1 else together(untold)
        fields = visitor.manners.herald.fields(met)
        # To look for a name that is not there is dear, and what views say themselves is rare.
        taken = "ratelimit" in ",".join(headers).lower()
        for word, line in fields:
            name, value = word.decode(), line.decode()
            # Beside what the view has said under the same name.
            headers[name] = f"{headers[name]}, {value}" if taken and name in headers else value
    return response


def depart(desk: Desk[Any], keeper: Any, entry: Entry, response: Any) -> Flow[Any]:
    """Leave, now or when the answer ends."""
    if not entry.owing and not entry.bandwidth:
        return response
    if not getattr(response, "is_rendered", True):
        response.add_post_render_callback(partial(later, desk, keeper, entry))
        response.render = partial(rendered, response.render, partial(spoilt, desk, keeper, entry))
        return response
    if not response.streaming:
        # The body of an answer to HEAD is not sent; servers drop it.
        size = len(response.content) if entry.request.method != "HEAD" else 0
        if not entry.bandwidth or size <= entry.piece:
            entry.send(response.content)
            entry.complete = True
            yield partial(keeper.pour, entry, size)
            known = partial(header, response)
            yield partial(keeper.leave, entry, response.status_code, known, size)
            return response
        response = streamed(response)
    attend(keeper, entry, response)
    return response


def rendered(render: Callable[[], Any], fail: Callable[[], None]) -> Any:
    """Render, or say that it has failed: Django calls nobody back then."""
    try:
        return render()
    except BaseException:
        fail()
        raise


def spoilt(desk: Desk[Any], keeper: Any, entry: Entry) -> None:
    """Leave without an answer; Django renders in a thread."""
    leave = async_to_sync(keeper.leave) if desk.awaited else keeper.leave
    leave(entry, 0)


def later(desk: Desk[Any], keeper: Any, entry: Entry, response: Any) -> Any:
    """Leave when a template is rendered; Django does that in a thread."""
    flow = depart(desk, keeper, entry, response)
    return async_to_sync(adrive)(flow, aperform) if desk.awaited else drive(flow, perform)
