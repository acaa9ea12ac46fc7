"""The room left in quotas, and when it last grew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple
from uuid import uuid4

from lightkube.resources.core_v1 import ResourceQuota

from devctl.api.quantities import parse_quantity
from devctl_observer.judging.model import meta_of


class Room(NamedTuple):
    """What is stored of a quota."""

    namespace: str
    version: str
    free: Mapping[str, Decimal]
    """The unused amount of each resource."""


def room(quota: ResourceQuota) -> Room:
    """What is stored of a quota."""
    status, meta = quota.status, meta_of(quota.metadata)
    hard = (status.hard if status else None) or {}
    used = (status.used if status else None) or {}
    free = {n: parse_quantity(v) - parse_quantity(used.get(n, 0)) for n, v in hard.items()}
    return Room(meta.namespace, meta.resource_version, free)


@dataclass
class Quotas:
    """Remembers when a quota last had more room."""

    tell: Callable[[str], None]
    """Called with each namespace in which a quota has more room than before."""
    _grew: dict[str, str] = field(default_factory=dict)
    _born: str = field(default_factory=lambda: uuid4().hex)

    def grew(self, namespace: str) -> str:
        """Identifies the last time that a quota had more room, or the start of this process."""
        return self._grew.get(namespace, self._born)

    def changed(self, old: Room | None, new: Room | None) -> None:
        """Compare a quota with its previous state."""
        if old is None:
            return
        if new is None:
            self._grew[old.namespace] = f"without {old.version}"
        elif any(name not in new.free or new.free[name] > free for name, free in old.free.items()):
            self._grew[new.namespace] = new.version
        else:
            return
        self.tell(old.namespace)
