"""Request: what rules can ask of a request, whatever framework it comes from.

Most requests meet few rules and most rules ask little, so nothing is found out in advance. Who the
client is, the user, the plan and the host are each a text, or a function of the request that is
called when a rule first asks. Arguments and cookies are taken apart on the first question, and only
so much of them is looked at as an honest client sends. An adapter overrides `header`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from urllib.parse import unquote_plus

# At most so many arguments or cookies, in so many characters, are looked at.
MOST = 100
LONGEST = 8192
OCTAL = frozenset("01234567")

Finder = Callable[["Request"], object]
Source = str | Finder
Lines = Mapping[str, str] | Iterable[tuple[str, str]]


def named(request: Request) -> str:
    """The host that the request's own `Host` line names."""
    return hostname(request.header("host"))


def reached(request: Request) -> str:
    """The client's key, where nobody said what its full address is."""
    return request.client


class Request:
    """One request: `Request("POST", "/login", {"x-user": "42"}, client="203.0.113.7")`.

    `method` is in capitals and `path` is decoded, as the framework routes it. `client` is the key
    of the client's address and `address` the whole of it. What is absent is an empty text. A
    function given instead of a text may return anything: None is nothing, the rest becomes a text.
    """

    __slots__ = (
        "_address",
        "_arguments",
        "_client",
        "_cookies",
        "_headers",
        "_host",
        "_plan",
        "_query",
        "_user",
        "method",
        "path",
        "scheme",
    )

    # Taken apart when they are first asked for.
    _arguments: dict[str, str]
    _cookies: dict[str, str]

    def __init__(
        self,
        method: str = "GET",
        path: str = "/",
        headers: Lines = (),
        query: str | bytes = "",
        host: Source = named,
        scheme: str = "http",
        client: Source = "",
        address: Source = reached,
        user: Source = "",
        plan: Source = "",
    ) -> None:
        self.method = method.upper()
        self.path = path
        self.scheme = scheme
        self._headers = gathered(headers) if headers else {}
        self._query = query
        self._host = hostname(host) if type(host) is str else host
        self._client = client
        self._address = address
        self._user = user
        self._plan = plan

    def header(self, name: str) -> str:
        """The header of this name, which is in lower case; several lines are joined by ", "."""
        return self._headers.get(name, "")

    def query(self, name: str) -> str:
        """The first argument of this name in the query, decoded.

        Of the query 100 arguments within 8 KiB are looked at; what comes after is not there.
        """
        try:
            known = self._arguments
        except AttributeError:
            known = self._arguments = arguments(self._query)
        return known.get(name, "")

    def cookie(self, name: str) -> str:
        """The first cookie of this name; 100 of them within 8 KiB are looked at."""
        try:
            known = self._cookies
        except AttributeError:
            known = self._cookies = cookies(self.header("cookie"))
        return known.get(name, "")

    @property
    def asked(self) -> str:
        """The query, as it came."""
        query = self._query
        return query.decode("latin-1") if isinstance(query, bytes) else query

    @property
    def size(self) -> int:
        """How many bytes the body is said to have; 0 where that is not said, or is no number."""
        length = self.header("content-length")
        return int(length) if length.isascii() and length.isdigit() and len(length) < 20 else 0

    @property
    def host(self) -> str:
        """The host that is asked for, in lower case and without its port."""
        found = self._host
        return found if isinstance(found, str) else self._find("_host", found)

    @property
    def client(self) -> str:
        """The key of the client's address: all that it can choose from is one client."""
        found = self._client
        return found if isinstance(found, str) else self._find("_client", found)

    @property
    def address(self) -> str:
        """The client's whole address."""
        found = self._address
        return found if isinstance(found, str) else self._find("_address", found)

    @property
    def user(self) -> str:
        """Who it is, as the program knows them."""
        found = self._user
        return found if isinstance(found, str) else self._find("_user", found)

    @property
    def plan(self) -> str:
        """What they have booked, as the program knows it."""
        found = self._plan
        return found if isinstance(found, str) else self._find("_plan", found)

    @property
    def vouched(self) -> bool:
        """Whether headers were written by somebody who is believed."""
        return True

    @property
    def road(self) -> str:
        """Where it goes, where there are several that could answer the same."""
        return ""

    def book(self, plan: Finder) -> None:
        """Have the plan found out in this way, whatever else was said of it."""
        self._plan = plan

    def __repr__(self) -> str:
        return f"Request({self.method!r}, {self.path!r})"

    def _find(self, slot: str, finder: Finder) -> str:
        answer = finder(self)
        found = "" if answer is None else str(answer)
        setattr(self, slot, found)
        return found


def gathered(headers: Lines) -> dict[str, str]:
    """Headers by their names in lower case; cookies of several lines stay apart."""
    found: dict[str, str] = {}
    for spelled, value in headers.items() if isinstance(headers, Mapping) else headers:
        name = spelled.lower()
        if name in found:
            value = f"{found[name]}{'; ' if name == 'cookie' else ', '}{value}"  # noqa: PLW2901
        found[name] = value
    return found


def hostname(said: str) -> str:
    """The host without its port, the brackets of an address and the dot of the root."""
    host = said.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    if host.count(":") == 1:
        host = host.partition(":")[0]
    return host.removesuffix(".")


def arguments(query: str | bytes) -> dict[str, str]:
    """The arguments of a query, decoded, the first of each name."""
    said = query.decode("latin-1") if isinstance(query, bytes) else query
    found: dict[str, str] = {}
    for piece in pieces(said, "&"):
        name, _, value = piece.partition("=")
        found.setdefault(unquote_plus(name), unquote_plus(value))
    return found


def cookies(said: str) -> dict[str, str]:
    """The cookies of a request, the first of each name."""
    found: dict[str, str] = {}
    for piece in pieces(said, ";"):
        name, equals, value = piece.partition("=")
        if equals:
            found.setdefault(name.strip(), unquoted(value.strip()))
    return found


def pieces(said: str, mark: str) -> Iterator[str]:
    """What stands between the marks, so far as it is looked at; a piece is whole or not there."""
    whole = said if len(said) <= LONGEST else said[:LONGEST].rpartition(mark)[0]
    return (piece for piece in whole.split(mark, MOST)[:MOST] if piece)


def unquoted(value: str) -> str:
    """A cookie's value as frameworks read it: one value must not be had in many spellings."""
    if len(value) < 2 or value[0] != '"' or value[-1] != '"':
        return value
    first, *rest = value[1:-1].replace("\\\\", "\\134").split("\\")
    return first + "".join(
        chr(int(piece[:3], 8)) + piece[3:] if octal(piece[:3]) else piece for piece in rest
    )


def octal(digits: str) -> bool:
    """Whether this is the number of a byte: three digits from 000 to 377."""
    return len(digits) == 3 and digits < "4" and {*digits} <= OCTAL
