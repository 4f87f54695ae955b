"""Facts: the words for what can be known of a request, and the keys that are made of them.

    method  path  host  scheme  size      the request itself
    client.ip  user  plan                 who it comes from
    header.NAME  query.NAME  cookie.NAME  what it carries
    path.NAME                             a segment, where the rule's path has {NAME}

A key is a fact, several, or a template such as `user:{header.x-user}:{client.ip}`. It is empty as
soon as one of its facts is: half a key would put strangers into one bucket. Two requests have one
key only if all their facts are alike: values that contain the colon between them are given with
their lengths. A key that is long, or has characters that a store or a log may trip over, becomes a
digest of itself; a `#` tells that it is one, and stands in no other key. Unicode is not normalised:
what differs in its bytes differs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from hashlib import blake2b
from operator import attrgetter
from string import ascii_letters, digits

from headgate.rules.matching.paths import PathIndex, place, split
from headgate.rules.matching.request import Request

Reader = Callable[[Request], str]

WORDS = {
    "method": "method",
    "path": "path",
    "host": "host",
    "scheme": "scheme",
    "client.ip": "client",
    "user": "user",
    "plan": "plan",
    "size": "size",
}
FAMILIES = ("header", "query", "cookie", "path")
MEANT = {"client": "client.ip", "ip": "client.ip", "client_ip": "client.ip", "url": "path"}
EVERY = ", ".join([*WORDS, *(f"{family}.NAME" for family in FAMILIES[:-1])]) + " or path.NAME"

NAMES = frozenset(f"{ascii_letters}{digits}-._")
LONGEST_NAME = 100

# What a key may look like; all else is replaced by its digest.
LONGEST_KEY = 128
SAFE = f"{ascii_letters}{digits}._@:/-".encode()


@dataclass(frozen=True, slots=True)
class Fact:
    """Something to know about a request; `Fact.parse("header.x-user")` reads its spelling."""

    family: str
    name: str = ""

    @classmethod
    def parse(cls, text: str) -> Fact:
        """The fact of this spelling; a ValueError says what would be right."""
        if not isinstance(text, str):
            raise TypeError(f"a fact is a word such as client.ip, not {text!r}")
        if text in WORDS:
            return cls(text)
        family, _, name = text.partition(".")
        if family not in FAMILIES or not name:
            raise ValueError(f'unknown fact "{text[:LONGEST_NAME]}"; try {nearest(family, name)}')
        if family == "header":
            name = name.lower()
        check(family, name)
        return cls(family, name)

    def reader(self, paths: Sequence[str] = ()) -> Reader:
        """What reads it off a request, as a key has it; `paths` are the rule's, for `path.NAME`.

        `client.ip` is the key of the client's address here, and not all of it.
        """
        name = self.name
        if self.family == "header":
            return lambda request: request.header(name)
        if self.family == "query":
            return lambda request: request.query(name)
        if self.family == "cookie":
            return lambda request: request.cookie(name)
        if self.family == "size":
            return lambda request: str(request.size)
        if name:
            return located(name, paths)
        return attrgetter(WORDS[self.family])

    def alike(self, value: str) -> tuple[str, ...]:
        """What the fact may be for a rule that says `value`: GET is also HEAD."""
        if self.family == "method":
            method = value.upper()
            return ("GET", "HEAD") if method == "GET" else (method,)
        return (value.lower(),) if self.family in {"host", "scheme"} else (value,)

    def __str__(self) -> str:
        return f"{self.family}.{self.name}" if self.name else self.family


def nearest(family: str, name: str) -> str:
    """What may have been meant."""
    if family in FAMILIES:
        return f"{family}.NAME"
    if family in MEANT:
        return MEANT[family]
    options = {each: f"{each}.{name[:LONGEST_NAME] or 'NAME'}" for each in FAMILIES}
    if not name:
        options |= {word: word for word in WORDS}
    close = get_close_matches(family[:LONGEST_NAME], options, 1, 0.7)
    return options[close[0]] if close else EVERY


def check(family: str, name: str) -> None:
    """Refuse a name that no request can have, or that two servers would spell in two ways."""
    if len(name) > LONGEST_NAME:
        raise ValueError(f"{family} names have at most {LONGEST_NAME} characters, not {len(name)}")
    if family == "header" and "_" in name:
        # Servers drop such headers or take them for those with a hyphen.
        hint = name.replace("_", "-")
        raise ValueError(f"header names have no underscore here; try header.{hint}")
    strange = next((character for character in name if character not in NAMES), "")
    if strange:
        raise ValueError(f'{family} names have letters, digits, - . and _, not "{strange}"')
    if family == "path" and not name.isidentifier():
        raise ValueError(f"path.{name}: a parameter is a word; try path.id where {{id}} stands")


def located(name: str, paths: Sequence[str]) -> Reader:
    """Reads a parameter of the path, from where it stands in the pattern that fits."""
    if not paths:
        raise ValueError(f"path.{name}: no path is matched; try path: /users/{{{name}}}")
    places = [place(path, name) for path in paths]
    if len({*places}) == 1:
        return lambda request: segment(request.path, places[0])
    index = PathIndex((path, number) for number, path in enumerate(paths))

    def read(request: Request) -> str:
        hits = index.find(request.path)
        return segment(request.path, places[hits[0]]) if hits else ""

    return read


def segment(path: str, number: int) -> str:
    """One segment of a path, counted from 0, or from the end; nothing if there are fewer."""
    segments = split(path)
    return segments[number] if -len(segments) <= number < len(segments) else ""


def composer(parts: Sequence[str], paths: Sequence[str] = ()) -> Reader:
    """What makes a request's key of facts and templates; the key is empty if any fact is."""
    pieces: list[str | Fact] = []
    for part in parts:
        pieces += [":", *template(part)] if pieces else template(part)
    facts = [piece for piece in pieces if isinstance(piece, Fact)]
    if not facts:
        raise ValueError("a key has at least one fact; try client.ip")
    readers = [fact.reader(paths) for fact in facts]
    form = "".join("%s" if isinstance(each, Fact) else each.replace("%", "%%") for each in pieces)
    if len(facts) > 1:
        return several(readers, form)
    read = readers[0]
    if form == "%s":
        # An address has nothing to tidy up.
        return read if facts[0].family == "client.ip" else lambda request: tidy(read(request))

    def compose(request: Request) -> str:
        value = read(request)
        return tidy(form % value) if value else ""

    return compose


