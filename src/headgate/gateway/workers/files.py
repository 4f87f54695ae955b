"""Files: how many a worker may have open, and whether that is enough for its clients."""

from __future__ import annotations

import resource

# A request under way has two connections, and each is a file; so many are open besides.
SPARE = 300


def stretch() -> None:
    """Have as many from now on as the system lets this process have."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def shortage(connections: int) -> str:
    """What is wrong, and would be right, where that is too few for so many clients; else nothing.

    Who runs out of files takes in nobody, and reaches no server for those who are in.
    """
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    wanted = 2 * connections + SPARE
    if most >= wanted or most == resource.RLIM_INFINITY:
        return ""
    room = (most - SPARE) // 2
    less = f", or write connections: {room}" if room > 0 else ""
    return (
        f"limits.connections is {connections}, for which a worker needs {wanted} files, and it may "
        f"open {most}; raise the limit (LimitNOFILE={wanted}, --ulimit nofile={wanted}){less}"
    )
