"""The last observed objects of a kind, with an index."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Key(NamedTuple):
    """The name of an object within its kind."""

    namespace: str
    name: str


class Store(Generic[T]):
    """Keeps the newest version of each object.

    Args:
        index: The index value of an object; None to leave it out of the index.
    """

    def __init__(self, index: Callable[[T], Hashable | None] = lambda _: None) -> None:
        """Start empty."""
        self._index = index
        self._objects: dict[Key, tuple[int, T]] = {}
        self._by_index: defaultdict[Hashable, set[Key]] = defaultdict(set)

    def get(self, key: Key) -> T | None:
        """The object with a key."""
        entry = self._objects.get(key)
        return entry[1] if entry else None

    def find(self, index: Hashable) -> list[T]:
        """The objects with an index value, sorted by key."""
        return [self._objects[key][1] for key in sorted(self._by_index.get(index, ()))]

    def keys(self) -> list[Key]:
        """The keys of all objects."""
        return list(self._objects)

    def put(self, key: Key, version: int, item: T) -> bool:
        """Store an object unless a newer version is known; returns whether it was stored.

        Our own writes are stored before the watch delivers them and what preceded them.
        """
        known = self._objects.get(key)
        if known and version and version < known[0]:
            return False
        self.drop(key)
        self._objects[key] = (version, item)
        if (index := self._index(item)) is not None:
            self._by_index[index].add(key)
        return True

    def wrote(self, key: Key, version: int, item: T) -> None:
        """Store the result of our own write, unless the object was deleted meanwhile.

        The watch has already delivered the deletion then, and never would again.
        """
        if key in self._objects:
            self.put(key, version, item)

    def drop(self, key: Key) -> T | None:
        """Remove an object; returns its last state."""
        entry = self._objects.pop(key, None)
        if entry is None:
            return None
        index = self._index(entry[1])
        if index is not None:
            self._by_index[index].discard(key)
            if not self._by_index[index]:
                del self._by_index[index]
        return entry[1]

    def __iter__(self) -> Iterator[T]:
        """All objects."""
        return (item for _, item in list(self._objects.values()))

    def __len__(self) -> int:
        """The number of objects."""
        return len(self._objects)