def several(readers: list[Reader], form: str) -> Reader:
    """Makes a key of several facts that no other values of theirs make."""
    apart = all(":" in between for between in form.split("%s")[1:-1])

    def compose(request: Request) -> str:
        values = [read(request) for read in readers]
        if "" in values:
            return ""
        if not apart or any(":" in value for value in values):
            # As many colons more as there are facts, so no plain key looks like this one.
            values = [f"{len(value)}:{value}" for value in values]
        return tidy(form % (*values,))

    return compose


def tidy(key: str) -> str:
    """The key itself where it is short and harmless, else a `#` and its digest."""
    raw = key.encode("utf-8", "surrogatepass")
    if len(raw) <= LONGEST_KEY and not raw.translate(None, SAFE):
        return key
    return f"#{blake2b(raw, digest_size=16).hexdigest()}"


def template(text: str) -> tuple[str | Fact, ...]:
    """The facts of a template and the words between them; without braces it is one fact."""
    named = holes(text)
    if not named:
        return (Fact.parse(text),)
    pieces: list[str | Fact] = []
    rest = text
    for name in named:
        words, _, rest = rest.partition(f"{{{name}}}")
        pieces += [words, Fact.parse(name)]
    return tuple(piece for piece in [*pieces, rest] if piece)


def holes(text: str) -> list[str]:
    """What stands in the braces of a template."""
    found = []
    before, *rest = text.split("{")
    if "}" in before or any(piece.count("}") != 1 for piece in rest):
        raise ValueError(f'key "{text}": a brace without the other; try user:{{header.x-user}}')
    for piece in rest:
        name = piece.partition("}")[0]
        if not name:
            raise ValueError(f'key "{text}": no fact in the braces; try {{client.ip}}')
        found.append(name)
    return found
