"""Doors: a socket for each worker, and nobody else's place."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from headgate.rules.model.place import listening
from headgate.workers.doors import Door, doors
from headgate.workers.heritage import VARIABLE, Heritage, bequest, inherit

LISTENS = socket.SOL_SOCKET, socket.SO_ACCEPTCONN


def test_each_worker_has_a_socket_of_the_same_port() -> None:
    door = opened("127.0.0.1:0", 3)

    assert len({line.fileno() for line in door.lines}) == 3
    assert {f"127.0.0.1:{line.getsockname()[1]}" for line in door.lines} == {door.place}
    door.remove()


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_somebody_stands_at_each_socket(workers: int) -> None:
    door = opened("127.0.0.1:0", 3)

    shares = [door.share(slot, workers) for slot in range(workers)]

    assert all(shares)
    assert sorted(line.fileno() for share in shares for line in share) == sorted(
        line.fileno() for line in door.lines
    )
    door.remove()


@pytest.mark.parametrize("wider", ["0.0.0.0:{}", ":{}", "localhost:{}"])
def test_the_port_of_a_door_that_is_known_may_be_another_doors(wider: str) -> None:
    known = opened("127.0.0.1:0", 2)
    address = wider.format(known.port)

    (door,) = doors([(address, listening(address))], 2, [known])

    assert (door.port, len(door.lines)) == (known.port, 2)
    # Nobody has to wait there for workers that may never be.
    assert not any(line.getsockopt(*LISTENS) for line in door.lines)
    known.remove()
    door.remove()


def test_a_door_is_known_by_where_it_is_as_well() -> None:
    known = opened("127.0.0.1:0", 1)

    (door,) = doors([(known.place, listening(known.place))], 1, [known])

    assert (door, door.address) == (known, known.place)
    door.remove()


def test_a_port_that_somebody_has_is_not_shared() -> None:
    """Also before a worker is there: two that start at once would both have it."""
    other = opened("127.0.0.1:0", 1)

    with pytest.raises(OSError, match=f"^cannot listen on {other.place}: Address already in use$"):
        opened(other.place, 1)
    other.remove()


def test_all_interfaces_are_those_that_the_kernel_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "socket", Ancient)
    door = opened(":0", 2)

    assert door.place.startswith("0.0.0.0:")
    assert [line.family for line in door.lines] == [socket.AF_INET] * 2
    with pytest.raises(OSError, match=f":{door.place[8:]}: Address already in use$"):
        opened(f":{door.place[8:]}", 1)
    with pytest.raises(OSError, match=r"^cannot listen on \S+: Address family not supported"):
        opened("[::1]:0", 1)
    door.remove()


class Ancient(socket.socket):
    """What sockets are where the kernel was started without IPv6."""

    def __init__(self, family: int = -1, *words: int, **named: Any) -> None:
        if family == socket.AF_INET6:
            raise OSError(errno.EAFNOSUPPORT, os.strerror(errno.EAFNOSUPPORT))
        super().__init__(family, *words, **named)


def test_all_workers_have_one_socket_of_the_file_system(tmp_path: Path) -> None:
    path = tmp_path / "web.sock"
    door = opened(f"unix:{path}", 3)

    assert door.share(0, 3) == door.share(2, 3) == door.lines
    assert (door.place, path.is_socket()) == (f"unix:{path}", True)
    # Who listened on it has closed it already.
    door.lines[0].close()
    door.remove()
    assert not path.exists()


def test_a_socket_that_nobody_listens_on_is_replaced(tmp_path: Path) -> None:
    address = f"unix:{tmp_path / 'web.sock'}"
    opened(address, 1).close()

    door = opened(address, 1)

    with pytest.raises(OSError, match=f"^cannot listen on {address}: Address already in use$"):
        opened(address, 1)
    door.remove()


def test_a_file_that_is_no_socket_stays(tmp_path: Path) -> None:
    path = tmp_path / "precious"
    path.write_text("all of it")

    with pytest.raises(OSError, match=r"a file that is no socket stands there$"):
        opened(f"unix:{path}", 1)
    assert path.read_text() == "all of it"


def test_a_socket_that_another_has_put_there_stays(tmp_path: Path) -> None:
    address = f"unix:{tmp_path / 'web.sock'}"
    old = opened(address, 1)
    (tmp_path / "web.sock").unlink()
    new = opened(address, 1)

    old.remove()

    assert (tmp_path / "web.sock").is_socket()
    new.remove()


def test_a_socket_that_was_given_stays(tmp_path: Path) -> None:
    door = opened(f"unix:{tmp_path / 'web.sock'}", 1)

    Door(door.address, door.lines, given=True).remove()

    assert (tmp_path / "web.sock").is_socket()


def test_what_was_begun_is_undone_where_one_place_is_taken(tmp_path: Path) -> None:
    taken = opened("127.0.0.1:0", 1)
    taken.lines[0].listen()
    places = [f"unix:{tmp_path / 'web.sock'}", taken.place]

    with pytest.raises(OSError, match=r"^cannot listen on "):
        doors([(address, listening(address)) for address in places], 1, ())

    assert not (tmp_path / "web.sock").exists()
    taken.remove()


def test_a_successor_finds_the_same_sockets_and_may_add_more() -> None:
    door, spare = opened("127.0.0.1:0", 2), socket.socket()
    said, numbers = bequest(Heritage((door,), None, spare))
    assert numbers == [spare.fileno(), *(line.fileno() for line in door.lines)]
    environment = {VARIABLE: said}

    left = inherit(environment, ["127.0.0.1:0"])
    (found,) = doors([("127.0.0.1:0", listening("127.0.0.1:0"))], 3, left.doors)

    assert environment == {}
    assert (found.place, len(found.lines)) == (door.place, 3)
    assert [line.fileno() for line in found.lines[:2]] == [line.fileno() for line in door.lines]
    for line in (*door.lines, spare):
        line.detach()
    found.remove()
    assert left.line is not None
    left.line.close()


@pytest.mark.parametrize("pid", ["", "1", str(os.getpid() + 1)], ids=["none", "init", "next"])
def test_what_systemd_left_to_another_process_is_not_taken(pid: str) -> None:
    environment = {"LISTEN_PID": pid, "LISTEN_FDS": "1", "LISTEN_FDNAMES": "web"}

    assert inherit(environment, ["127.0.0.1:0"]) == Heritage()
    assert environment == {}


def test_systemd_has_a_socket_for_each_address() -> None:
    environment = {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "2"}

    with pytest.raises(ValueError) as caught:
        inherit(environment, ["127.0.0.1:0"])
    assert str(caught.value) == (
        "systemd has 2 sockets for 1 addresses; have a ListenStream for each, "
        "in the order of listen"
    )


def opened(address: str, workers: int) -> Door:
    (door,) = doors([(address, listening(address))], workers, ())
    return door
