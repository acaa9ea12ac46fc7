"""Objects of a kind as last seen, and an index of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Key(NamedTuple):
    """What names an object among its kind."""

    namespace: str
    name: str


class Store(Generic[T]):
    """Keeps the newest version of each object.

    Args:
        index: What an object is found by beside its key; None where it is not to be found so.
    """

    def __init__(self, index: Callable[[T], Hashable | None] = lambda _: None) -> None:
        """Begin empty."""
        self._index = index
        self._objects: dict[Key, tuple[int, T]] = {}
        self._by_index: defaultdict[Hashable, set[Key]] = defaultdict(set)

    def get(self, key: Key) -> T | None:
        """The object of that key."""
        entry = self._objects.get(key)
        return entry[1] if entry else None

    def find(self, index: Hashable) -> list[T]:
        """Objects by the index, in the order of their names."""
        return [self._objects[key][1] for key in sorted(self._by_index.get(index, ()))]

    def keys(self) -> list[Key]:
        """Every object's key."""
        return list(self._objects)

    def put(self, key: Key, version: int, item: T) -> bool:
        """Keep an object unless it is older than what is known; returns whether it was kept.

        Our own writes arrive here before the watch tells of them and of what was before them.
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
        """Keep what a write of ours resulted in, unless the object has gone meanwhile.

        The watch has told of its end then, and would never tell of it again.
        """
        if key in self._objects:
            self.put(key, version, item)

    def drop(self, key: Key) -> T | None:
        """Forget an object; returns what was known of it."""
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
        """Every object."""
        return (item for _, item in list(self._objects.values()))

    def __len__(self) -> int:
        """How many there are."""
        return len(self._objects)
