"""A real browser, without a window: it loads a page and says what came of it."""

from __future__ import annotations

import shutil
import subprocess
import tempfile

from tests.servers.binaries import Missing

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
    # Time passes for the page as soon as nothing is left to do: nobody waits.
    "--virtual-time-budget=5000",
)


class Browser:
    """Chromium, with a profile of its own for every page."""

    def __init__(self) -> None:
        found = [program for program in map(shutil.which, PROGRAMS) if program]
        if not found:
            raise Missing("no browser here; apt-get install chromium")
        self.program = found[0]

    def load(self, url: str) -> str:
        """The document as it stands when the page and its scripts are done."""
        with tempfile.TemporaryDirectory() as profile:
            command = [self.program, *OPTIONS, f"--user-data-dir={profile}", "--dump-dom", url]
            done = subprocess.run(command, capture_output=True, timeout=60, check=True)
        return done.stdout.decode("utf-8", "replace")
