"""An impostor: listens like a Redis, understands its protocol, and answers what a test likes."""

from __future__ import annotations

import socket
import socketserver
from collections.abc import Callable
from threading import Thread

from tests.servers.resp import parse

# What to answer to a command, as bytes; None hangs up.
Answer = Callable[[list[bytes]], bytes | None]


class Impostor(socketserver.ThreadingTCPServer):
    """Answers every command with what `answer` makes of its words, until it is closed."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, answer: Answer) -> None:
        super().__init__(("127.0.0.1", 0), Conversation)
        self.answer = answer
        self.port: int = self.server_address[1]
        self.thread = Thread(target=self.serve_forever, args=(0.01,), name="impostor")

    def __enter__(self) -> Impostor:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.thread.join()
        self.server_close()


class Conversation(socketserver.BaseRequestHandler):
    """One connection to an impostor."""

    server: Impostor
    request: socket.socket

    def handle(self) -> None:
        unread = b""
        while True:
            try:
                data = self.request.recv(65_536)
            except OSError:
                return
            if not data:
                return
            unread += data
            while (found := parse(unread)) is not None:
                words, end = found
                unread = unread[end:]
                answer = self.server.answer([bare(word) for word in words])
                if answer is None:
                    return
                self.request.sendall(answer)


def bare(word: str) -> bytes:
    return word.encode("utf-8", "surrogateescape")


def nonce(words: list[bytes]) -> bytes:
    """What a script's answer has to begin with, if its caller is to believe it."""
    return words[4] if words[0].upper() in {b"EVAL", b"EVALSHA"} else b""


def bulk(data: bytes) -> bytes:
    return b"$%d\r\n%b\r\n" % (len(data), data)
