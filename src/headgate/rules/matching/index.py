"""Index: which of many conditions a request meets, at about the cost of one.

Asking ten thousand rules one by one takes milliseconds. So each condition stands in a table under
what is rarest about it: its path, where few others have the same, or its host, method, header or
network. A request is looked up once in each table; what it finds there is a branch, a smaller index
of those that agree in this, and what cannot be told apart any more is asked one by one.

Nothing is copied into the branches of others: a condition without a host is in no table of hosts.
A branch is worked out when a request first gets there, and bounded by the rules, not by traffic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_network
from typing import NamedTuple

from headgate.rules.clients import address
from headgate.rules.matching.comparison import CLIENT, PATH, Test, asking, meeting
from headgate.rules.matching.expression import Expression
from headgate.rules.matching.facts import Fact
from headgate.rules.matching.glob import Glob, wild
from headgate.rules.matching.paths import PathIndex, parse, split
from headgate.rules.matching.request import Request

# Below the first tables a clause with more values than this stands in none: nested, they multiply.
WIDE = 16


@dataclass(frozen=True, slots=True)
class Clause:
    """A fact and values of which one must be true of it, or, inverse, none.

    Values are as in a match: patterns for the path, networks for the client, texts or globs else.
    """

    fact: Fact
    values: tuple[str, ...]
    inverse: bool = False

    def __post_init__(self) -> None:
        if self.fact == PATH:
            for value in self.values:
                parse(value)
        elif self.fact == CLIENT:
            address.Networks(self.values)
        else:
            for value in filter(wild, self.values):
                Glob(value)

    def build(self, paths: Sequence[str]) -> Test:
        """What holds it against a request; `paths` are the rule's, for `path.NAME`."""
        test = asking(self.fact, meeting(self.fact, self.values), paths)
        return test if not self.inverse else lambda request: not test(request)

    @property
    def keys(self) -> tuple[str, ...]:
        """Under what it can stand in a table; nothing if it cannot."""
        if self.inverse or (self.fact.family == "path" and self.fact.name):
            return ()
        if self.fact == PATH:
            return self.values
        if any(map(wild, self.values)):
            return ()
        return tuple(each for value in self.values for each in self.fact.alike(value))


