"""Origin: rules where they stand, amended by what the command line says.

What is said there holds for rules that come later, too. For a gateway, rules without one are
refused, at the start and at every change, because nobody could go on by them.

Who begins while others serve goes by the rules that are in force, as the master has kept them: what
stands at the origin by now may be broken, not released, or out of reach.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from headgate.errors import Problem, RulesError
from headgate.rules.documents.document import read
from headgate.rules.model.kinds import Report
from headgate.rules.model.listen import LISTEN
from headgate.rules.model.port import PORTS
from headgate.rules.model.rules import Rules
from headgate.rules.model.service import Service
from headgate.rules.watch.sources import Origin, Text

LACKS = (
    'lacks "gateway"; write where requests go, as in '
    "gateway: {routes: [{upstream: http://127.0.0.1:9000}]}"
)
# How it is said where one listens.
LISTENERS = {"gateway": LISTEN, "service": PORTS}


@dataclass(frozen=True)
class Amended:
    """Rules of another origin, which listen and are kept where it is said here.

    `serves` is what goes by them, as they call it: gateway or service.
    `spare` is where what was counted is kept if the rules do not say.
    """

    origin: Origin
    serves: str = "gateway"
    listen: tuple[str, ...] = ()
    spare: str = ""

    @property
    def whole(self) -> bool:
        """Whether what is read there is never half of what somebody is writing."""
        return self.origin.whole

    @property
    def title(self) -> str:
        """What to call it in messages."""
        return self.origin.title

    def load(self) -> Rules:
        """The rules that stand there; raises `RulesError` with all that is wrong."""
        found: Draft = self.fetch("")
        return found.rules()

    def fetch(self, known: str) -> Any:
        """What stands there, or None if it has the mark that is known."""
        text = self.origin.fetch(known)
        return None if text is None else self.amend(text)

    def amend(self, text: Text) -> Draft:
        """A text that was found there, or once was."""
        return Draft(text, self.serves, self.listen, self.spare)

    def keep(self, text: Any) -> None:
        """Remember what has proved good."""
        self.origin.keep(text.text)

    def close(self) -> None:
        """Let go of connections."""
        self.origin.close()


@dataclass(frozen=True)
class Draft:
    """A text of rules that is to be amended; used where a `Text` is."""

    text: Text
    serves: str
    listen: tuple[str, ...]
    spare: str

    @property
    def mark(self) -> str:
        """By which it is known again."""
        return self.text.mark

    def rules(self) -> Rules:
        """The rules; raises `RulesError` with all that is wrong."""
        rules = self.text.rules()
        terms = getattr(rules, self.serves)
        if terms is None and self.serves == "gateway":
            raise RulesError((Problem(LACKS, file=self.text.title),))
        if self.listen:
            listen = LISTENERS[self.serves].read(self.listen, (), Report())
            terms = replace(Service() if terms is None else terms, listen=listen)
            rules = replace(rules, **{self.serves: terms})
        if self.spare and silent(self.text):
            rules = replace(rules, store=self.spare)
        return rules


@dataclass(frozen=True)
class Standing:
    """The origin of rules that are in force already, as `text`; others are found where they stand.

    What has proved good there is told with `tell`.
    """

    origin: Amended
    text: Text
    tell: Callable[[Text], object]

    @property
    def whole(self) -> bool:
        """Whether what is read there is never half of what somebody is writing."""
        return self.origin.whole

    @property
    def title(self) -> str:
        """What to call it in messages."""
        return self.origin.title

    def load(self) -> Rules:
        """The rules in force."""
        return self.origin.amend(self.text).rules()

    def fetch(self, known: str) -> Any:
        """What stands there now, or None if it has the mark that is known."""
        return self.origin.fetch(known)

    def keep(self, text: Any) -> None:
        """Remember what has proved good, and have others know."""
        self.origin.keep(text)
        self.tell(text.text)

    def close(self) -> None:
        """Let go of connections."""
        self.origin.close()


def silent(text: Text) -> bool:
    """Whether rules do not say where what was counted is kept."""
    return "store" not in read(text.text, text.form, text.title).data
