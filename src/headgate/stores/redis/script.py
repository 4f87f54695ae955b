"""Scripts: the rendered steps of some limits, joined to the verbs, as Lua that Redis runs.

Every limit's numbers are written into the text, so a script is one set of limits and needs no
parameters but the request's. Of the rendered modules only the functions that are called are taken.
Two scripts serve a limiter: `take` is the short way for the commonest call under the commonest
limits, `verbs` is everything else.

A record is one string: a version byte, the moment it was written, and the cells of all limits,
each eight bytes, least significant first. Numbers never pass through Lua's `tostring`.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from headgate.algorithms.fixed_window import DATED, FixedWindow
from headgate.algorithms.limit import Limit
from headgate.algorithms.sliding_log import SlidingLog
from headgate.errors import LimitError

HERE = Path(__file__).parent
STEPS = HERE.parents[1] / "algorithms"
# States with more cells than this are not read and written whole.
WHOLE = 64
# A log as long as this is moved in about a tenth of a second when the server's clock steps back.
LONGEST = 100_000
FOREVER = 1 << 62

NAMES = """\
local call, pack, unpack, spread = redis.call, struct.pack, struct.unpack, unpack
local floor, ceil, min, max, abs = math.floor, math.ceil, math.min, math.max, math.abs
"""
MOMENT = """\
local now, slack = ARGV[5], 3600000
if now == '' then
  local time = call('TIME')
  now, slack = time[1] * 1000000 + time[2], 1001
else
  now = now + 0
end
"""
BLOCK = re.compile(r"^local function (\w+)\(([^)]*)\)\n(?:.*\n)*?end\n", re.MULTILINE)
# What `settle` calls the cells that `step` answered.
ANSWERED = {"here": "x", "entry": "y", "leaves": "u"}


class Script(NamedTuple):
    """A text for the server, and the name the server gives it."""

    text: bytes
    sha: bytes


class Function(NamedTuple):
    """A rendered function: its parameters and its text."""

    parameters: tuple[str, ...]
    text: str


class Module(NamedTuple):
    """What is taken of an algorithm's rendered module."""

    constants: str
    functions: dict[str, Function]


def take(limits: tuple[Limit, ...]) -> Script | None:
    """The short way to take, if these limits have one."""
    limit = limits[0]
    if len(limits) > 1 or limit.ring or limit.penalty or calendar(limit) or limit.most < 0:
        return None
    state = [f"c{cell}" for cell in range(limit.width)]
    kept = [f"k{cell}" for cell in range(limit.width)]
    text = (HERE / "take.lua").read_text("utf-8")
    for word, said in {
        "cells": ", ".join(state),
        "kept": ", ".join(kept),
        "fresh": opening(limit, 1),
        "unseen": unseen((limit,)),
        "beyond": " or ".join(f"abs({cell}) >= {1 << 53}" for cell in state),
        "size": str(9 + 8 * limit.width),
        "format": form(limit.width),
        "most": str(limit.most),
        "lasting": str(limit.lasting),
        "look_nothing": call(limit, 1, "step", state, enter="now", cost="0", patience=str(FOREVER)),
        "look_cost": call(limit, 1, "step", state, enter="now"),
    }.items():
        text = text.replace("{" + word + "}", said)
    return sealed([NAMES, library([limit], ("fresh", "step")), text])


def verbs(limits: tuple[Limit, ...]) -> Script:
    """Every verb under these limits."""
    width = 2 + sum(limit.width for limit in limits)
    frames = [limit for limit in limits if calendar(limit)]
    shape = "record.lua" if width <= WHOLE else "pages.lua"
    if width > LONGEST + 64:
        raise LimitError(
            f"on Redis a log has at most {LONGEST:,} moments a key, and {list(limits)!r} has "
            f"{width:,}; use SlidingWindow"
        )
    return sealed(
        [
            NAMES,
            MOMENT,
            numbers(limits, width),
            *[framed(number) for number in range(len(frames))],
            (HERE / "calendar.lua").read_text("utf-8") if frames else "",
            sound(limits),
            (HERE / shape).read_text("utf-8"),
            library(list(limits), ("fresh", "step", "charge", "settle")),
            doing(limits),
            (HERE / "verbs.lua").read_text("utf-8"),
        ]
    )


def calendar(limit: Limit) -> bool:
    """Whether the limit's windows follow a calendar."""
    return isinstance(limit, FixedWindow) and bool(limit.calendar)


def form(width: int) -> str:
    """How a record of so many cells is packed."""
    return "<B" + "i8" * (width + 1)


def numbers(limits: tuple[Limit, ...], width: int) -> str:
    """What the verbs want to know of the limits."""
    lists = {
        "MOST": [limit.most for limit in limits],
        "LASTING": [limit.lasting for limit in limits],
        "PENALTY": [limit.penalty for limit in limits],
        "WORST": [limit.worst for limit in limits],
    }
    said = [f"local {word} = {{{', '.join(map(str, values))}}}" for word, values in lists.items()]
    packed = form(width - 2) if width <= WHOLE else ""
    said.append(
        f"local COUNT, WIDTH, SIZE, DATED = {len(limits)}, {width}, {8 * width - 7}, {DATED}"
    )
    said.append(f"local DATED, FORMAT, UNSEEN = {DATED}, '{packed}', {unseen(limits)}")
    return "\n".join(said) + "\n"


def sound(limits: tuple[Limit, ...]) -> str:
    """Whether cells can be ours: the head of a log is one of its places."""
    heads = []
    start = 2
    for limit in limits:
        if isinstance(limit, SlidingLog) and limit.most > 0:
            heads.append(f"cells[{start + 2}] >= 0 and cells[{start + 2}] < {limit.limit}")
        start += limit.width
    said = " and ".join(heads) or "true"
    return f"local function sound(cells)\n  return {said}\nend\n"


