"""Permits shared by processes: exactly so many at once, and what a dead process held is free."""

from __future__ import annotations

import mmap
import os
import select
import signal
import threading
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from headgate import StoreUnavailable
from headgate.permits.shared.census import UNKNOWN
from headgate.permits.shared.permits import SharedPermits
from headgate.permits.shared.roll import COUNT, OWNER, WIDTH, Roll
from tests.permits.village import Village
from tests.stores.crew import Crew
from tests.stores.stepping import end, fork

GUEST = Path(__file__).with_name("guest.py")
HANDS = 4
KILLS = 3
LIMIT = 3


def opened(folder: Path, limit: int = LIMIT, capacity: int = 100) -> SharedPermits:
    return SharedPermits("inn", limit, capacity, str(folder))


def fill(permits: SharedPermits, key: str = "a") -> list[int]:
    """Take all places that are free, and answer the tickets."""
    return list(iter(lambda: permits.enter(key), None))


def free(permits: SharedPermits, key: str = "a") -> int:
    """How many places can be had; they are given back."""
    tickets = fill(permits, key)
    assert all(permits.leave(key, ticket) for ticket in tickets)
    return len(tickets)


def used(permits: SharedPermits) -> list[int]:
    """The rows that are not as if never used."""
    assert permits._roll is not None
    cells = permits._roll.cells
    return [row for row in range(0, len(cells), WIDTH) if cells[row + OWNER] != 0]


# What is done and what it answers: + and - go in and out, ? asks how many are inside.
SEQUENCES = {
    "as many as there are places": ("+a +a +a +a", "yes yes yes no"),
    "one comes when one has left": ("+a +a +a -a +a +a", "yes yes yes yes yes no"),
    "each key has places of its own": ("+a +a +a +b +a", "yes yes yes yes no"),
    "a place is given back once": ("+a -a -a", "yes yes no"),
    "nobody is inside at first": ("?a", "0"),
    "who is inside is counted": ("+a +a ?a -a ?a -a ?a", "yes yes 2 yes 1 yes 0"),
    "a refusal changes nothing": ("+a +a +a +a ?a -a ?a", "yes yes yes no 3 yes 2"),
    "any text is a key": ("+ +\ud800 +ä ?ä +x" + "y" * 999, "yes yes yes 1 yes"),
}


@pytest.mark.parametrize("what", SEQUENCES)
def test_places_are_had_and_given_back(tmp_path: Path, what: str) -> None:
    done, expected = SEQUENCES[what]
    permits = opened(tmp_path)
    tickets: dict[str, list[int]] = {}
    answers = []
    for act in done.split(" "):
        verb, key = act[0], act[1:]
        if verb == "?":
            answers.append(str(permits.inside(key)))
        elif verb == "+":
            ticket = permits.enter(key)
            if ticket is not None:
                tickets.setdefault(key, []).append(ticket)
            answers.append("no" if ticket is None else "yes")
        else:
            # The last one is brought again when all are back.
            mine = tickets[key]
            ticket = mine.pop() if len(mine) > 1 else mine[0]
            answers.append("yes" if permits.leave(key, ticket) else "no")

    assert " ".join(answers) == expected


def test_nobody_here_is_ever_a_zombie(tmp_path: Path) -> None:
    assert opened(tmp_path).zombies == 0


def test_a_ticket_is_good_for_its_own_key_only(tmp_path: Path) -> None:
    permits = opened(tmp_path)
    ticket = permits.enter("a")
    assert ticket is not None

    assert [permits.leave("b", ticket), permits.leave("a", ticket)] == [False, True]


@pytest.mark.parametrize("ticket", [0, -1, 12345])
def test_a_ticket_that_was_never_given_out_is_refused(tmp_path: Path, ticket: int) -> None:
    permits = opened(tmp_path)
    fill(permits)

    assert (permits.leave("a", ticket), permits.inside("a")) == (False, LIMIT)


