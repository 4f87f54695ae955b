"""A real nginx that says which request it saw, and keeps a book of its visits: its access log."""

from __future__ import annotations

import itertools
import json
import signal
import socket
import subprocess
from contextlib import suppress
from pathlib import Path

from tests.servers.binaries import program
from tests.servers.keeper import keeper
from tests.servers.ports import Port
from tests.servers.visits import Visit
from tests.servers.waiting import until

# What can be asked of a visit: nginx tells of no header that its log does not name.
HEADERS = (
    *("host", "connection", "content-length", "transfer-encoding", "te", "trailer", "expect"),
    *("upgrade", "http2-settings", "keep-alive", "proxy-connection", "authorization", "cookie"),
    *("forwarded", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-secret"),
    *("marker", "x-forwarded-port", "x-sum"),
)
# The request goes through a second server, for only what is passed on has its body read and logged.
CONFIGURATION = """
daemon off;
master_process off;
pid nginx.pid;
error_log stderr crit;
events {{ worker_connections 512; }}
http {{
    log_format seen escape=json '{line}';
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    client_max_body_size 0;
    client_body_buffer_size 256k;
    client_body_in_single_buffer on;
    large_client_header_buffers 4 256k;
    underscores_in_headers on;
    merge_slashes off;
    server {{
        listen 127.0.0.1:{port};
        access_log seen.log seen;
        location / {{
            proxy_pass http://unix:{folder}/inner;
            proxy_ignore_client_abort on;
        }}
    }}
    server {{
        listen unix:{folder}/inner;
        access_log off;
        location / {{ return 200 "$request_method $request_uri"; }}
    }}
}}
"""
GRACE = 2.0


class Nginx:
    """Serves on `port`; the answer to a request is its method and its target."""

    name = "nginx"

    def __init__(self) -> None:
        self.binary = find()
        self.folder = keeper().room("nginx")
        self.place = Port()
        self.asked = itertools.count()
        self.noted = 0
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Nginx:
        plan = CONFIGURATION.format(line=form(), port=self.port, folder=self.folder)
        (self.folder / "nginx.conf").write_text(plan)
        options = ("-p", f"{self.folder}/", "-c", "nginx.conf", "-e", "stderr")
        self.process = keeper().start(self.folder, str(self.binary), *options)
        try:
            until(self.ready, f"{self} to answer")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<nginx on {self.port}>"

    @property
    def port(self) -> int:
        return self.place.number

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def visits(self) -> list[Visit]:
        """All visits since this was last asked.

        A request of our own is the last of them. One process handles one after the other, and
        writes a line before it hangs up: at the end of this answer, all lines are there.
        """
        last = f"/last/{next(self.asked)}"
        with socket.create_connection(("127.0.0.1", self.port), 5.0) as line:
            line.sendall(f"GET {last} HTTP/1.0\r\n\r\n".encode())
            while line.recv(1 << 16):
                pass
        with (self.folder / "seen.log").open("rb") as log:
            log.seek(self.noted)
            found = [parse(line) for line in log]
            self.noted = log.tell()
        if found[-1].target != last:
            raise AssertionError(f"{self} does not note its visits in order: {found}")
        return found[:-1]

    def close(self) -> None:
        """End it and give the port back."""
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(GRACE)
            self.process.kill()
            self.process.wait()
            keeper().forget(self.folder, self.process)
            self.process = None
        self.place.close()

    def ready(self) -> bool:
        """Whether it answers; raises with its last words when it has ended."""
        if self.process is not None and self.process.poll() is not None:
            words = (self.folder / "log").read_text("utf-8", "replace")
            raise RuntimeError(f"{self} did not start: {words}")
        return self.visits() == []


def find() -> Path:
    """The program; raises `Missing` where there is none."""
    return program("nginx", "apt-get install nginx-light")


def form() -> str:
    """The form of a line of the log: JSON, with everything that a `Visit` has."""
    names = (f'"{name}":"$http_{name.replace("-", "_")}"' for name in HEADERS)
    facts = '"request":"$request","body":"$request_body","status":"$status"'
    return f"{{{facts},{','.join(names)}}}"


def parse(line: bytes) -> Visit:
    """The visit of which a line tells; nginx itself answers 400 and 499 when it is not whole."""
    said = json.loads(line.decode("latin-1"))
    method, _, rest = said["request"].partition(" ")
    headers = tuple((name, said[name]) for name in HEADERS if said[name])
    body = said["body"].encode("latin-1")
    whole = said["status"] not in {"400", "499"}
    return Visit(method, rest.rpartition(" ")[0], headers, body, whole)
