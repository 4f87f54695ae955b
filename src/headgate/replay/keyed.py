"""Keyed: the lines of a log that are objects of JSON, as hits."""

from __future__ import annotations

import json
from typing import Any

from headgate.replay.fields import NANOSECONDS, Field, Layout, layout, value
from headgate.replay.hits import UNKNOWN, Hit, Spots
from headgate.replay.stamps import Stamps
from headgate.replay.words import (
    FORWARDED,
    HOST,
    METHOD,
    PEER,
    QUERY,
    REQUEST,
    SCHEME,
    SIZE,
    STATUS,
    TARGET,
    TIME,
    TOOK,
    USER,
)

MILLION = 1_000_000
# What took as long as this, in microseconds, took no time that anybody has measured.
LONGEST = 1_000_000_000_000_000_000
NONE: frozenset[str] = frozenset()
# Names that are texts of a hit, and nothing more has to be known of them.
TEXTS = {PEER: "peer", FORWARDED: "forwarded", HOST: "host", SCHEME: "scheme", USER: "user"}


class Keyed:
    """Reads lines of JSON: where things stand is looked for once, and again where they do not."""

    def __init__(
        self, first: dict[str, Any] | None = None, wanted: frozenset[str] | None = None
    ) -> None:
        # Of headers only these are read; all of them if it is None.
        self._wanted = wanted
        self._stamps = Stamps()
        self._spots = Spots()
        self._layout = layout(first or {})

    def read(self, data: bytes, at: int, end: int) -> Hit | None:
        """The hit of the line that stands there, or None if it is none."""
        try:
            line = json.loads(data[at:end])
        except (ValueError, RecursionError):
            return None
        if not isinstance(line, dict):
            return None
        found = self._hit(line, self._layout)
        if found is None:
            fresh = layout(line)
            found = self._hit(line, fresh)
            if found is not None:
                self._layout = fresh
        return found

    def _hit(self, line: dict[str, Any], form: Layout) -> Hit | None:
        fields = form.fields
        if TIME not in fields:
            return None
        hit = Hit()
        hit.at = self._moment(self._find(line, fields[TIME]))
        if hit.at < 0 or not self._ask(hit, line, fields):
            return None
        for kind, slot in TEXTS.items():
            if kind in fields:
                said = self._find(line, fields[kind])
                setattr(hit, slot, said if isinstance(said, str) and said != "-" else "")
        for kind, slot in ((STATUS, "status"), (SIZE, "size")):
            if kind in fields:
                setattr(hit, slot, number(self._find(line, fields[kind])))
        hit.size = max(0, hit.size)
        if TOOK in fields:
            hit.took = duration(self._find(line, fields[TOOK]), fields[TOOK].unit)
        if (form.headers or form.heads) and self._wanted != NONE:
            self._head(hit, line, form)
        if form.ends and hit.took > 0:
            hit.at = max(0, hit.at - hit.took)
        return hit

    def _find(self, line: dict[str, Any], field: Field) -> Any:
        path = field.path
        return line.get(path[0]) if len(path) == 1 else value(line, path)

    def _ask(self, hit: Hit, line: dict[str, Any], fields: dict[int, Field]) -> bool:
        target = self._find(line, fields[TARGET]) if TARGET in fields else None
        if isinstance(target, str) and target:
            query = self._find(line, fields[QUERY]) if QUERY in fields else None
            if isinstance(query, str) and query and query != "-" and "?" not in target:
                target = f"{target}?{query}"
            method = self._find(line, fields[METHOD]) if METHOD in fields else "GET"
            said = method if isinstance(method, str) else "GET"
            hit.spot = self._spots.pair(octets(said), octets(target))
            return True
        asked = self._find(line, fields[REQUEST]) if REQUEST in fields else None
        if not isinstance(asked, str):
            return False
        hit.spot = self._spots.line(octets(asked))
        return True

    def _moment(self, said: Any) -> int:
        if isinstance(said, str):
            return self._stamps.read(octets(said))
        if isinstance(said, bool) or not isinstance(said, (int, float)) or not 1e8 < said < 1e19:
            return UNKNOWN
        if isinstance(said, int) or said >= 1e14:
            return self._stamps.read(b"%d" % said)
        return round(said * MILLION) if said < 1e11 else round(said * 1000)

    def _head(self, hit: Hit, line: dict[str, Any], form: Layout) -> None:
        headers: dict[str, str] = {}
        for name, path in form.headers.items():
            said = value(line, path)
            if isinstance(said, str) and said not in ("", "-"):
                headers[name] = said
        inner = value(line, form.heads) if form.heads else None
        for name, said in inner.items() if isinstance(inner, dict) else ():
            lines = said if isinstance(said, list) else [said]
            headers[name.lower()] = ", ".join(one for one in lines if isinstance(one, str))
        if not hit.forwarded:
            hit.forwarded = headers.get("x-forwarded-for", "")
        if self._wanted is not None:
            headers = {name: said for name, said in headers.items() if name in self._wanted}
        hit.headers = headers


def octets(said: str) -> bytes:
    """A text as its bytes, whatever is in it."""
    return said.encode("utf-8", "surrogatepass")


def number(said: Any) -> int:
    """A whole number, also where it is spelled; -1 for all else."""
    if isinstance(said, str):
        return int(said) if said.isascii() and said.isdigit() and len(said) < 19 else UNKNOWN
    if isinstance(said, bool) or not isinstance(said, (int, float)) or not 0 <= said < 1 << 62:
        return UNKNOWN
    return int(said)


def duration(said: Any, unit: int) -> int:
    """The microseconds of so many units; -1 if it is no number. A text may end in `s` or `ms`."""
    if isinstance(said, str):
        bare = said.strip()
        for suffix, size in (("ms", 1000), ("us", 1), ("µs", 1), ("s", MILLION)):
            if bare.endswith(suffix):
                bare, unit = bare.removesuffix(suffix), size
                break
        try:
            said = float(bare)
        except ValueError:
            return UNKNOWN
    if isinstance(said, bool) or not isinstance(said, (int, float)) or not 0 <= said < 1e15:
        return UNKNOWN
    micros = round(said / 1000) if unit == NANOSECONDS else round(said * unit)
    return micros if micros < LONGEST else UNKNOWN
