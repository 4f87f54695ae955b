"""Trees: data that grows as a reader finds it, each part with its place."""

from __future__ import annotations

from typing import Any

from headgate.rules.documents.page import (
    DEEPEST,
    MOST_VALUES,
    Found,
    Mark,
    Marks,
    Page,
    Path,
)


class Tree:
    """What a reader has found so far; in a mapping it is told each key before its value."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self._data: Any = None
        self._values: Marks = {}
        self._keys: Marks = {}
        self._open: list[tuple[Path, dict[str, Any] | list[Any]]] = []
        self._next: Path | None = None

    @property
    def empty(self) -> bool:
        """Whether nothing was found yet."""
        return not self._values

    @property
    def keyless(self) -> bool:
        """Whether a key comes next."""
        return bool(self._open) and isinstance(self._open[-1][1], dict) and self._next is None

    def key(self, name: str, mark: Mark) -> None:
        """Begin an entry of the mapping that is open."""
        path = (*self._open[-1][0], name)
        if path in self._keys:
            raise self.page.twice(name, mark, self._keys[path])
        self._keys[path] = mark
        self._next = path

    def put(self, value: Any, mark: Mark) -> Path:
        """Set the value that comes next, and say where it went."""
        if len(self._values) == MOST_VALUES:
            raise self.page.many(mark)
        path: Path = ()
        above, holder = self._open[-1] if self._open else ((), None)
        if holder is None:
            self._data = value
        elif isinstance(holder, list):
            path = (*above, len(holder))
            holder.append(value)
        elif self._next is not None:
            path = self._next
            holder[str(path[-1])] = value
            self._next = None
        self._values[path] = mark
        return path

    def open(self, holder: dict[str, Any] | list[Any], mark: Mark) -> None:
        """Begin a mapping or a list, which all that comes goes into until it is closed."""
        if len(self._open) == DEEPEST:
            raise self.page.deep(mark)
        self._open.append((self.put(holder, mark), holder))

    def close(self) -> None:
        """End the mapping or list that was opened last."""
        self._open.pop()

    def found(self) -> Found:
        """The data and its places; an empty text is None."""
        return self._data, self._values or {(): (1, 1)}, self._keys
