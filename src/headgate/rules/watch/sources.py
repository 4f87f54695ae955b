"""Sources: where rules stand, a file or a name on Redis, and what stands there now.

    publish(text, "redis://host")                       once, from anywhere
    Watcher(keeper, RedisRules("redis://host"))         in every process

What is read has a mark by which it is known again. A file's is a digest of all it says: neither
its time nor its size nor its inode tells whether it was changed, and opening it by its name follows
whatever links stand there at the moment, as the two that Kubernetes keeps before a mounted file.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any, ClassVar, NamedTuple, Protocol

from headgate.errors import Problem, RulesError, StoreUnavailable
from headgate.rules.documents.document import format_of
from headgate.rules.documents.page import MOST_BYTES
from headgate.rules.model.rules import Rules
from headgate.rules.watch.board import Board, Posting
from headgate.stores.redis.place import hidden, route

REMOTE = ("redis", "valkey", "unix")
# Seconds that a board may take to answer: nobody's request waits for it.
READING, POSTING = 1.0, 5.0
# The first words of a file that rules from elsewhere are kept in.
KEPT = "headgate rules 1"

logger = logging.getLogger("headgate")


class Text(NamedTuple):
    """Rules as they stand somewhere, not looked into yet.

    `seal` is what their digest is said to be, `title` what they are called in messages.
    """

    mark: str
    text: bytes
    form: str
    seal: str
    title: str

    def rules(self) -> Rules:
        """The rules; raises `RulesError` with all that is wrong."""
        if self.seal != digest(self.text, self.form):
            said = "this is not what was published, by its digest; use publish to change it"
            raise RulesError((Problem(said, file=self.title),))
        return Rules.read(self.text, self.form, self.title)


class Origin(Protocol):
    """A place where rules stand."""

    @property
    def whole(self) -> bool:
        """Whether what is read there is never half of what somebody is writing."""

    @property
    def title(self) -> str:
        """What to call it in messages; no secret is in it."""

    def load(self) -> Rules:
        """The rules that stand there, to begin with."""

    def fetch(self, known: str) -> Text | None:
        """What stands there, or None if it has the mark that is known."""

    def keep(self, text: Text) -> None:
        """Remember what has proved good, for a process that begins when it cannot be read."""

    def close(self) -> None:
        """Let go of connections."""


def reach(source: Any) -> Origin:
    """The place that is meant by a file's name, the URL of a server, or itself."""
    if isinstance(source, (str, os.PathLike)):
        name = os.fspath(source)
        scheme, mark, _ = name.partition("://")
        return RedisRules(name) if mark and scheme.startswith(REMOTE) else FileRules(name)
    if callable(getattr(source, "fetch", None)):
        return source  # type: ignore[no-any-return]
    raise TypeError(
        f"rules stand in a file or in RedisRules, not in {type(source).__name__} {source!r}"
    )


@dataclass(frozen=True)
class FileRules:
    """Rules in a YAML, TOML or JSON file."""

    file: str | os.PathLike[str]
    _path: str = field(init=False, repr=False, compare=False)
    # Somebody may be writing it.
    whole: ClassVar[bool] = False

    def __post_init__(self) -> None:
        # Whoever makes a daemon of the process goes to another folder.
        object.__setattr__(self, "_path", os.path.abspath(self.file))

    @property
    def title(self) -> str:
        """Its name."""
        return os.fspath(self.file)

    def load(self) -> Rules:
        """The rules of the file. See `Rules.load`."""
        return Rules.load(self.file)

    def fetch(self, known: str) -> Text | None:
        """What the file says, if it is not what is known."""
        form = format_of(self.title)
        try:
            with open(self._path, "rb") as opened:
                text = opened.read(MOST_BYTES + 1)
        except OSError as problem:
            said = Problem(f"cannot be read: {problem.strerror}", file=self.title)
            raise RulesError((said,)) from None
        mark = digest(text, form)
        return None if mark == known else Text(mark, text, form, mark, self.title)

    def keep(self, text: Text) -> None:
        """A file keeps itself."""

    def close(self) -> None:
        """There is nothing to let go of."""


