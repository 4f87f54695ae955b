"""Expression: what a rule's `when` says of a request, in a language that can do nothing else.

    expression = term { "or" term } ;
    term       = factor { "and" factor } ;
    factor     = "not" factor | "(" expression ")" | comparison ;
    comparison = fact ( "==" | "!=" ) literal
               | fact ( "<" | "<=" | ">" | ">=" ) number
               | fact [ "not" ] "in" "[" literal { "," literal } "]"
               | fact [ "not" ] "like" text ;
    literal    = text | number ;
    text       = in quotes, " or ', with a backslash before a quote or a backslash inside ;
    number     = [ "-" ] digits [ "." digits ] ;

What a fact is compared with, and how, is in comparison.py. A text has at most 1,000 characters and
32 levels, and is read once from left to right; running it asks each comparison at most once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple, Union

from headgate.rules.matching.comparison import Comparison, Literal, Test
from headgate.rules.matching.facts import Fact
from headgate.rules.matching.request import Request
from headgate.rules.matching.tokens import Token, tokens, wrong

DEEPEST = 32
EXAMPLE = 'try header.x-beta == "1"'

COMPARING = ("==", "!=", "in", "like", "<", "<=", ">", ">=")
KEYWORDS = ("and", "or", "not", "in", "like")

Node = Union[Comparison, "Inverse", "Chain"]


@dataclass(frozen=True, slots=True, init=False)
class Expression:
    """A condition: `Expression('header.x-beta == "1" and not client.ip in ["10.0.0.0/8"]')`.

    Expressions are equal when they are spelled alike but for blanks, quotes and needless
    parentheses; `str` gives the spelling back. A ValueError says what is wrong, and where.
    """

    text: str
    facts: tuple[Fact, ...] = field(compare=False, repr=False)
    _root: Node = field(compare=False, repr=False)

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise TypeError(f"when is a text such as 'size > 1000', not {text!r}")
        root = _Parser(text).whole()
        object.__setattr__(self, "text", root.spell())
        object.__setattr__(self, "facts", tuple(dict.fromkeys(root.facts())))
        object.__setattr__(self, "_root", root)

    def compile(self, paths: Sequence[str] = ()) -> Test:
        """What says whether it is true of a request; `paths` are the rule's, for `path.NAME`."""
        return self._root.build(paths)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"

    def __reduce__(self) -> tuple[type[Expression], tuple[str]]:
        return Expression, (self.text,)


class Inverse(NamedTuple):
    """What is true where the other is not."""

    part: Node

    def build(self, paths: Sequence[str]) -> Test:
        """The closure that asks."""
        test = self.part.build(paths)
        return lambda request: not test(request)

    def facts(self) -> tuple[Fact, ...]:
        """All that are read."""
        return self.part.facts()

    def spell(self) -> str:
        """As one would type it."""
        inner = self.part.spell()
        return f"not ({inner})" if isinstance(self.part, Chain) else f"not {inner}"


class Chain(NamedTuple):
    """Two or more that must all be true, or one of them, asked from left to right."""

    word: str
    parts: tuple[Node, ...]

    def build(self, paths: Sequence[str]) -> Test:
        """The closure that asks until the answer is known."""
        tests = [part.build(paths) for part in self.parts]
        last = self.word == "or"

        def test(request: Request) -> bool:
            for each in tests:
                if each(request) is last:
                    return last
            return not last

        return test

    def facts(self) -> tuple[Fact, ...]:
        """All that are read, as often as they are."""
        return tuple(fact for part in self.parts for fact in part.facts())

    def spell(self) -> str:
        """As one would type it; a chain within a chain is the other word's."""
        spelled = [
            f"({part.spell()})" if isinstance(part, Chain) and self.word == "and" else part.spell()
            for part in self.parts
        ]
        return f" {self.word} ".join(spelled)


class _Parser:
    """Goes over the tokens once, from left to right; each verb takes a piece or raises."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens(text)
        self.next = 0

    def whole(self) -> Node:
        """All of it."""
        if self._token.kind == "end":
            raise self._wrong("nothing is said", EXAMPLE)
        root = self._expression(0)
        if self._token.kind != "end":
            raise self._missing("and, or or the end", "two comparisons have a word between them")
        return root

    def _expression(self, depth: int) -> Node:
        return self._chain("or", self._term, depth)

    def _term(self, depth: int) -> Node:
        return self._chain("and", self._factor, depth)

    def _chain(self, word: str, part: Callable[[int], Node], depth: int) -> Node:
        parts = [part(depth)]
        while self._take(word):
            parts.append(part(depth))
        if len(parts) == 1:
            return parts[0]
        same = [
            each.parts if isinstance(each, Chain) and each.word == word else (each,)
            for each in parts
        ]
        return Chain(word, tuple(chain.from_iterable(same)))

    def _factor(self, depth: int) -> Node:
        if depth > DEEPEST:
            raise self._wrong("nested too deep", f"at most {DEEPEST} levels")
        if self._take("not"):
            return Inverse(self._factor(depth + 1))
        if not self._take("("):
            return self._comparison()
        inner = self._expression(depth + 1)
        if not self._take(")"):
            raise self._missing(")", "a parenthesis was opened")
        return inner

    def _comparison(self) -> Node:
        token = self._token
        if token.kind != "word" or token.text in KEYWORDS:
            raise self._missing("a fact", "a comparison begins with one such as header.x-user")
        try:
            fact = Fact.parse(token.text)
        except ValueError as problem:
            raise self._refused(token, problem) from None
        self.next += 1
        inverse = self._take("not")
        token = self._token
        found = self._sign(fact, ("in", "like") if inverse else COMPARING)
        literals = self._listing() if found == "in" else (self._literal(),)
        try:
            comparison = Comparison(fact, found, literals)
        except ValueError as problem:
            raise self._refused(token, problem) from None
        return Inverse(comparison) if inverse else comparison

    def _sign(self, fact: Fact, signs: tuple[str, ...]) -> str:
        for sign in signs:
            if self._take(sign):
                return sign
        raise self._missing(" or ".join([", ".join(signs[:-1]), signs[-1]]), f'try {fact} == "1"')

    def _listing(self) -> tuple[Literal, ...]:
        if not self._take("["):
            raise self._missing("[", 'try ["a", "b"]')
        literals = [self._literal()]
        while self._take(","):
            literals.append(self._literal())
        if not self._take("]"):
            raise self._missing(", or ]", 'try ["a", "b"]')
        return tuple(literals)

    def _literal(self) -> Literal:
        token = self._token
        if token.literal is None:
            raise self._missing("a text or a number", "a text stands in quotes")
        self.next += 1
        return token.literal

    def _take(self, text: str) -> bool:
        # No literal is spelled like a word or a sign: a text keeps its quotes here.
        if self._token.text != text:
            return False
        self.next += 1
        return True

    @property
    def _token(self) -> Token:
        return self.tokens[self.next]

    def _refused(self, token: Token, error: ValueError) -> ValueError:
        problem, _, hint = str(error).partition("; ")
        return wrong(self.text, token.place, problem, hint or EXAMPLE)

    def _missing(self, noun: str, hint: str) -> ValueError:
        found = f'"{self._token.text}"' if self._token.kind != "end" else "the end"
        return self._wrong(f"expected {noun} but found {found}", hint)

    def _wrong(self, problem: str, hint: str) -> ValueError:
        return wrong(self.text, self._token.place, problem, hint)
