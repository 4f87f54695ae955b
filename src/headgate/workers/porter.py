"""Porter: says who may ask the admin for what.

Programs show the token. A page in a browser logs in with it once, and has a cookie from then on,
which is signed with the token: who starts the gateway anew with the same token need not log in
again, and the token itself is kept by no browser.

Where a cookie is all that is shown, the request may be one that another page has made its browser
send. So what changes something must come from the page that stands here, by its `Origin`, and with
a header that no form can send and no page of another origin may. Pages at other ports of this
machine are of the same site as this one: the cookie's `SameSite` alone does not keep them out.
"""

from __future__ import annotations

import hmac
from hashlib import sha256

from headgate.clock import Clock, SystemClock
from headgate.limiter import Limiter
from headgate.measures import MILLION
from headgate.workers.question import Question

# For how long a page stays logged in, in seconds.
STAY = 12 * 3600
# Who does not know the token may guess so often, all together.
GUESSES = "10/min burst 20"
# How many programs may show a wrong one; those that follow wait for their answer, in seconds. It is
# not refused to listen to them: one that has not heard of a new token would lock out all others.
STRAYS = "30/min"
PAUSE = 1.0
# The header by which a page says that it is one of ours.
PAGE = "headgate-page"
METHODS = ("GET", "POST")


class Porter:
    """Knows who has the `token`, which may be another from now on."""

    def __init__(self, token: str, clock: Clock | None = None) -> None:
        self.token = token
        self._clock: Clock = SystemClock() if clock is None else clock
        self._guesses = Limiter(GUESSES, clock=clock)
        self._strays = Limiter(STRAYS, clock=clock)

    @property
    def name(self) -> str:
        """What the cookie is called: browsers send those of all ports of a machine to each."""
        return f"headgate-{self._sign('name')[:12]}"

    def admit(self, question: Question) -> int:
        """With which status a request is refused, if it is; 0 if it is not."""
        if not question.near:
            return 403
        if question.method not in METHODS:
            return 405
        changes = question.method == "POST"
        if question.has("authorization"):
            if changes and question.has("origin"):
                return 403
            return 0 if self._shows(question) else 401
        if changes and question.has("origin") and not self._own(question):
            return 403
        if not self.valid(question.cookies.get(self.name, "")):
            return 401
        site = question.single("sec-fetch-site")
        if site not in ("", "none", "same-origin"):
            return 403
        proven = question.has("origin") and question.single(PAGE) == "1"
        return 0 if proven or not changes else 403

    def greet(self, question: Question) -> int:
        """`admit` for what anybody on this machine may ask for."""
        if not question.near:
            return 403
        if question.method not in METHODS:
            return 405
        foreign = question.method == "POST" and question.has("origin") and not self._own(question)
        return 403 if foreign else 0

    def login(self, token: str) -> float:
        """0.0 if this is the token; else how long to wait before the next guess, in seconds."""
        decision = self._guesses.peek("")
        if not decision:
            return max(1.0, decision.retry_after)
        if hmac.compare_digest(token.strip().encode(), self.token.encode()):
            return 0.0
        self._guesses.take("")
        return max(1.0, self._guesses.peek("").retry_after)

    def stray(self) -> float:
        """How long a program that has shown a wrong token waits to be told so, in seconds."""
        return 0.0 if self._strays.take("") else PAUSE

    def cookie(self) -> str:
        """The line that has a browser keep the cookie."""
        until = self._clock.now() // MILLION + STAY
        value = f"{until}.{self._sign(str(until))}"
        return f"{self.name}={value}; Max-Age={STAY}; Path=/; HttpOnly; SameSite=Strict"

    def farewell(self) -> str:
        """The line that has it forget the cookie."""
        return f"{self.name}=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict"

    def valid(self, cookie: str) -> bool:
        """Whether this cookie is one of ours, and its time is not over."""
        until, _, signed = cookie.partition(".")
        known = hmac.compare_digest(signed.encode(), self._sign(until).encode())
        return known and until.isdigit() and int(until) * MILLION > self._clock.now()

    def _shows(self, question: Question) -> bool:
        scheme, _, shown = question.single("authorization").partition(" ")
        known = hmac.compare_digest(shown.strip().encode(), self.token.encode())
        return known and scheme.lower() == "bearer"

    def _own(self, question: Question) -> bool:
        # Whether it comes from the page that stands here.
        host = question.single("host").lower()
        return question.single("origin").lower() == f"http://{host}"

    def _sign(self, said: str) -> str:
        return hmac.digest(self.token.encode(), f"headgate:{said}".encode(), sha256).hex()
