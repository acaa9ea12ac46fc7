"""Kinds, as requests need them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec
from lightkube.core.resource import NamespacedResource, api_info
from lightkube.generic_resource import create_global_resource, create_namespaced_resource

from devctl.api.kinds import Kind as Named
from devctl_observer.judging.model import Item, Meta
from devctl_observer.watching.source import path_of

T = TypeVar("T")
Ours = TypeVar("Ours", bound=Item)


@dataclass(frozen=True)
class Kind(Generic[T]):
    """What requests need to know about a kind."""

    resource: Any
    """lightkube's class for it."""
    parse: Callable[[Mapping[str, Any]], T]
    """Converts the API's JSON to what is stored of an object."""
    wake: str = ""
    """The annotation that triggers its role; empty if it has no role."""

    @property
    def namespaced(self) -> bool:
        """Whether its objects are namespaced."""
        return issubclass(self.resource, NamespacedResource)

    @property
    def name(self) -> str:
        """The kind, as in manifests."""
        return str(api_info(self.resource).resource.kind)

    @property
    def api_version(self) -> str:
        """Its group and version."""
        return str(api_info(self.resource).resource.api_version)

    def path(self, meta: Meta) -> str:
        """The URL path of an object."""
        return f"{path_of(self.resource, meta.namespace)}/{meta.name}"


def kind_of(
    named: Named,
    model: type[Ours],
    more: Callable[[Mapping[str, Any]], dict[str, Any]] = lambda _: {},
) -> Kind[Ours]:
    """A kind of ours.

    Args:
        named: Its names.
        model: What is stored of an object.
        more: Computes further fields of the model from the API's JSON.
    """
    make = create_namespaced_resource if named.namespaced else create_global_resource

    def parse(obj: Mapping[str, Any]) -> Ours:
        # Other annotations may be large, and are not used.
        wake = (obj["metadata"].get("annotations") or {}).get(named.wake, "")
        item = msgspec.convert(obj, model)
        return msgspec.structs.replace(item, wake=wake, **more(obj))

    return Kind(make(named.group, named.version, named.name, named.plural), parse, named.wake)
