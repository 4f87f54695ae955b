"""A page in a real browser, driven through its DevTools: what it shows, and complains of."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.servers.browser import Browser
from tests.servers.process import ServerProcess
from tests.servers.waiting import until

OPTIONS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--disable-quic", "--hide-scrollbars", "--remote-debugging-port=0"),
    "--disable-features=Translate,OptimizationHints,MediaRouter",
)
LONGEST = 1 << 26


class Chromium(ServerProcess):
    """A browser that is driven over a WebSocket, whose URL it logs."""

    def __init__(self, browser: Browser, width: int, height: int) -> None:
        profile, size = "--user-data-dir=FOLDER/profile", f"--window-size={width},{height}"
        command = (browser.program, *OPTIONS, profile, size, "about:blank")
        super().__init__("chromium", command, ports=())

    def is_ready(self) -> bool:
        return bool(self.find_url())

    def find_url(self) -> str:
        found = re.search(r"DevTools listening on (ws://\S+)", self.log)
        return "" if found is None else found[1]


class Tab:
    """A page of its own; `asked` is every URL it went for, `complaints` what its console said.

    with Tab(Browser()) as tab:
        tab.go("http://localhost:8080/")
        tab.wait("document.title === 'shop'")
    """

    def __init__(self, browser: Browser, width: int = 1440, height: int = 900) -> None:
        self.asked: list[str] = []
        self.complaints: list[str] = []
        self.troubles: list[str] = []
        self._number = 0
        with ExitStack() as stack:
            chromium = stack.enter_context(Chromium(browser, width, height))
            self._line = self._open(chromium.find_url(), stack)
            self._stack = stack.pop_all()

    def __enter__(self) -> Tab:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def go(self, url: str) -> None:
        """Load a page; it may still be at work when this comes back."""
        self.send("Page.navigate", url=url)

    def ask(self, script: str) -> Any:
        """What an expression is, there and now; a promise is waited for."""
        said = self.send(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in said, said["exceptionDetails"]
        return said["result"].get("value")

    def wait(self, script: str, what: str = "", seconds: float = 30.0) -> Any:
        """The first true value of an expression."""
        return until(lambda: self.ask(script), what or script, seconds)

    def press(self, key: str, code: int = 0, text: str = "") -> None:
        """Press a key and let go of it."""
        for kind in ("keyDown", "keyUp"):
            given: dict[str, Any] = {"key": key, "windowsVirtualKeyCode": code}
            if text and kind == "keyDown":
                given["text"] = text
            self.send("Input.dispatchKeyEvent", type=kind, **given)

    def write(self, text: str) -> None:
        """Have this written where the focus is."""
        self.send("Input.insertText", text=text)

    def dress(self, scheme: str = "light", width: int = 1440, height: int = 900) -> None:
        """Show it by day or by night, and that wide."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.send("Emulation.setEmulatedMedia", features=features)
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip

    def picture(self, file: Path, whole: bool = False) -> None:
        """What it looks like, as PNG; all of it, or what stands in the window."""
        said = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(said["data"]))

    def send(self, method: str, **terms: Any) -> Any:
        """Have something done, and hear what came of it."""
        self._number += 1
        said = {"id": self._number, "method": method, "params": terms}
        self._line.send(json.dumps(said))
        return self._hear(lambda one: one.get("id") == self._number)["result"]

    def listen(self) -> None:
        """Take in what was said meanwhile."""
        self.send("Runtime.evaluate", expression="0")

    def close(self) -> None:
        """End it."""
        self._stack.close()

    def _open(self, url: str, stack: ExitStack) -> ClientConnection:
        with connect(url, max_size=LONGEST, open_timeout=30, ping_interval=None) as self._line:
            targets = self.send("Target.getTargets")["targetInfos"]
        page = next(one["targetId"] for one in targets if one["type"] == "page")
        place = re.sub(r"/devtools/.*", f"/devtools/page/{page}", url)
        self._line = stack.enter_context(
            connect(place, max_size=LONGEST, open_timeout=30, ping_interval=None)
        )
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")
        return self._line

    def _hear(self, wanted: Callable[[Any], bool]) -> Any:
        end = time.monotonic() + 30.0
        while time.monotonic() < end:
            said = json.loads(self._line.recv(timeout=30.0))
            if "method" in said:
                self._note(said["method"], said["params"])
            elif wanted(said):
                assert "error" not in said, said["error"]
                return said
        raise TimeoutError("the browser does not answer")

    def _note(self, method: str, said: Any) -> None:
        if method == "Network.requestWillBeSent":
            self.asked.append(said["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            details = said["exceptionDetails"]
            self.complaints.append(str(details.get("exception", {}).get("description", details)))
        elif method == "Runtime.consoleAPICalled" and said["type"] in (
            "error",
            "warning",
            "assert",
        ):
            self.complaints.append(" ".join(str(one.get("value", "")) for one in said["args"]))
        elif method == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
            entry = said["entry"]
            # That a server was away, or said no, is not the page's mistake.
            kept = self.troubles if entry["source"] == "network" else self.complaints
            kept.append(f"{entry['source']}: {entry['text']} {entry.get('url', '')}")
