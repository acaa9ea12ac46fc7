"""Kinds as requests name them."""

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
    """What requests have to know of a kind."""

    resource: Any
    """lightkube's class of it."""
    parse: Callable[[Mapping[str, Any]], T]
    """What is kept of an object."""
    wake: str = ""
    """The annotation that runs its role again; empty where it has none."""

    @property
    def namespaced(self) -> bool:
        """Whether its objects are in namespaces."""
        return issubclass(self.resource, NamespacedResource)

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


def kind_of(
    named: Named,
    model: type[Ours],
    more: Callable[[Mapping[str, Any]], dict[str, Any]] = lambda _: {},
) -> Kind[Ours]:
    """A kind of ours.

    Args:
        named: What it is called.
        model: What is kept of an object.
        more: Fields of the model that are not JSON's own, from the API's JSON of an object.
    """
    make = create_namespaced_resource if named.namespaced else create_global_resource

    def parse(obj: Mapping[str, Any]) -> Ours:
        # The other annotations may be large, and nothing is read of them.
        wake = (obj["metadata"].get("annotations") or {}).get(named.wake, "")
        item = msgspec.convert(obj, model)
        return msgspec.structs.replace(item, wake=wake, **more(obj))

    return Kind(make(named.group, named.version, named.name, named.plural), parse, named.wake)
