"""What a family of kinds adds to the observer: its own kinds, and what changes mean to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from lightkube.resources.core_v1 import Event, PersistentVolumeClaim, Pod

    from devctl.api.placing import NodeFacts
    from devctl_observer.store import Store
    from devctl_observer.work_queue import WorkQueue


class Followed(NamedTuple):
    """A kind that is watched, as a Reflector takes it."""

    kind: Any
    store: Store[Any]
    convert: Callable[[Any], Any]
    changed: Callable[[Any, Any], None]
    selectors: Mapping[str, Any] = {}
    everywhere: bool = True


class Family(Protocol):
    """One kind that users write, and all that it is made of."""

    @property
    def first(self) -> Sequence[Followed]:
        """The kind itself: known before all else."""

    @property
    def others(self) -> Sequence[Followed]:
        """What only this family looks at."""

    @property
    def queues(self) -> Sequence[tuple[WorkQueue, int]]:
        """What it has to do, and how many work on it at once."""

    def pod(self, old: Pod | None, new: Pod | None) -> None:
        """A pod of devctl's has changed."""

    def claim(self, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim | None) -> None:
        """A claim of devctl's has changed."""

    def warning(self, old: Event | None, new: Event | None) -> None:
        """Something was warned of."""

    def node(self, old: NodeFacts | None, new: NodeFacts | None) -> None:
        """A node has changed in a way that decides something."""

    def look_again(self) -> None:
        """Look at everything: time itself has changed."""

    def metrics(self) -> Iterator[str]:
        """Lines of figures in Prometheus' text format."""
