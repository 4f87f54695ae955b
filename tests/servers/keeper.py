"""No server outlives its tests, however they end.

Each server has a folder with its number in a file called `pid`. A small shell, the keeper, waits
at a pipe whose other end only this process holds. When this process ends, killed or not, the pipe
closes; the keeper kills whoever has a number in the folder and removes it.

The signal that Linux can send to orphans (PR_SET_PDEATHSIG) would not do: it follows the thread
that started the server, not the process, and has to be asked for between fork and exec.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import tempfile
from functools import cache
from pathlib import Path

# The move is what decides: a number written before is found, and after it none can be written, so
# a server that is just being started does not slip through.
WATCH = """
trap '' HUP INT TERM
read -r _
mv "$1" "$1.over" || exit
for file in "$1.over"/*/pid; do
    test -f "$file" && kill -9 "$(cat "$file")"
done
rm -rf "$1.over" || { sleep 0.2; rm -rf "$1.over"; }
"""
REGISTER = 'echo $$ >"$0/pid" && exec "$@"'


class Keeper:
    """The folder of all servers of this process, and the shell that watches over them."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="headgate-servers-"))
        self.owner = os.getpid()
        self.held: int | None
        watched, self.held = os.pipe()
        self.shell = subprocess.Popen(
            ["sh", "-c", WATCH, "keeper", self.folder],
            stdin=watched,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )
        os.close(watched)
        self.started: list[subprocess.Popen[bytes]] = []
        # A forked child may outlive this process, and must not hold the pipe open.
        os.register_at_fork(after_in_child=self.release)
        atexit.register(self.close)

    def room(self, name: str) -> Path:
        """A new folder for one server."""
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.folder))

    def start(self, room: Path, *command: str) -> subprocess.Popen[bytes]:
        """Run `command` in `room` and watch over it; what it says is in the file `log`.

        It has a session of its own: an interrupt from the keyboard is for the tests alone, which
        then stop their servers in good order.
        """
        with (room / "log").open("ab") as log:
            process = subprocess.Popen(
                ["sh", "-c", REGISTER, room, *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=room,
                start_new_session=True,
            )
        self.started.append(process)
        return process

    def forget(self, room: Path, process: subprocess.Popen[bytes]) -> None:
        """Say that `process` is over: its number may soon be another's."""
        (room / "pid").unlink(missing_ok=True)
        self.started.remove(process)

    def close(self) -> None:
        if os.getpid() != self.owner:
            return
        self.release()
        self.shell.wait(30)
        for process in self.started:
            process.wait(30)

    def release(self) -> None:
        """Let go of the pipe, once: to a grandchild, the number may mean something else."""
        if self.held is not None:
            os.close(self.held)
            self.held = None


@cache
def keeper() -> Keeper:
    """The one keeper of this process, called into being by its first server."""
    return Keeper()
