"""Census: which processes live, as the kernel's own table says.

A process is known by its number and by the moment it began: a number is given to somebody else
once its process is gone, a number and a moment are not. The two make one owner, a whole number
that fits into a cell.

Numbers mean something in one pid namespace only, and moments in one time namespace: seen from
another one, whoever lives would look dead. So those who share a file have to be of one `world`.

Whoever replaces itself by another program (`exec`) stays the same process, with what it held.
"""

from __future__ import annotations

import os

from headgate.errors import StoreUnavailable

# No number of a process needs more bits; of the moment, in hundredths of a second since the
# machine's start, the others hold centuries.
BITS = 22
MASK = (1 << BITS) - 1

DEAD = -1
UNKNOWN = -2
NAMESPACES = ("pid", "time")


class Census:
    """The processes that this one can see."""

    def myself(self) -> int:
        """This process, as an owner."""
        pid = self.pid()
        began = self.begun(pid)
        if began < 0:
            raise StoreUnavailable("/proc: it does not say when this process began; mount it")
        return began << BITS | pid

    def lives(self, owner: int) -> bool:
        """Whether an owner is still there. Who cannot be seen, and is not known dead, lives."""
        began = self.begun(owner & MASK)
        return began in {owner >> BITS, UNKNOWN}

    def pid(self) -> int:
        """This process's number, if `/proc` goes by the same numbers."""
        pid = os.getpid()
        try:
            shown = os.readlink("/proc/self")
        except OSError as problem:
            raise StoreUnavailable(f"/proc/self: {problem.strerror}") from problem
        if shown != str(pid):
            raise StoreUnavailable(
                f"/proc: it belongs to another pid namespace, and shows process {pid} as {shown}; "
                "mount it anew"
            )
        return pid

    def begun(self, pid: int) -> int:
        """When a process began, in ticks of the kernel; `DEAD`, or `UNKNOWN` if nobody says."""
        try:
            file = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
            try:
                text = os.read(file, 4096)
            finally:
                os.close(file)
        except (FileNotFoundError, ProcessLookupError):
            return hidden(pid)
        except OSError:
            # Too many open files, say: that is no reason to bury anybody.
            return UNKNOWN
        # The name stands in brackets, and may have spaces and brackets itself.
        words = text[text.rindex(b")") + 2 :].split()
        # Nobody has asked yet how it ended: dead, unless only its first thread is.
        ended = words[0] in {b"Z", b"X"} and int(words[17]) <= 1
        return DEAD if ended else int(words[19])

    def world(self) -> str:
        """The namespaces in which this process's numbers and moments mean something."""
        names = []
        for kind in NAMESPACES:
            try:
                names.append(os.readlink(f"/proc/self/ns/{kind}"))
            except OSError:
                names.append(f"{kind}:unknown")
        return " ".join(names)


def hidden(pid: int) -> int:
    """What is known of a process that `/proc` does not show: it may only be hidden from us."""
    try:
        # A signal to 0 would be one to our own group.
        if pid > 0:
            os.kill(pid, 0)
            return UNKNOWN
    except PermissionError:
        return UNKNOWN
    except ProcessLookupError:
        pass
    return DEAD
