"""Take the picture of the live page that the docs show: `python -m tests.dashboard.portrait`.

A gateway of two workers is asked by a few clients for a while; a browser looks at its page. It
needs Chromium, and plotly.
"""

from __future__ import annotations

import random
import socket
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from tests.servers.browser import Browser
from tests.servers.devtools import Tab
from tests.workers.process import TOKEN, Process
from tests.workers.service import Service

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "pictures" / "live.png"
SIZE = (1280, 1000)
SECONDS = 45
RULES = """\
version: 1
rules:
  - {{name: api, match: {{path: "/v1/**"}}, key: header.x-api-key, limit: [20/s burst 30, 9000/h]}}
  - {{name: login, match: {{path: /login}}, key: client.ip, limit: 30/min, by: sliding_log}}
  - {{name: search, match: {{path: /v1/search}}, key: header.x-api-key, limit: 12/s, mode: shadow}}
  - {{name: reports, match: {{path: /v1/reports}}, concurrent: 5}}
  - {{name: overload, adaptive: vegas}}
gateway:
  listen: "127.0.0.1:0"
  workers: 2
  admin: {{listen: "127.0.0.1:0", token: {token}}}
  audit: {{file: FOLDER/audit}}
  routes: [{{upstream: "{url}"}}]
"""
KEYS = {"acme-mobile": 30, "acme-web": 20, "partner-eu": 10, "nightly-batch": 25, "crawler": 5}
PATHS = {"/v1/items": 50, "/v1/search": 25, "/login": 3, "/v1/reports": 8, "/": 10}


def main() -> None:
    """Have traffic, look at it, and keep the picture."""
    with Service() as service, Process(RULES.format(token=TOKEN, url=service.url)) as gateway:
        for seed in range(3):
            threading.Thread(target=ask, args=(gateway.port, seed), daemon=True).start()
        with Tab(Browser(), *SIZE) as tab:
            tab.dress("light", *SIZE)
            tab.go(f"http://localhost:{gateway.admin}/")
            tab.wait("document.getElementById('entry')?.hidden === false")
            tab.write(TOKEN)
            tab.press("Enter", 13, "\r")
            tab.wait("document.body.dataset.state === 'live'")
            tab.ask("document.getElementById('flow-span').value = '60'")
            tab.ask("document.getElementById('look-rule').value = 'api'")
            tab.ask("document.getElementById('look-key').value = 'acme-mobile'")
            tab.ask("document.getElementById('look').requestSubmit()")
            time.sleep(SECONDS)
            tab.ask("document.activeElement.blur()")
            tab.picture(PICTURE)
    sys.stdout.write(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size:,} bytes\n")


def ask(port: int, seed: int) -> None:
    """Ask at a port for ever, as several clients do: now more, now less."""
    chance = random.Random(seed)
    while True:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 5) as line:
            while True:
                key = chance.choices([*KEYS], [*KEYS.values()])[0]
                path = chance.choices([*PATHS], [*PATHS.values()])[0]
                head = f"GET {path} HTTP/1.1\r\nhost: shop.example\r\nx-api-key: {key}\r\n\r\n"
                line.sendall(head.encode())
                line.recv(65_536)
                pace = 0.008 + 0.016 * (int(time.monotonic() / 12) % 2)
                time.sleep(pace * chance.random() * 2)


if __name__ == "__main__":
    main()
