"""The room that a namespace's quotas leave, and when it grew last."""

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
    """What is kept of a quota."""

    namespace: str
    version: str
    free: Mapping[str, Decimal]
    """How much is left of each thing that it counts."""


def room(quota: ResourceQuota) -> Room:
    """What is kept of a quota."""
    status, meta = quota.status, meta_of(quota.metadata)
    hard = (status.hard if status else None) or {}
    used = (status.used if status else None) or {}
    free = {n: parse_quantity(v) - parse_quantity(used.get(n, 0)) for n, v in hard.items()}
    return Room(meta.namespace, meta.resource_version, free)


@dataclass
class Quotas:
    """Remembers when there was more room."""

    tell: Callable[[str], None]
    """Told each namespace whose quotas leave more room than before."""
    _grew: dict[str, str] = field(default_factory=dict)
    _born: str = field(default_factory=lambda: uuid4().hex)

    def grew(self, namespace: str) -> str:
        """Stands for the last time that there was more room, or for this process' own begin."""
        return self._grew.get(namespace, self._born)

    def changed(self, old: Room | None, new: Room | None) -> None:
        """Compare a quota with what it was."""
        if old is None:
            return
        if new is None:
            self._grew[old.namespace] = f"without {old.version}"
        elif any(name not in new.free or new.free[name] > free for name, free in old.free.items()):
            self._grew[new.namespace] = new.version
        else:
            return
        self.tell(old.namespace)
