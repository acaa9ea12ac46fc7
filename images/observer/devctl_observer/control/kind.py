"""Kinds as requests name them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from lightkube.core.resource import api_info

from devctl_observer.watching.source import path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from devctl_observer.judging.model import Meta

T = TypeVar("T")


@dataclass(frozen=True)
class Kind(Generic[T]):
    """What requests have to know of a kind."""

    resource: Any
    """lightkube's class of it."""
    parse: Callable[[Mapping[str, Any]], T]
    """What is kept of an object."""
    wake: str = ""
    """The annotation that runs its role again; empty where it has none."""

    @property
    def name(self) -> str:
        """As manifests write it."""
        return str(api_info(self.resource).resource.kind)

    @property
    def api_version(self) -> str:
        """Its group and version."""
        return str(api_info(self.resource).resource.api_version)

    def path(self, meta: Meta) -> str:
        """Where an object of it is."""
        return f"{path_of(self.resource, meta.namespace)}/{meta.name}"
