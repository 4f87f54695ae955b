"""Files: how many a worker may have open, and whether that is enough for its clients."""

from __future__ import annotations

import resource

# A client is a file, and a request under way another; so many are open besides.
SPARE = 300


def stretch() -> None:
    """Have as many from now on as the system lets this process have."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def shortage(connections: int) -> str:
    """What is wrong, and would be right, where so many clients cannot even connect; else nothing.

    Who runs out of files takes in nobody, and reaches no server for those who are in.
    """
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    wanted = 2 * connections + SPARE
    if most >= connections + SPARE or most == resource.RLIM_INFINITY:
        return ""
    room = (most - SPARE) // 2
    less = f", or write connections: {room}" if room > 0 else ""
    return (
        f"limits.connections is {connections}, for which a worker needs up to {wanted} files, and "
        f"it may open {most}; raise the limit "
        f"(LimitNOFILE={wanted}, --ulimit nofile={wanted}){less}"
    )
