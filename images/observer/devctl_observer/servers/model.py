"""A DevServer, as far as the observer reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from lightkube.generic_resource import create_namespaced_resource

from devctl.api.labels import GROUP, VERSION, WAKE
from devctl.api.pod_spec import pod_spec, shape
from devctl_observer.control.kind import Kind
from devctl_observer.judging.model import Base, Meta

if TYPE_CHECKING:
    from collections.abc import Mapping

DevServer = create_namespaced_resource(GROUP, VERSION, "DevServer", "devservers")


class Lifecycle(Base, frozen=True):
    """When the server stops or goes by itself."""

    time_to_live: int | str | None = None
    idle_timeout: int | str | None = None


class ServerSpec(Base, frozen=True):
    """What the user wants."""

    flavor: str | None = None
    stopped: bool = False
    lifecycle: Lifecycle | None = None


class Server(Base, frozen=True):
    """A DevServer."""

    metadata: Meta
    spec: ServerSpec
    status: dict[str, Any] = msgspec.field(default_factory=dict)
    pod_spec: dict[str, Any] = msgspec.field(default_factory=dict)
    """The part of the spec that shapes pods, as it is stored."""
    wake: str = ""
    """The annotation that re-runs the role."""

    @property
    def ends(self) -> bool:
        """Whether it is wanted to have no pods."""
        return self.spec.stopped or self.metadata.deletion_timestamp is not None


def parse_server(obj: Mapping[str, Any]) -> Server:
    """A DevServer from the API's JSON."""
    server = msgspec.convert(obj, Server)
    # The other annotations may be large, and nothing is read of them.
    wake = (obj["metadata"].get("annotations") or {}).get(WAKE, "")
    made_from = pod_spec(obj["spec"])
    # One without a size is not understood, here and not in the middle of a status.
    shape(made_from)
    return msgspec.structs.replace(server, pod_spec=made_from, wake=wake)


SERVER = Kind(DevServer, parse_server, WAKE)