def test_two_who_bring_the_same_ticket_at_once_give_back_one_place(tmp_path: Path) -> None:
    permits = opened(tmp_path)
    fill(permits)
    answers: list[bool] = []
    for ticket in (1, 2, 3):
        threads = [
            threading.Thread(target=lambda t=ticket: answers.append(permits.leave("a", t)))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert sorted(answers) == [False] * 9 + [True] * 3
    assert free(permits) == LIMIT


def test_two_objects_of_one_process_share_their_places_but_not_their_tickets(
    tmp_path: Path,
) -> None:
    one, other = opened(tmp_path), opened(tmp_path)
    mine = fill(one)[:2]

    # Their numbers may be the same; those of the other one mean nothing here.
    assert (other.enter("a"), [other.leave("a", ticket) for ticket in mine]) == (None, [False] * 2)
    assert one.leave("a", mine[0])
    assert (other.inside("a"), free(other)) == (2, 1)


def test_a_bulkhead_of_another_name_has_places_of_its_own(tmp_path: Path) -> None:
    fill(opened(tmp_path))

    assert free(SharedPermits("inn", LIMIT, folder=str(tmp_path), bulkhead="bar")) == LIMIT


def test_whoever_closes_gives_back_what_is_held_and_nothing_of_others(tmp_path: Path) -> None:
    one, other = opened(tmp_path), opened(tmp_path)
    ticket = one.enter("a")
    assert ticket is not None
    other.enter("a")
    one.enter("b")
    one.close()
    one.close()

    assert (other.inside("a"), other.inside("b"), one.leave("a", ticket)) == (1, 0, False)
    for act in (one.enter, one.inside):
        with pytest.raises(StoreUnavailable, match=r"\.permits: these permits are closed$"):
            act("a")


@pytest.mark.parametrize(
    ("wrong", "kind", "message"),
    [
        ({"name": 7}, TypeError, "SharedPermits: name is a str, not 7"),
        (
            {"name": ""},
            ValueError,
            "SharedPermits: name is not empty; it is what processes find each other by",
        ),
        ({"limit": 0}, ValueError, "SharedPermits: limit is 1 or more, not 0"),
        ({"limit": 2.5}, TypeError, "SharedPermits: limit is a whole number, not 2.5"),
        ({"capacity": 0}, ValueError, "SharedPermits: capacity is 1 or more, not 0"),
        ({"capacity": True}, TypeError, "SharedPermits: capacity is a whole number, not True"),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_would(
    tmp_path: Path, wrong: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as caught:
        SharedPermits(**{"name": "inn", "limit": 1, "folder": str(tmp_path), **wrong})

    assert str(caught.value) == message


def test_a_key_is_a_str(tmp_path: Path) -> None:
    permits = opened(tmp_path)

    for act in (permits.enter, permits.inside):
        with pytest.raises(TypeError, match=r"^a key is a str, not 7$"):
            act(7)  # type: ignore[arg-type]


# Together


def test_many_threads_of_many_processes_are_never_one_too_many(tmp_path: Path, scale: int) -> None:
    limit, threads, visits = 5, 8, 25 * scale
    book = tmp_path / "book"
    book.write_bytes(bytes(24))
    with Crew(HANDS, GUEST) as crew:
        crew.ask("open", folder=str(tmp_path), limit=limit)
        crew.ask("visit", key="a", book=str(book), threads=threads, visits=visits)
        left = crew.ask("inside", key="a")

    now, most, all_visits = array("q", book.read_bytes())
    # Never more than the limit, and as many as that at some time: else it would show nothing.
    assert (now, most, all_visits) == (0, limit, HANDS * threads * visits)
    assert left == [0] * HANDS
    assert free(opened(tmp_path, limit)) == limit


def test_processes_see_each_others_places(tmp_path: Path) -> None:
    with Crew(2, GUEST) as crew:
        crew.ask("open", folder=str(tmp_path), limit=LIMIT)
        tickets = crew.ask("enter", keys=["a", "a"])
        inside = crew.ask("inside", key="a")

    # Which of them came third is left to chance.
    assert sorted(ticket is None for both in tickets for ticket in both) == [False] * 3 + [True]
    assert inside == [LIMIT, LIMIT]


# The dead


def test_what_a_killed_process_held_can_be_had_at_once(tmp_path: Path) -> None:
    permits = opened(tmp_path)
    with Crew(2, GUEST) as crew:
        crew.ask("open", folder=str(tmp_path), limit=LIMIT)
        first, second = crew.hands
        crew.tell(first, "enter", keys=["a", "a", "b"])
        crew.tell(second, "enter", keys=["b"])
        crew.hear(first), crew.hear(second)
        assert (permits.enter("a") is not None, permits.enter("a")) == (True, None)

        # Dead, but nobody has asked how it ended: the kernel still lists it.
        first.kill()
        first.await_end()
        inside = (permits.inside("a"), permits.inside("b"))
        had = (free(permits, "a"), free(permits, "b"))

    assert (inside, had) == ((1, 1), (2, 2))


def test_rows_of_the_dead_are_used_again(tmp_path: Path, scale: int) -> None:
    permits = opened(tmp_path, limit=1)
    for _ in range(6 * scale):
        end(in_child(lambda: permits.enter("a")))

    assert free(permits, "a") == 1
    assert used(permits) == []


def test_rows_of_the_dead_are_as_if_never_used(tmp_path: Path) -> None:
    village = Village()
    living = village.permits(tmp_path, 9, LIMIT)
    dead = [village.permits(tmp_path, pid, LIMIT) for pid in range(1, LIMIT + 1)]
    assert all(permits.enter("a") is not None for permits in dead)
    before = len(used(living))
    for pid in range(1, LIMIT + 1):
        village.gone(pid)

    assert living.enter("a") is not None
    assert (before, len(used(living))) == (LIMIT, 1)


def test_a_later_process_of_the_same_number_does_not_keep_the_places_of_the_dead(
    tmp_path: Path,
) -> None:
    village = Village()
    living, dead = (village.permits(tmp_path, pid, LIMIT) for pid in (2, 1))
    fill(dead)
    assert (living.enter("a"), living.inside("a")) == (None, LIMIT)

    later = village.permits(tmp_path, 1, LIMIT)

    assert (living.inside("a"), later.inside("a")) == (0, 0)
    assert (len(fill(later)), living.inside("a")) == (LIMIT, LIMIT)


def test_a_process_that_cannot_be_seen_is_not_taken_for_dead(tmp_path: Path) -> None:
    village = Village()
    hidden = village.permits(tmp_path, 1, LIMIT)
    fill(hidden)
    living = village.permits(tmp_path, 2, LIMIT)
    village.began[1] = UNKNOWN

    assert (living.enter("a"), living.inside("a")) == (None, LIMIT)


def test_the_living_are_asked_for_only_where_it_matters(tmp_path: Path) -> None:
    village = Village()
    one = village.permits(tmp_path, 1, LIMIT)
    other = village.permits(tmp_path, 2, LIMIT)
    ticket = one.enter("a")
    assert ticket is not None

    def nobody(pid: int) -> int:
        raise AssertionError(pid)

    other.census.begun = nobody  # type: ignore[method-assign]
    mine = [other.enter("a"), other.enter("b")]

    assert None not in mine
    assert other.leave("a", mine[0] or 0)


def test_whoever_is_killed_in_the_middle_of_traffic_leaves_no_place_taken(
    tmp_path: Path, scale: int
) -> None:
    keys = [f"key:{number}" for number in range(8)]
    permits = opened(tmp_path)

    def put(crew: Crew, guest: Any) -> None:
        record = tmp_path / f"{guest.pid}.record"
        record.write_bytes(b"")
        crew.tell(guest, "open", folder=str(tmp_path), limit=LIMIT)
        assert crew.hear(guest) == "open"
        crew.tell(guest, "roam", keys=keys, record=str(record))
        while record.stat().st_size < 20:
            assert crew.busy(guest)
            os.sched_yield()

    with Crew(HANDS, GUEST) as crew:
        for guest in crew.hands:
            put(crew, guest)
        for number in range(KILLS * scale):
            put(crew, crew.replace(number % HANDS))
        assert all(crew.busy(guest) for guest in crew.hands)

    assert [free(permits, key) for key in keys] == [LIMIT] * len(keys)


# Killed at every write


class Fatal:
    """Cells that are the end of the process at the n-th write."""

    def __init__(self, cells: Any, writes: int) -> None:
        self.cells = cells
        self.writes = writes

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, place: int) -> Any:
        return self.cells[place]

    def __setitem__(self, place: int, value: int) -> None:
        self.cells[place] = value
        self.writes -= 1
        if self.writes == 0:
            os.kill(os.getpid(), signal.SIGKILL)


class Scene:
    """Three processes in a village: one that died, one that lives, and one that will be killed."""

    def __init__(self, folder: Path) -> None:
        village = Village()
        self.dead, self.living, self.victim = (
            village.permits(folder, pid, LIMIT) for pid in (1, 2, 3)
        )
        self.village = village
        for permits in (self.dead, self.living, self.victim):
            # All keys have one home, so that each is in the others' way.
            permits._marks.update(a=(7, 1), b=(7, 2), c=(7, 3))
        self.dead.enter("a")
        self.living.enter("a")
        village.gone(1)

    def killed(self, act: Callable[[SharedPermits], object], writes: int) -> bool:
        """Let the victim do it and be killed at that write; false if it came to the end."""
        permits = self.victim
        assert permits._roll is not None
        owner = permits._owner

        def work() -> None:
            # A child of ours, so that we outlive it; in the village it is the same process.
            permits._owner = owner
            prepare(permits)
            assert permits._roll is not None
            permits._roll.cells = Fatal(permits._roll.cells, writes)
            act(permits)

        status = os.waitpid(fork(work), 0)[1]
        self.village.gone(3)
        return os.WIFSIGNALED(status)


def prepare(permits: SharedPermits) -> None:
    """What the victim has before it is killed: one place of b."""
    permits.enter("b")


def ticket_of(permits: SharedPermits) -> int:
    return next(iter(permits._held))


# What is done, and how many writes that takes.
ACTS: dict[str, tuple[Callable[[SharedPermits], object], int]] = {
    # The key's two halves, the owner, and how many.
    "enters where it has no row": (lambda permits: permits.enter("c"), 4),
    "enters where it has one": (lambda permits: permits.enter("b"), 1),
    # How many, and the row made as if never used.
    "leaves its last place": (lambda permits: permits.leave("b", ticket_of(permits)), 2),
    "leaves one of two": (
        lambda permits: (permits.enter("b"), permits.leave("b", ticket_of(permits))),
        2,
    ),
    # One is had, as many as there are; then the dead one's row is freed, and used.
    "takes the place of the dead": (lambda permits: fill(permits, "a"), 4 + 1 + 1),
    "is refused": (lambda permits: (fill(permits, "a"), permits.enter("a")), 4 + 1 + 1),
    "closes": (lambda permits: permits.close(), 2),
}


@pytest.mark.parametrize("what", ACTS)
def test_whoever_is_killed_at_any_write_leaves_a_true_state(tmp_path: Path, what: str) -> None:
    act, number = ACTS[what]
    deaths = 0
    for writes in count(1):
        folder = tmp_path / str(writes)
        folder.mkdir()
        scene = Scene(folder)
        killed = scene.killed(act, writes)
        permits = scene.living

        # The one that lives has one place of a, and nobody else has any.
        assert [permits.inside(key) for key in "abc"] == [1, 0, 0], writes
        assert [free(permits, key) for key in "abc"] == [LIMIT - 1, LIMIT, LIMIT], writes
        assert permits.leave("a", ticket_of(permits))
        assert [free(permits, key) for key in "abc"] == [LIMIT] * 3, writes
        if not killed:
            break
        deaths += 1

    assert deaths == number


def test_a_row_counts_only_when_it_is_whole(tmp_path: Path) -> None:
    # Of all writes of an entry, the last one is what makes it one.
    permits = opened(tmp_path)
    seen: list[int] = []
    assert permits._roll is not None
    cells = permits._roll.cells

    class Watched(Fatal):
        def __setitem__(self, place: int, value: int) -> None:
            self.cells[place] = value
            seen.append(sum(self.cells[COUNT::WIDTH]))

    permits._roll.cells = Watched(cells, 0)
    permits.enter("a")

    assert seen == [0, 0, 0, 1]


# Forked


def in_child(work: Callable[[], object]) -> int:
    """A child that has done `work`, and waits to be killed."""
    out, into = os.pipe()

    def stay() -> None:
        work()
        os.write(into, b".")
        signal.pause()

    child = fork(stay)
    answered, _, _ = select.select([out], [], [], 30)
    os.close(out)
    os.close(into)
    assert answered
    return child


def told(work: Callable[[], object]) -> str:
    """What `work` comes to in a forked child, which then ends."""
    out, into = os.pipe()
    child = fork(lambda: os.write(into, repr(work()).encode()))
    os.close(into)
    answered, _, _ = select.select([out], [], [], 30)
    answer = os.read(out, 10_000).decode() if answered else "the child hangs"
    os.close(out)
    end(child)
    return answer


def test_a_child_has_none_of_its_parents_places_and_its_parent_keeps_them(tmp_path: Path) -> None:
    permits = opened(tmp_path)
    tickets = fill(permits)

    answer = told(lambda: [permits.leave("a", tickets[0]), permits.enter("a"), permits.inside("a")])

    assert answer == f"[False, None, {LIMIT}]"
    assert (permits.inside("a"), permits.leave("a", tickets[0])) == (LIMIT, True)


def test_a_child_that_closes_gives_back_nothing_of_its_parents(tmp_path: Path) -> None:
    permits = opened(tmp_path)
    fill(permits)

    assert told(permits.close) == "None"
    assert permits.inside("a") == LIMIT


def test_what_a_child_takes_is_its_own_and_ends_with_it(tmp_path: Path) -> None:
    permits = opened(tmp_path)
    mine = permits.enter("a")
    child = in_child(lambda: fill(permits))
    during = (permits.inside("a"), permits.enter("a"))
    end(child)

    assert (during, free(permits)) == ((LIMIT, None), LIMIT - 1)
    assert permits.leave("a", mine or 0)


def test_a_child_keeps_its_places_when_its_parent_ends(tmp_path: Path) -> None:
    permits = opened(tmp_path)
    out, into = os.pipe()

    def parent() -> None:
        permits.enter("a")
        grandchild = in_child(lambda: permits.enter("a"))
        os.write(into, str(grandchild).encode())

    # Of the two places, the parent's are free when it ends, and the grandchild's are not.
    os.waitpid(fork(parent), 0)
    grandchild = int(os.read(out, 100))
    inside = permits.inside("a")
    os.kill(grandchild, signal.SIGKILL)
    os.close(out)
    os.close(into)

    assert inside == 1


def test_a_child_forked_in_the_middle_of_traffic_goes_in_at_once(
    tmp_path: Path, scale: int
) -> None:
    permits = opened(tmp_path, limit=1000)
    over = threading.Event()

    def traffic(key: str) -> None:
        while not over.is_set():
            permits.leave(key, permits.enter(key) or 0)

    threads = [threading.Thread(target=traffic, args=(key,)) for key in "abcd"]
    for thread in threads:
        thread.start()
    try:
        answers = [
            told(lambda: [permits.enter("child") is not None for _ in range(20)])
            for _ in range(4 * scale)
        ]
    finally:
        over.set()
        for thread in threads:
            thread.join()

    assert answers == [repr([True] * 20)] * 4 * scale
    assert [permits.inside(key) for key in ("a", "b", "c", "d", "child")] == [0] * 5


# No room


def crowd(permits: SharedPermits, name: str) -> tuple[list[int], StoreUnavailable]:
    """Go in with one key after another until there is no room, and answer what is said then."""
    tickets: list[int] = []
    for number in count():
        try:
            ticket = permits.enter(f"{name}:{number}")
        except StoreUnavailable as problem:
            return tickets, problem
        assert ticket is not None
        tickets.append(ticket)
    raise AssertionError


@pytest.mark.parametrize("capacity", [1, 2, 10])
def test_more_keys_than_there_is_room_for_is_an_error_and_changes_nothing(
    tmp_path: Path, capacity: int
) -> None:
    permits = opened(tmp_path, limit=2, capacity=capacity)
    tickets, refusal = crowd(permits, "key")

    path = next(tmp_path.rglob("*.permits"))
    assert (refusal.kind, refusal.unknown) == ("crowded", False)
    assert str(refusal) == (
        f"{path}: there is no room for one key more in it ({capacity} were asked for); choose a "
        "larger capacity, the same in all programs"
    )
    # There was room for as many as were asked for, and those who are in have what they had.
    assert capacity <= len(tickets) <= 3 * capacity
    assert [permits.inside(f"key:{number}") for number in range(len(tickets))] == [1] * len(tickets)
    assert permits.enter("key:0") is not None
    assert permits.leave("key:0", tickets[0])
    assert all(permits.leave(f"key:{n}", ticket) for n, ticket in enumerate(tickets) if n > 0)
    assert free(permits, "another") == 2


def test_room_that_the_dead_take_up_is_used_again(tmp_path: Path) -> None:
    village = Village()
    dead = village.permits(tmp_path, 1, LIMIT, 2)
    living = village.permits(tmp_path, 2, LIMIT, 2)
    crowd(dead, "key")
    crowd(living, "other")
    village.gone(1)

    assert living.enter("a") is not None


def test_rows_that_nobody_is_in_are_as_if_never_used(tmp_path: Path) -> None:
    permits = opened(tmp_path, capacity=50)
    tickets = [(f"key:{number}", permits.enter(f"key:{number}") or 0) for number in range(50)]
    assert len(used(permits)) == 50
    # In an order in which many are freed before the end of their chain is.
    for key, ticket in tickets[::3] + tickets[1::3] + tickets[2::3]:
        assert permits.leave(key, ticket)

    assert used(permits) == []


# Interrupted


class Interrupted(Roll):
    """Rows that are looked at while a signal comes in."""

    __slots__ = ("handler",)

    handler: Callable[[], object]

    def seek(self, mark: tuple[int, int], owner: int, limit: int) -> tuple[int, int]:
        found = super().seek(mark, owner, limit)
        handler, self.handler = self.handler, lambda: None
        handler()
        return found


def interrupted(permits: SharedPermits, handler: Callable[[], object]) -> None:
    """Have the next one who looks for a row meet a signal once it has found one."""
    assert permits._roll is not None
    roll = Interrupted(permits._roll.cells, permits.capacity)
    roll.handler = handler
    permits._roll = roll


@pytest.mark.parametrize("key", ["a", "b"])
def test_a_signal_handler_that_enters_in_between_is_counted(tmp_path: Path, key: str) -> None:
    permits = opened(tmp_path, limit=1)
    handled: list[int | None] = []
    interrupted(permits, lambda: handled.append(permits.enter(key)))

    ticket = permits.enter("a")

    # Of the one place of a, only one of them has it; places of b are others, in other rows.
    assert handled != [None]
    assert (ticket is None) == (key == "a")
    assert (permits.inside("a"), permits.inside("b")) == (1, int(key == "b"))
    assert permits.leave(key, handled[0] or 0)
    assert free(permits, key) == 1


def test_a_signal_handler_that_leaves_in_between_is_counted(tmp_path: Path) -> None:
    permits = opened(tmp_path)
    first = permits.enter("a") or 0
    interrupted(permits, lambda: permits.leave("a", first))

    assert permits.enter("a") is not None
    assert permits.inside("a") == 1


def test_the_latch_stays_shut_when_a_signal_handler_has_been_in_and_out(tmp_path: Path) -> None:
    permits, other = opened(tmp_path), opened(tmp_path)
    with permits._latch:
        permits.enter("a")
        during = other._latch._lock()

    assert (during, other._latch._lock()) == (False, True)


@pytest.mark.parametrize("place", ["__enter__", "__exit__"])
def test_whoever_is_interrupted_while_entering_holds_nothing(
    tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    permits = opened(tmp_path)
    plain = getattr(type(permits._latch), place)

    def strike(*args: Any) -> None:
        monkeypatch.undo()
        if place == "__exit__":
            plain(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(type(permits._latch), place, strike)
    with pytest.raises(KeyboardInterrupt):
        permits.enter("a")

    assert free(permits) == LIMIT


# Stopped


@contextmanager
def stopped(permits: SharedPermits) -> Iterator[None]:
    """Somebody else stands still behind the latch meanwhile."""

    def stand() -> None:
        with permits._latch:
            os.kill(os.getpid(), signal.SIGSTOP)

    child = fork(stand)
    os.waitpid(child, os.WUNTRACED)
    yield
    end(child)


def test_a_process_that_was_stopped_in_the_middle_stops_nobody_for_long(tmp_path: Path) -> None:
    permits = opened(tmp_path)
    with stopped(permits), pytest.raises(StoreUnavailable) as caught:
        permits.enter("a")

    path = next(tmp_path.rglob("*.permits"))
    assert caught.value.kind == "timeout"
    assert str(caught.value).startswith(f"{path}: no way in within 0.9 s; ")
    assert free(permits) == LIMIT


@pytest.mark.parametrize(
    "come", [lambda permits: permits.enter("a"), lambda permits: permits.inside("a")]
)
def test_a_place_brought_back_where_there_is_no_way_in_is_free_when_somebody_comes(
    tmp_path: Path, come: Callable[[SharedPermits], int | None]
) -> None:
    permits = opened(tmp_path)
    ticket = fill(permits)[0]
    with stopped(permits):
        left = permits.leave("a", ticket)

    assert (left, permits.leave("a", ticket)) == (True, False)
    # A ticket, or that the two others are inside.
    assert come(permits) in {LIMIT + 2, LIMIT - 1}


def test_memory_is_written_in_whole_cells(tmp_path: Path) -> None:
    # What is written stands in the file itself, where others find it.
    permits = opened(tmp_path, capacity=1)
    permits.enter("a")
    with next(tmp_path.rglob("*.permits")).open("rb") as file:
        seen = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))[4096:].cast("q")

        assert sum(seen[COUNT::WIDTH]) == 1
        seen.release()
