"""A real nginx that says which request it saw, and keeps a book of its visits: its access log."""

from __future__ import annotations

import itertools
import json
import socket
from pathlib import Path

from tests.servers.binaries import program
from tests.servers.process import ServerProcess
from tests.servers.visits import Visit

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
events { worker_connections 512; }
http {
    log_format seen escape=json 'LINE';
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
    server {
        listen 127.0.0.1:PORT;
        access_log seen.log seen;
        location / {
            proxy_pass http://unix:FOLDER/inner;
            proxy_ignore_client_abort on;
        }
    }
    server {
        listen unix:FOLDER/inner;
        access_log off;
        location / { return 200 "$request_method $request_uri"; }
    }
}
"""


class Nginx(ServerProcess):
    """Serves on `port`; the answer to a request is its method and its target."""

    def __init__(self) -> None:
        text = CONFIGURATION.replace("LINE", form())
        super().__init__("nginx", nginx_command(), {"nginx.conf": text})
        self.asked = itertools.count()
        self.noted = 0

    def is_ready(self) -> bool:
        return self.visits() == []

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


def nginx_command() -> tuple[str | Path, ...]:
    """The command that runs `nginx.conf` of a folder; raises `Missing` without an nginx."""
    found = program("nginx", "apt-get install nginx-light")
    return (found, "-p", "FOLDER/", "-c", "nginx.conf", "-e", "stderr")


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
