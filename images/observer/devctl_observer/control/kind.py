"""Kinds as requests name them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from devctl_observer.judging.model import Meta

T = TypeVar("T")


@dataclass(frozen=True)
class Kind(Generic[T]):
    """What requests have to know of a kind.

    Attributes:
        resource: lightkube's class of it.
        api_version: Its group and version.
        plural: Its name in paths.
        parse: What is kept of an object.
        wake: The annotation that runs its role again; empty where it has none.
        namespaced: Whether its objects are in namespaces.
    """

    resource: Any
    api_version: str
    plural: str
    parse: Callable[[Mapping[str, Any]], T]
    wake: str = ""
    namespaced: bool = True

    @property
    def name(self) -> str:
        """As manifests write it."""
        return str(self.resource.__name__)

    def path(self, meta: Meta) -> str:
        """Where an object of it is."""
        root = "apis" if "/" in self.api_version else "api"
        where = f"namespaces/{meta.namespace}/" if meta.namespace else ""
        return f"{root}/{self.api_version}/{where}{self.plural}/{meta.name}"
