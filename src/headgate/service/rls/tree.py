"""Tree: which limit a descriptor meets, entry by entry, as the reference finds it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from headgate.rules.matching.facts import tidy
from headgate.service.rls.domains import Descriptor, Domain
from headgate.service.rls.leaf import Leaf

# A key and a value.
Entry = tuple[str, str]


class Node:
    """One level: what the next entry may be. `leaf` is the limit of who ends here, if any."""

    def __init__(self, title: str, leaf: Leaf | None, descriptors: Iterable[Descriptor]) -> None:
        self.leaf = leaf
        # Where all that fit a pattern count together, the pattern.
        self.shared = ""
        self._exact: dict[Entry, Node] = {}
        self._bare: dict[str, Node] = {}
        # In the order of the file: the first that fits counts.
        self._wild: list[tuple[str, list[str], Node]] = []
        for told in descriptors:
            self._add(title, told)

    def find(self, key: str, value: str) -> Node | None:
        """Where an entry leads: by its very value, by a pattern, or by its key alone."""
        found = self._exact.get((key, value)) if value else None
        if found is not None:
            return found
        for name, parts, node in self._wild:
            if name == key and fits(parts, value):
                return node
        return self._bare.get(key)

    def leaves(self) -> Iterator[Leaf]:
        """All limits, from here on."""
        if self.leaf is not None:
            yield self.leaf
        nodes = [*self._exact.values(), *(wild[2] for wild in self._wild), *self._bare.values()]
        for node in nodes:
            yield from node.leaves()

    def _add(self, title: str, told: Descriptor) -> None:
        key, value = told.key, told.value
        name = f"{title}.{key}_{value}" if value else f"{title}.{key}"
        leaf = None if told.rate_limit is None else Leaf(name, told)
        node = Node(name, leaf, told.descriptors)
        if "*" in value:
            node.shared = value if told.share_threshold else ""
            self._wild.append((key, value.split("*"), node))
        elif value:
            self._exact[key, value] = node
        else:
            self._bare[key] = node


def grow(domains: Iterable[Domain]) -> dict[str, Node]:
    """The trees of all domains, by their names."""
    return {one.domain: Node(one.domain, None, one.descriptors) for one in domains}


def trace(node: Node, domain: str, entries: Sequence[Entry]) -> tuple[Leaf | None, str]:
    """The limit that these entries meet, all of them, and the key under which they count."""
    parts = [domain]
    for key, value in entries:
        found = node.find(key, value)
        if found is None:
            return None, ""
        parts += [key, found.shared or value]
        node = found
    return node.leaf, composed(parts)


def composed(parts: Iterable[str]) -> str:
    """One key of several parts, which no others make."""
    listed = [*parts]
    if any(":" in part or not part for part in listed):
        listed = [f"{len(part)}:{part}" for part in listed]
    return tidy(":".join(listed))


def fits(parts: Sequence[str], value: str) -> bool:
    """Whether a value has these parts in their order, beginning and ending with the outer ones."""
    first, *middle, last = parts
    end = len(value) - len(last)
    if end < len(first) or not (value.startswith(first) and value.endswith(last)):
        return False
    place = len(first)
    for part in middle:
        found = value.find(part, place, end)
        if found < 0:
            return False
        place = found + len(part)
    return True
