"""YAML with places: PyYAML finds the parts, and what they mean is decided here.

Only what says one thing to everybody is read: plain words mean what the core schema of YAML 1.2
says, so `no` and `22:30` are texts; quoted ones are always texts. Anchors, aliases, tags, merge
keys and second documents are refused.

The parser's events are followed one by one, and no tree of nodes is composed: a text is refused at
its first wrong part, so nothing of what comes after it is expanded, counted or nested. PyYAML's
parser in C is taken if there is one. It reads what the other one does, and in rare corners what
the other one refuses: a tab before a comment or a bracket, a "?" within words in brackets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from headgate.errors import MissingExtra, RulesError
from headgate.rules.documents.page import HALF, Found, Mark, Page, quoted
from headgate.rules.documents.tree import Tree

try:
    import yaml
except ImportError:
    raise MissingExtra("yaml") from None

WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
NUMERIC = frozenset("+-.0123456789")
NUMBER = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|0x[0-9a-fA-F]+|0o[0-7]+"
)
ENDLESS = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
# Line breaks that no editor shows are among those that YAML wants escaped here.
HIDDEN = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
DIRECTIVE = re.compile(r"(?:[ \t]*+(?:#[^\r\n]*+)?[\r\n])*+%")
BEYOND = re.compile(r"\\U(?!000|0010)[0-9a-fA-F]{8}")
# A text that braces stand in, which end it where it is in brackets and not in quotes.
BEFORE = re.compile(r"[^\s,\[\]{}]*\Z")
BRACED = re.compile(r"(?:[^\s,\[\]{}]|\{[^\s,\[\]{}]*\})+")
UNQUOTED = re.compile("expected ',' or|found unexpected ':'")
SIGILS = {"&": "an anchor", "*": "an alias", "!": "a tag"}
LONGEST_TEXT = 1000
DIRECTED = "a directive begins here, and none is read; take the line out"
TAB = "a tab cannot stand here; use spaces"
# PyYAML has some words for this in C and others in Python; the patterns fit both.
SAID = (
    (
        "mapping values are not allowed",
        "here",
        '":" cannot stand here; put the text in quotes, or indent as the lines around do',
    ),
    (
        "sequence entries are not allowed",
        "here",
        '"-" cannot stand here; begin the list in a new line, or put the text in quotes',
    ),
    ("found unexpected ':'", "here", '":" cannot stand here; put the text in quotes'),
    ("could not find expected ':'", "start", 'a ":" is missing after this key'),
    (
        "end of stream|unexpected document",
        "start",
        "this text is never closed; end it with a quote",
    ),
    ("expected ',' or ']'", "here", 'a "," or "]" is missing; the list begins in LINE'),
    ("expected ',' or '}'", "here", 'a "," or "}" is missing; the mapping begins in LINE'),
    (
        "node content",
        "here",
        "a key or value is missing here; a text that begins so stands in quotes",
    ),
    ("document start>", "here", "this follows the end; take it out, or put the text in quotes"),
    (
        "scanning a block scalar",
        "here",
        'after "|" or ">" the text begins in the next line; else put the text in quotes',
    ),
    (
        "block end>|expected key|'-' indicator",
        "here",
        "this does not fit; indent it as its neighbours, or put the text in quotes",
    ),
    ("scanning a directive", "start", DIRECTED),
    ("Unicode character escape", "escape", HALF),
    (
        "escape|hexdecimal",
        "escape",
        "this is no escape; write \\\\ for a backslash, or use single quotes",
    ),
)


def read(page: Page) -> Found:
    """The data of a YAML text, with its places."""
    _survey(page)
    tree = Tree(page)
    for event in _events(page):
        _grow(tree, event)
    return tree.found()


def _survey(page: Page) -> None:
    """Refuse what no parser need see."""
    hidden = HIDDEN.search(page.text)
    if hidden:
        code = f"\\u{ord(hidden[0]):04x}"
        said = f"a character that is not seen stands here; write {code} in double quotes"
        raise page.wrong(said, page.mark(hidden.start()))
    directive = DIRECTIVE.match(page.text)
    if directive:
        raise page.wrong(DIRECTED, page.mark(directive.end() - 1))


def _events(page: Page) -> Iterator[yaml.Event]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        yield from yaml.parse(page.text, loader)
    except yaml.MarkedYAMLError as error:
        raise _explain(page, error) from None
    except (ValueError, OverflowError):
        # The parser that is not in C stumbles over an escape that is beyond all characters.
        beyond = BEYOND.search(page.text)
        raise page.wrong(HALF, page.mark(beyond.start() if beyond else 0)) from None


def _grow(tree: Tree, event: Any) -> None:
    place = event.start_mark.index
    if isinstance(event, yaml.ScalarEvent):
        mark = _admit(tree.page, event, place)
        if tree.keyless:
            tree.key(_key(tree.page, event, mark), mark)
        else:
            tree.put(_value(tree.page, event, mark), mark)
    elif isinstance(event, yaml.NodeEvent):
        mark = _admit(tree.page, event, place)
        mapping = isinstance(event, yaml.MappingStartEvent)
        if tree.keyless:
            said = f"a {'mapping' if mapping else 'list'} cannot be a key; a key is a text"
            raise tree.page.wrong(said, mark)
        tree.open({} if mapping else [], mark)
    elif isinstance(event, yaml.CollectionEndEvent):
        tree.close()
    elif isinstance(event, yaml.DocumentStartEvent) and not tree.empty:
        said = "a second document begins here; keep one in a file"
        raise tree.page.wrong(said, tree.page.mark(place))


def _admit(page: Page, event: Any, place: int) -> Mark:
    """Refuse a node that points elsewhere or brings its own meaning; else say where it is."""
    if event.anchor is not None or event.tag is not None:
        raise _pointed(page, place)
    if page.text[place - 1 : place] == "\t":
        raise page.wrong(TAB, page.mark(place - 1))
    return page.mark(place)


def _pointed(page: Page, place: int) -> RulesError:
    word = page.text[place:].split(maxsplit=1)[0]
    said = f"{quoted(word)} is {SIGILS[word[0]]}, and none is read here"
    return page.wrong(f"{said}; write the value out, or put a text in quotes", page.mark(place))


def _key(page: Page, event: Any, mark: Mark) -> str:
    if event.value == "<<" and not event.style:
        raise page.wrong('"<<" is a merge key, and none is read here; write the entries out', mark)
    value = _value(page, event, mark)
    if isinstance(value, str):
        return value
    if not event.value:
        raise page.wrong("a key is missing here", mark)
    kind = "a number" if type(value) in {int, float} else "no text"
    raise page.wrong(f'the key {event.value} is {kind}; write "{event.value}"', mark)


def _value(page: Page, event: Any, mark: Mark) -> Any:
    text = event.value
    if event.style:
        return page.string(text, mark)
    if text in WORDS:
        return WORDS[text]
    if text[0] not in NUMERIC:
        return text
    if NUMBER.fullmatch(text):
        return page.number(text, mark)
    if ENDLESS.fullmatch(text):
        raise page.endless(text, mark)
    return text


def _explain(page: Page, error: yaml.MarkedYAMLError) -> RulesError:
    """What PyYAML found wrong, in the words of the house."""
    problem = f"{error.context or ''} {error.problem}".strip()
    place = error.problem_mark.index if error.problem_mark else 0
    start = error.context_mark.index if error.context_mark else place
    character = page.text[place : place + 1]
    if page.text[start : start + 1] in SIGILS:
        return _pointed(page, start)
    if character == "\t":
        return page.wrong(TAB, page.mark(place))
    if "any token" in problem or "mapping keys" in problem:
        said = f'"{character}" cannot begin a text; put it in quotes'
        return page.wrong(said, page.mark(place))
    explained = page.explain(SAID, problem, place, start)
    text = _braced(page.text, place)
    if not text or not UNQUOTED.search(problem):
        return explained
    said = explained.problems[0].message.removesuffix("; put the text in quotes")
    hint = f"a text with {{ in it stands in quotes: {quoted(text)}"
    return page.wrong(f"{said}; {hint}", page.mark(place))


def _braced(text: str, place: int) -> str:
    """The text with braces in it that begins before `place` and goes on after it, if any."""
    before = BEFORE.search(text, max(0, place - LONGEST_TEXT), place)
    found = BRACED.match(text, before.start()) if before and before[0] else None
    return found[0] if found and found.end() > place and "{" in found[0] else ""
