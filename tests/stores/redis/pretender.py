"""A server that is none: it understands every question, and answers what it was told to answer."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress

from tests.servers.resp import parse

# From the nonce of a question to all that is sent back.
Reply = Callable[[bytes], bytes]


class Pretender:
    """Listens on a port of this machine; `reply` may be changed at any time."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.connections = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.serve)

    def __enter__(self) -> Pretender:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # Closing does not wake who waits for a connection; hanging up does.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(10)

    def serve(self) -> None:
        with suppress(OSError):
            while True:
                wire, _ = self.listener.accept()
                self.connections += 1
                threading.Thread(target=self.converse, args=(wire,), daemon=True).start()

    def converse(self, wire: socket.socket) -> None:
        heard = b""
        with wire, suppress(OSError):
            while more := wire.recv(65_536):
                heard += more
                while (found := parse(heard)) is not None:
                    heard = heard[found[1] :]
                    # EVALSHA, the script, how many keys, the key, the nonce.
                    nonce = found[0][4].encode("utf-8", "surrogateescape")
                    wire.sendall(self.reply(nonce))


def right(nonce: bytes, left: int = 3) -> bytes:
    """The reply of a script that lets one in; so many are left."""
    return bulk(nonce + struct.pack("<Bqqq", 0, 0, left, 1_000_000))


def bulk(text: bytes) -> bytes:
    return b"$%d\r\n%b\r\n" % (len(text), text)
