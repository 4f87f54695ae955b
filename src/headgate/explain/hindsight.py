"""Hindsight: why a request got its answer, from the line that was written of it.

for line in lines(open("refused.log")):
    print(account(line, Rules.load("rules.yaml")).text)
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from headgate.explain import words
from headgate.rules.model.rules import Rules

Line = Mapping[str, Any]

# What a line has to have to be one of ours.
NEEDED = ("decision", "rule", "kind", "version")
# A line is never as long as this; what is, somebody else wrote.
LONGEST = 65_536
NUMBERS = ("cost", "limit", "remaining", "reset", "retry_after", "waited")


@dataclass(frozen=True)
class Account:
    """Why one request was refused: `sentences` for people, and what they are made of.

    `place` is where the rule stands among the rules that were given, -1 if they are others by now
    or none were given; `known` says whether they were those that decided.
    """

    decision: str
    time: str
    rule: str
    kind: str
    reason: str
    status: int
    policy: str
    key_source: str
    key: str
    hashed: bool
    numbers: dict[str, Any]
    version: str
    known: bool
    place: int
    sentences: tuple[str, ...]

    @property
    def text(self) -> str:
        """The sentences, a line each."""
        return "\n".join(self.sentences)

    def plain(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return {**asdict(self), "sentences": [*self.sentences]}


def lines(source: Iterable[str]) -> Iterator[Line]:
    """The lines of an audit among those of a log, whatever a logger put before them."""
    for text in source:
        start = text.find("{")
        if start < 0 or len(text) > LONGEST:
            continue
        try:
            found = json.loads(text[start:])
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and all(isinstance(found.get(word), str) for word in NEEDED):
            yield found


def account(line: Line, rules: Rules | None = None) -> Account:
    """Why the request of a line was refused; `rules` are those there are, to be compared."""
    known = rules is not None and rules.digest == line["version"]
    place = -1
    if known and rules is not None:
        names = [rule.name for rule in rules.rules]
        place = names.index(line["rule"]) if line["rule"] in names else -1
    hashed = "key_hash" in line
    return Account(
        decision=line["decision"],
        time=str(line.get("time", "")),
        rule=line["rule"],
        kind=line["kind"],
        reason=str(line.get("reason", "")),
        status=whole(line.get("status")),
        policy=str(line.get("policy", "")),
        key_source=str(line.get("key_source", "")),
        key=str(line.get("key_hash" if hashed else "key", "")),
        hashed=hashed,
        numbers={word: line.get(word) for word in NUMBERS},
        version=line["version"],
        known=known,
        place=place,
        sentences=(*told(line, rules, known),),
    )


def told(line: Line, rules: Rules | None, known: bool) -> Iterator[str]:
    """The sentences."""
    yield opening(line)
    yield because(line)
    yield from whose(line)
    yield from counted(line)
    if line.get("shadowed"):
        names = listed(line["shadowed"])
        yield f"Had they been enforced, these would have refused it too: {names}."
    yield from versed(line, rules, known)
    if line.get("suppressed"):
        yield f"{line['suppressed']} refusals before this one were left out of the log."


def opening(line: Line) -> str:
    """Who asked for what, and what became of it."""
    what = f"{line.get('method', '')} {line.get('host', '')}{line.get('path', '')}".strip()
    whom = line.get("client") or "a client without an address"
    return (
        f'{what} from {whom} was refused by the rule "{line["rule"]}", with {line.get("status")}.'
    )


def because(line: Line) -> str:
    """The reason, with its numbers."""
    kind, full = line["kind"], line.get("full", "")
    if full:
        said = words.full(full, str(line.get("reason")), line.get("limit"), line.get("retry_after"))
    elif kind == "denied":
        said = "it lets in nobody whom it is about"
    elif kind == "key":
        said = f"the request has no {source(line)}, so nobody knows whom to count"
    elif kind == "unavailable":
        said = words.UNKNOWN
    elif line.get("limit") is None:
        said = "there was not enough left; the line is of an older version, and does not say more"
    else:
        wait = None if line.get("reason") == "never" else line.get("retry_after")
        said = words.over(line.get("cost"), line["limit"], line.get("remaining"), wait)
        said = f'by its limit "{line.get("policy")}" {said}'
    return f"{said[0].upper()}{said[1:]}."


def whose(line: Line) -> Iterator[str]:
    """Who is counted apart from whom, and by whose terms."""
    if line["kind"] == "denied":
        return
    if not line.get("key_source"):
        if "key_source" in line:
            yield "All requests are counted together."
        return
    if line.get("key_hash"):
        key = f"a key that is not written, whose digest is {line['key_hash']}"
    else:
        key = line.get("key") or "nothing"
    yield f"It counts by {line['key_source']}; here that is {key}."
    if line.get("terms"):
        whom = "this key has terms of its own" if line["terms"] == "override" else line["terms"]
        yield f"The terms are not those of the rule: {whom}."


def counted(line: Line) -> Iterator[str]:
    """Where it was counted, and how long it takes until all is as if nothing had been."""
    if line.get("reset"):
        yield f"If this key keeps quiet, it has all of it again after {words.span(line['reset'])}."
    if line.get("waited"):
        yield f"It was to wait {words.span(line['waited'])} for other limits before that."
    if line.get("degraded") and line["kind"] != "unavailable":
        yield f"{line.get('store')} could not be asked: this was the share of one process."
    elif line.get("store") and line.get("limit") is not None and not line.get("full"):
        yield f"It is counted in {line['store']}, by {clock(line['store'])}."


def clock(store: str) -> str:
    """Whose clock decides there."""
    far = not store.startswith(("memory:", "shared:"))
    return "the server's clock" if far else "the clock of this machine"


def versed(line: Line, rules: Rules | None, known: bool) -> Iterator[str]:
    """Whether the rules are still those."""
    version = line["version"]
    if rules is None:
        yield f"The rules were of version {version}."
    elif known:
        yield f"The rules are still of version {version}."
    else:
        yield f"The rules were of version {version}; those here are {rules.digest}, so look there."


def source(line: Line) -> str:
    """What the key would have been made of."""
    return line.get("key_source") or "key"


def listed(names: Any) -> str:
    """Several names."""
    return ", ".join(map(str, names)) if isinstance(names, list) else str(names)


def whole(said: Any) -> int:
    """A whole number, 0 where there is none."""
    return said if isinstance(said, int) else 0