def unseen(limits: tuple[Limit, ...]) -> str:
    """When a key never seen was written: in the future, if that it was seen must be written."""
    return "math.huge" if any(limit.lasting for limit in limits) else "now"


def framed(number: int) -> str:
    """Where a calendar's frame comes from; one that `now` is not in is asked for again."""
    return (
        f"local frame{number} = {{unpack('<{'i8' * (DATED + 2)}', ARGV[{9 + number}])}}\n"
        f"if now < frame{number}[2] or now >= frame{number}[3] then\n"
        "  return ARGV[1] .. pack('<Bi8i8i8i8', 255, 0, 0, 0, now)\n"
        "end\n"
    )


def doing(limits: tuple[Limit, ...]) -> str:
    """The functions that the verbs lean on: what each limit does, by its number."""
    look, put, charge, fresh = [], [], [], []
    start = 2
    frames = 0
    for number, limit in enumerate(limits, 1):
        state = [f"cells[{start + cell + 1}]" for cell in range(min(limit.width, 3))]
        frame = ""
        if calendar(limit):
            frame, frames = f"frame{frames}", frames + 1
        if limit.most >= 0:
            look.append((number, looked(limit, number, state, start, frame)))
            put.append((number, written(limit, number, state, start)))
            charge.append((number, charged(limit, number, state, start, frame)))
            if "fresh" in module(limit).functions:
                fresh.append(f"  {', '.join(state)} = {opening(limit, number)}\n")
        start += limit.width
    opened = f"if not known then\n{''.join(fresh)}end\n" if fresh else ""
    return (
        opened
        + switch("look(n, enter, cost, patience)", look)
        + switch("put(n, cost, x, y, u)", put)
        + switch("charge(n, cost, due)", charge)
    )


def looked(limit: Limit, number: int, state: list[str], start: int, frame: str) -> str:
    if not frame:
        return f"return {call(limit, number, 'step', state, start)}"
    entered = f"undate({frame}, enter)"
    step = call(limit, number, "step", state, start, frame, enter=entered)
    return (
        f"local wait, remaining, reset, x, y = {step}\n"
        f"    wait = max(enter - now, date({frame}, wait, patience))\n"
        f"    return wait, remaining, date({frame}, reset, FOREVER), x, y"
    ).replace("FOREVER", str(FOREVER))


def written(limit: Limit, number: int, state: list[str], start: int) -> str:
    if limit.ring:
        return call(limit, number, "settle", state, start)
    return f"{', '.join(state)} = {', '.join('xyu'[: limit.width])}"


def charged(limit: Limit, number: int, state: list[str], start: int, frame: str) -> str:
    said = call(limit, number, "charge", state, start, frame)
    return said if limit.ring else f"{', '.join(state)} = {said}"


def switch(head: str, cases: list[tuple[int, str]]) -> str:
    """A function that does one thing for each number."""
    body = "".join(f"  if n == {number} then\n    {said}\n  end\n" for number, said in cases)
    return f"local function {head}\n{body}end\n"


def opening(limit: Limit, number: int) -> str:
    """The cells of a key never seen."""
    if "fresh" in module(limit).functions:
        return call(limit, number, "fresh", [])
    return ", ".join(["0"] * limit.width)


def call(
    limit: Limit,
    number: int,
    name: str,
    state: list[str],
    start: int = 0,
    frame: str = "",
    **said: str,
) -> str:
    """The text that calls a rendered function, the limit's numbers written into it."""
    parameters = module(limit).functions[name].parameters
    scalars = list(parameters[-limit.width :]) if state and not limit.ring else []
    told = {word: word for word in ("now", "enter", "cost", "patience", "due", "cells")}
    told |= {"row": str(start), **ANSWERED, **dict(zip(scalars, state, strict=False)), **said}
    if frame:
        length = f"({frame}[3] - {frame}[2])"
        told |= {"first": f"{frame}[1]", "begin": f"{frame}[2]", "length": length, "unit": length}
    given = [told[word] if word in told else str(getattr(limit, word)) for word in parameters]
    return f"{stem(limit)}_{name}({', '.join(given)})"


def library(limits: list[Limit], wanted: tuple[str, ...]) -> str:
    """The rendered functions these limits call, each algorithm's in a block of its own."""
    said = []
    for name, one in {stem(limit): limit for limit in limits}.items():
        found = module(one)
        roots = [word for word in wanted if word in found.functions]
        needed = set(roots)
        for word in reversed(found.functions):
            if any(re.search(rf"\b{word}\(", found.functions[user].text) for user in needed):
                needed.add(word)
        texts = [function.text for word, function in found.functions.items() if word in needed]
        public = ", ".join(f"{name}_{word}" for word in roots)
        made = f"{public} = {', '.join(roots)}\n"
        said.append(f"local {public}\ndo\n{found.constants}{''.join(texts)}{made}end\n")
    return "".join(said)


def module(limit: Limit) -> Module:
    return parsed(stem(limit))


@cache
def parsed(name: str) -> Module:
    """The rendered module of an algorithm, taken apart."""
    text = (STEPS / f"{name}.lua").read_text("utf-8")
    constants = re.findall(r"^local \w+ = \d+\n", text, re.MULTILINE)
    functions = {
        found[1]: Function(tuple(found[2].split(", ")), found[0]) for found in BLOCK.finditer(text)
    }
    return Module("".join(constants), functions)


def stem(limit: Limit) -> str:
    """The name of the module the limit's algorithm is in."""
    return type(limit).__module__.rpartition(".")[2]


def sealed(parts: list[str]) -> Script:
    text = "".join(parts).encode()
    return Script(text, hashlib.sha1(text, usedforsecurity=False).hexdigest().encode())
