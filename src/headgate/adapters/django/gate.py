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
from headgate.adapters.django.stream import attend, header, streamed
from headgate.adapters.stay import lines, together
from headgate.drive import Flow, adrive, drive
from headgate.rules.live.entry import Entry
from headgate.rules.live.gatekeeper import aperform, perform

UNTOLD = "headgate.untold"


def passed(desk: Desk[Any], keeper: Any, request: Any, call: Callable[[], Any]) -> Any:
    """What `call` answers to the request, if the keeper lets it in; awaited if the desk is."""
    flow = visit(desk, keeper, request, call)
    return adrive(flow, aperform) if desk.awaited else drive(flow, perform)


def visit(desk: Desk[Any], keeper: Any, request: Any, call: Callable[[], Any]) -> Flow[Any]:
    """Enter, be answered, and leave."""
    visitor = desk.arrive(request)
    entry = yield from ask(desk, keeper, visitor)
    # Whoever is outermost tells of all limits that were met further in.
    outermost = UNTOLD not in request.META
    untold = request.META.setdefault(UNTOLD, [])
    untold.append(entry)
    request.META["headgate.entry"] = entry
    if entry.refusal is not None:
        return refused(visitor, untold)
    try:
        response = yield call
        if outermost and untold:
            tell(response, lines(visitor.manners.herald.fields(together(untold))))
        return (yield from depart(desk, keeper, entry, response))
    except BaseException:
        yield partial(keeper.leave, entry, 0)
        raise


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


def tell(response: Any, fields: list[tuple[str, str]]) -> None:
    """Add headers, to those of the same name that the view has set."""
    headers = response.headers
    for name, value in fields:
        headers[name] = f"{headers[name]}, {value}" if name in headers else value


def depart(desk: Desk[Any], keeper: Any, entry: Entry, response: Any) -> Flow[Any]:
    """Leave, now or when the answer ends."""
    if not entry.owing and not entry.bandwidth:
        return response
    if not getattr(response, "is_rendered", True):
        response.add_post_render_callback(partial(later, desk, keeper, entry))
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


def later(desk: Desk[Any], keeper: Any, entry: Entry, response: Any) -> Any:
    """Leave when a template is rendered; Django does that in a thread."""
    flow = depart(desk, keeper, entry, response)
    return async_to_sync(adrive)(flow, aperform) if desk.awaited else drive(flow, perform)
