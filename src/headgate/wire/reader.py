"""Reader: reads requests or answers with llhttp, and tells an ear what it has understood.

That is httptools' llhttp, and nothing else reads HTTP here. httptools makes objects of each word
and calls Python with them, which takes longer than the reading. Compiled, the words are listened to
in C where that can be done; who hears of them does not notice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headgate.wire.ear import LARGE, Bytes, Ear
from headgate.wire.parsers import (
    LIBRARY,
    HttpParserError,
    HttpParserUpgrade,
    HttpRequestParser,
    HttpResponseParser,
)

if TYPE_CHECKING:
    from headgate import _cython as cython
else:
    try:
        import cython
    except ImportError:
        from headgate import _cython as cython

if cython.compiled:
    from cython.cimports.headgate.wire.voice import (
        alone,
        code,
        count,
        hear,
        hush,
        kind,
        method,
        name,
        place,
        reach,
        size,
        speak,
        stop,
        word,
    )

# What `feed` answers: everything was understood, or something was not. Otherwise it is the place
# from which on something else than HTTP is spoken.
ALL = -1
SPOILT = -2

# How llhttp calls what it reads, and a change to another protocol.
REQUESTS = 1
ANSWERS = 2
TURNED = 22

BEGIN = 0
URL = 1
NAME = 2
VALUE = 3
HEADED = 4
BODY = 5
END = 6

# Versions of HTTP.
OLD = 10
MODERN = 11

DIRECT = cython.compiled and bool(reach(LIBRARY))
METHODS: dict[int, bytes] = {}


class Reader:
    """Reads what is sent over one connection; `kind` is REQUESTS or ANSWERS.

    When a head is complete, `version` is OLD, MODERN or something else, `keeps` says whether the
    connection may stay, and `turns` whether another protocol is asked for.
    """

    __slots__ = (
        "asks", "direct", "ear", "keeps", "kind", "method", "name", "parser", "status", "turns",
        "value", "valued", "version", "voice",
    )  # fmt: skip

    def __init__(self, ear: Ear, kind: int) -> None:
        self.ear = ear
        self.kind = kind
        self.asks = kind == REQUESTS
        self.direct = DIRECT
        self.method = b""
        self.renew()

    def renew(self) -> None:
        """Begin anew, as if nothing had been read."""
        self.name = self.value = b""
        self.valued = self.keeps = self.turns = False
        self.status = self.version = 0
        self.parser: Any = None
        self.voice: Any
        if cython.compiled and self.direct:
            self.voice = speak(self.voice, self.kind)
        elif self.asks:
            self.parser = HttpRequestParser(Relay(self))
        else:
            self.parser = HttpResponseParser(Relay(self))

    def feed(self, data: Bytes) -> int:
        """Read on: ALL, SPOILT, or the place from which on it is not HTTP any more."""
        if cython.compiled and self.direct:
            return self.listen(data)
        try:
            self.parser.feed_data(data)
        except HttpParserUpgrade as upgrade:
            return int(upgrade.args[0])
        except HttpParserError as problem:
            cause = problem.__context__
            if cause is not None and not isinstance(cause, ValueError):
                raise cause from None
            return SPOILT
        return ALL

    def listen(self, data: Bytes) -> int:
        """Have all of it parsed, then tell what was said."""
        if cython.compiled:
            end = hear(self.voice, data)
            number = 0
            try:
                while number < count(self.voice):
                    number += self.tell(number, data)
            except ValueError:
                return SPOILT
            if end == TURNED:
                return int(stop(self.voice))
            if end != 0:
                return SPOILT
        return ALL

    def tell(self, number: int, data: Bytes) -> int:
        """Tell the ear what was said, and how many words that were."""
        if cython.compiled:
            said = kind(self.voice, number)
            if said == NAME:
                self.status = code(self.voice, number)
                if not self.valued and not self.name and alone(self.voice, number):
                    self.ear.on_header(name(self.voice, number), word(self.voice, number + 1))
                    return 2
                self.spell(name(self.voice, number))
            elif said == VALUE:
                part: bytes = word(self.voice, number)
                self.value = self.value + part if self.valued else part
                self.valued = True
            elif said == BODY:
                self.pass_on(number, data)
            elif said == BEGIN:
                self.ear.on_message_begin()
            elif said == URL:
                self.ear.on_url(word(self.voice, number))
            else:
                if self.valued:
                    self.head()
                if said == HEADED:
                    self.status = code(self.voice, number)
                    self.crown(place(self.voice, number), size(self.voice, number))
                    self.ear.on_headers_complete()
                else:
                    self.ear.on_message_complete()
        return 1

    def spell(self, part: bytes) -> None:
        """Take a part of a header's name; the header before it has come to its end."""
        if self.valued:
            self.head()
        self.name = self.name + part if self.name else part

    def head(self) -> None:
        """Tell of a header."""
        called, value = self.name, self.value
        self.name = self.value = b""
        self.valued = False
        self.ear.on_header(called, value)

    def pass_on(self, number: int, data: Bytes) -> None:
        """Tell of a part of a body."""
        if cython.compiled:
            if size(self.voice, number) > LARGE and type(data) is memoryview:
                start = place(self.voice, number)
                self.ear.on_body(data[start : start + size(self.voice, number)])
            else:
                self.ear.on_body(word(self.voice, number))

    def crown(self, told: int, flags: int) -> None:
        """Keep what is known of a head that is complete."""
        if cython.compiled:
            self.version = told % 1000
            self.keeps = flags & 1 != 0
            self.turns = flags & 2 != 0
            if self.asks:
                number = told // 1000
                found = METHODS.get(number)
                if found is None:
                    found = METHODS[number] = method(number)
                self.method = found

    def __dealloc__(self) -> None:
        if cython.compiled:
            hush(self.voice)


class Relay:
    """Passes on what httptools says."""

    __slots__ = (
        "ear", "on_body", "on_message_begin", "on_message_complete", "on_url", "reader",
    )  # fmt: skip

    def __init__(self, reader: Reader) -> None:
        ear = self.ear = reader.ear
        self.reader = reader
        self.on_message_begin = ear.on_message_begin
        self.on_url = ear.on_url
        self.on_body = ear.on_body
        self.on_message_complete = ear.on_message_complete

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header."""
        if self.reader.kind == ANSWERS:
            self.reader.status = self.reader.parser.get_status_code()
        self.ear.on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is whole."""
        reader = self.reader
        parser = reader.parser
        reader.keeps = parser.should_keep_alive()
        reader.turns = parser.should_upgrade()
        reader.version = int(parser.get_http_version().replace(".", ""))
        if reader.kind == REQUESTS:
            reader.method = parser.get_method()
        else:
            reader.status = parser.get_status_code()
        self.ear.on_headers_complete()
