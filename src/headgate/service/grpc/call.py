"""Call: one call of a method, and the stream of HTTP/2 that it comes over."""

from __future__ import annotations

from typing import Any

from headgate.service.grpc.head import Head
from headgate.service.grpc.status import OK


class Call:
    """A call, for the method that answers it.

    `peer` is the address it comes from and `caller` who calls, None for a stranger. `deadline` is
    when nobody waits for the answer any more, in microseconds of the house; 0 is never. `over` says
    that it has ended: what is sent after that goes nowhere.
    """

    __slots__ = (
        "answer", "backlog", "body", "caller", "channel", "deadline", "done", "ended", "got",
        "head", "held", "opened", "over", "room", "since", "stream", "tail", "talker", "task",
        "used",
    )  # fmt: skip

    # What is called, or spoken to, and who is waited for.
    answer: Any
    talker: Any
    task: Any
    caller: Any
    # What was read of a message, and what is still to be sent.
    body: bytearray | None
    backlog: bytearray | None

    def __init__(self, channel: Any, head: Head) -> None:
        self.channel = channel
        self.head = head
        self.answer = self.talker = self.task = self.caller = self.body = self.backlog = None
        # How much more the client takes in, and how much it has sent since it was told to go on.
        self.stream = self.room = self.used = 0
        # When anything last came of it.
        self.since = self.deadline = 0
        # How much of what was read is counted, and how much came in all.
        self.held = self.got = 0
        # The headers after what is still to be sent.
        self.tail = b""
        # The client has said everything; it was told something; it was told how the call ends.
        self.ended = self.opened = self.done = self.over = False

    @property
    def peer(self) -> str:
        """The address it comes from."""
        return str(self.channel.peer)

    def metadata(self, name: str) -> str:
        """What the client says under a name, which is in lower case; "" where it says nothing."""
        return b",".join(self.head.all(name.encode("latin-1"))).decode("latin-1")

    def send(self, message: bytes) -> None:
        """Send a message, as soon as the client takes it in."""
        self.channel.send(self, message)

    def finish(self, code: int = OK, message: str = "") -> None:
        """End the call, after what was sent."""
        self.channel.conclude(self, code, message)