@dataclass(frozen=True, slots=True)
class Condition:
    """What must be true of a request: one of `paths` if there are any, all clauses, and `when`."""

    paths: tuple[str, ...] = ()
    clauses: tuple[Clause, ...] = ()
    when: Expression | None = None
    # Its clauses, with that of the path unless it is any path.
    all: tuple[Clause, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        path = (Clause(PATH, self.paths),) if self.paths else ()
        if any(split(pattern) == ["**"] for pattern in self.paths):
            path = ()
        object.__setattr__(self, "all", path + self.clauses)
        facts = [clause.fact for clause in self.clauses]
        for fact in facts if self.when is None else [*facts, *self.when.facts]:
            if fact.family == "path" and fact.name:
                # Whether it stands in the path is known now, and not when a request comes.
                fact.reader(self.paths)

    @classmethod
    def of(
        cls,
        conditions: Mapping[str, Sequence[str]],
        exceptions: Mapping[str, Sequence[str]] | None = None,
        when: Expression | None = None,
    ) -> Condition:
        """Make it from facts and their values, as a match has them; no exception may hold."""
        clauses = [
            Clause(Fact.parse(word), tuple(values))
            for word, values in conditions.items()
            if word != "path"
        ]
        clauses += [
            Clause(Fact.parse(word), tuple(values), inverse=True)
            for word, values in (exceptions or {}).items()
        ]
        return cls(tuple(conditions.get("path", ())), tuple(clauses), when)

    def build(self) -> Test:
        """What says whether a single request meets it."""
        return every(self, self.all)


class Index:
    """Conditions in order: `Index([Condition(("/v1/**",))]).find(request)`."""

    def __init__(self, conditions: Iterable[Condition]) -> None:
        self._root = Branch([Entry(*each, each[1].all) for each in enumerate(conditions)])
        self._root.grow(widest=1 << 30)

    def find(self, request: Request) -> tuple[int, ...]:
        """The positions of the conditions that the request meets, in order."""
        found: list[int] = []
        reached = [self._root]
        # The list grows while it is gone through, by what each branch leads to.
        for branch in reached:
            if not branch.grown:
                branch.grow(WIDE)
            for step in branch.steps:
                reached += step(request)
            for position, test in branch.leaves:
                if test(request):
                    found.append(position)
            found += branch.sure
        # Who has two networks that hold the client, or two patterns that fit, is met twice.
        return tuple(found) if len(found) < 2 else tuple(sorted({*found}))


class Entry(NamedTuple):
    """A condition, where it stands, and those of its clauses that are still open."""

    position: int
    condition: Condition
    clauses: tuple[Clause, ...]


class Choice(NamedTuple):
    """A clause that an entry can stand under in a table, and the keys it has there."""

    entry: Entry
    clause: Clause
    keys: tuple[str, ...]


class Branch:
    """Conditions that are alike in all that is known of the request so far."""

    __slots__ = ("entries", "grown", "leaves", "steps", "sure")

    def __init__(self, entries: list[Entry]) -> None:
        self.entries = entries
        self.grown = False
        self.steps: Sequence[Step] = ()
        self.leaves: Sequence[tuple[int, Test]] = ()
        self.sure: Sequence[int] = ()

    def grow(self, widest: int) -> None:
        """Work out the tables, and what is left to be asked one by one."""
        chosen, rest = sift(self.entries, widest)
        # Two threads may do this at once, and do the same.
        self.steps = [step(fact, choices) for fact, choices in chosen.items()]
        self.sure = [entry.position for entry in rest if settled(entry)]
        self.leaves = [
            (entry.position, every(entry.condition, entry.clauses))
            for entry in rest
            if not settled(entry)
        ]
        self.grown = True


Step = Callable[[Request], Iterable[Branch]]


def settled(entry: Entry) -> bool:
    """Whether nothing is left to ask."""
    return not entry.clauses and entry.condition.when is None


def every(condition: Condition, clauses: Sequence[Clause]) -> Test:
    """Asks these clauses of a condition, and what it says in `when`."""
    tests = [clause.build(condition.paths) for clause in clauses]
    if condition.when is not None:
        tests.append(condition.when.compile(condition.paths))
    if len(tests) == 1:
        return tests[0]

    def test(request: Request) -> bool:
        for each in tests:  # noqa: SIM110 - all() takes twice as long
            if not each(request):
                return False
        return True

    return test


def sift(entries: list[Entry], widest: int) -> tuple[dict[Fact, list[Choice]], list[Entry]]:
    """Where each entry stands: under the clause that it shares with fewest, or in no table."""
    if len(entries) == 1:
        return {}, entries
    options = [[*choices(entry, widest)] for entry in entries]
    known = [choice for found in options for choice in found]
    shared = Counter((choice.clause.fact, key) for choice in known for key in choice.keys)
    common = Counter(choice.clause.fact for choice in known)

    def crowd(choice: Choice) -> tuple[int, int]:
        fact = choice.clause.fact
        return max(shared[fact, key] for key in choice.keys), -common[fact]

    chosen: dict[Fact, list[Choice]] = {}
    rest = []
    for entry, found in zip(entries, options, strict=True):
        best = min(found, key=crowd, default=None)
        if best is None:
            rest.append(entry)
        else:
            chosen.setdefault(best.clause.fact, []).append(best)
    return chosen, rest


def choices(entry: Entry, widest: int) -> Iterator[Choice]:
    """The clauses of an entry that a table can be made of."""
    for clause in entry.clauses:
        keys = clause.keys
        if keys and len(keys) <= widest:
            yield Choice(entry, clause, keys)


def step(fact: Fact, group: list[Choice]) -> Step:
    """A table by one fact, and how a request is looked up in it."""
    table: dict[str, list[Entry]] = {}
    for entry, clause, keys in group:
        left = entry._replace(clauses=tuple(each for each in entry.clauses if each is not clause))
        for key in keys:
            table.setdefault(key, []).append(left)
    branches = {key: (Branch(entries),) for key, entries in table.items()}
    if fact == PATH:
        return along(branches)
    if fact == CLIENT:
        return within(branches)
    read = fact.reader()
    return lambda request: branches.get(read(request), ())


def along(branches: dict[str, tuple[Branch]]) -> Step:
    """The branches of all patterns that the path fits."""
    each = [branch for (branch,) in branches.values()]
    index = PathIndex((pattern, number) for number, pattern in enumerate(branches))

    def step(request: Request) -> Iterable[Branch]:
        state = index.reach(request.path)
        if state.note is None:
            state.note = tuple([each[hit] for hit in state.hits])
        return state.note  # type: ignore[no-any-return]

    return step


def within(branches: dict[str, tuple[Branch]]) -> Step:
    """The branches of all networks that hold the client's address, by one look for each length."""
    ipv4: dict[int, dict[int, Branch]] = {}
    ipv6: dict[int, dict[int, Branch]] = {}
    for cidr, (branch,) in branches.items():
        network = ip_network(cidr)
        free = network.max_prefixlen - network.prefixlen
        first = int(network.network_address)
        mask = address.EVERY ^ ((1 << free) - 1)
        if network.version == 4:
            ipv4.setdefault(mask, {})[address.MAPPED << 32 | first] = branch
        else:
            ipv6.setdefault(mask, {})[first] = branch

    def step(request: Request) -> Iterable[Branch]:
        number = address.parse(request.address)
        if number is None:
            return ()
        table = ipv4 if number >> 32 == address.MAPPED else ipv6
        held = [firsts.get(number & mask) for mask, firsts in table.items()]
        return [branch for branch in held if branch is not None]

    return step
