"""A DevServer, as far as the observer reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from lightkube.generic_resource import create_namespaced_resource

from devctl.api.labels import GROUP, VERSION, WAKE
from devctl.api.pod_spec import pod_spec
from devctl_observer.control.kind import Kind
from devctl_observer.judging.model import Base, Meta

if TYPE_CHECKING:
    from collections.abc import Mapping

DevServer = create_namespaced_resource(GROUP, VERSION, "DevServer", "devservers")


class Lifecycle(Base, frozen=True):
    """When the server goes by itself."""

    time_to_live: int | str | None = None


Count = Annotated[int, msgspec.Meta(ge=1, le=100_000)]
"""Far beyond what the CRD lets pass, but no number that would fill the memory."""


class Distributed(Base, frozen=True):
    """How many processes, and how many of them in each pod."""

    world_size: Count = 1
    nprocs_per_node: Count = 1


class ServerSpec(Base, frozen=True):
    """What the user wants."""

    flavor: str | None = None
    mode: str = "standalone"
    distributed: Distributed | None = None
    enable_ssh: bool = msgspec.field(default=True, name="enableSSH")
    stopped: bool = False
    lifecycle: Lifecycle | None = None

    @property
    def size(self) -> int:
        """How many pods it has when it runs; `devctl.api.pod_spec.shape` for whatever is stored."""
        if self.mode != "distributed" or self.distributed is None:
            return 1
        return max(1, self.distributed.world_size // self.distributed.nprocs_per_node)


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
    return msgspec.structs.replace(server, pod_spec=pod_spec(obj["spec"]), wake=wake)


SERVER = Kind(DevServer, f"{GROUP}/{VERSION}", "devservers", parse_server, WAKE)