@dataclass(frozen=True, repr=False)
class RedisRules:
    """Rules that were published under a name on Redis or Valkey, at any URL a store may have.

    With a `cache`, the last good ones are kept in that file, which only its owner can read, and a
    process that starts while there is no server starts with them.
    """

    url: str
    name: str = "default"
    cache: str | os.PathLike[str] = ""
    # They are put up and read in one step.
    whole: ClassVar[bool] = True

    def __post_init__(self) -> None:
        route(self.url)

    @property
    def title(self) -> str:
        """The server without its secrets, and the name."""
        return f"{hidden(self.url)}#{self.name}"

    def load(self) -> Rules:
        """The rules that are published; if there are none or bad ones, those that were kept."""
        try:
            text = self._text(self._board.read(""))
            rules = text.rules()
        except (RulesError, StoreUnavailable) as problem:
            kept = self._kept()
            if kept is None:
                raise
            logger.warning("%s: %s; begins with what %s has kept", self.title, problem, self.cache)
            return kept
        self.keep(text)
        return rules

    def fetch(self, known: str) -> Text | None:
        """What is published, if it is not what is known."""
        found = self._board.read(known)
        return None if found.mark == known else self._text(found)

    def keep(self, text: Text) -> None:
        """Write it to the cache, if there is one."""
        if not self.cache:
            return
        head = f"{KEPT} {text.form} {text.seal}\n".encode()
        try:
            write(os.path.abspath(self.cache), head + text.text)
        except OSError as problem:
            logger.warning("rules are not kept in %s: %s", self.cache, problem.strerror)

    def close(self) -> None:
        """Hang up; the next look dials again."""
        self._board.close()

    def __repr__(self) -> str:
        kept = f", cache={self.cache!r}" if self.cache else ""
        return f"RedisRules({hidden(self.url)!r}, {self.name!r}{kept})"

    @cached_property
    def _board(self) -> Board:
        return Board(self.url, self.name, READING)

    def _text(self, found: Posting) -> Text:
        if not found.text and not found.digest:
            said = "no rules are published here yet; use publish"
            raise RulesError((Problem(said, file=self.title),))
        return Text(found.mark, found.text, found.form, found.digest, self.title)

    def _kept(self) -> Rules | None:
        # What is in the cache, if it is good.
        if not self.cache:
            return None
        title = os.fspath(self.cache)
        with suppress(OSError, ValueError):
            with open(title, "rb") as opened:
                head, _, text = opened.read(MOST_BYTES + 200).partition(b"\n")
            words, form, seal = head.decode().rsplit(" ", 2)
            if words == KEPT:
                return Text("", text, form, seal, title).rules()
        return None


def publish(
    text: str | bytes, url: str, name: str = "default", form: str = "yaml",
    environment: Mapping[str, str] = os.environ,
) -> int:  # fmt: skip
    """Let everybody who reads `RedisRules(url, name)` go by this text; answers its number.

    Bad rules raise `RulesError` and are not sent. What stands there already is not put up again, so
    who does not know whether it arrived may try again. A rollback is to publish the old text.
    """
    Rules.read(text, form, environment=environment)
    said = text if isinstance(text, bytes) else text.encode()
    board = Board(url, name, POSTING)
    try:
        return board.post(said, form, digest(said, form))
    finally:
        board.close()


def digest(text: bytes, form: str) -> str:
    """What a text in a format is known by."""
    return blake2b(text, digest_size=16, person=form.encode("latin-1")[:16]).hexdigest()


def write(path: str, said: bytes) -> None:
    """Have a file say this, all of it or as before; nobody else can read it.

    Raises OSError with the name of that file.
    """
    try:
        replace(path, said)
    except OSError as problem:
        # Nobody has heard of the file that it was written to first.
        raise OSError(problem.errno, problem.strerror, path) from None


def replace(path: str, said: bytes) -> None:
    """Put a file that says this in the place of what stands there."""
    number, name = tempfile.mkstemp(prefix=".headgate-", dir=os.path.dirname(path))
    try:
        with open(number, "wb") as opened:
            opened.write(said)
            opened.flush()
            os.fsync(opened.fileno())
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
