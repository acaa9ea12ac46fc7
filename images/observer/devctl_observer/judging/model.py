"""Our own kinds, as far as the observer reads them. Kubernetes' kinds are lightkube's."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime  # noqa: TC003 - msgspec reads the annotations
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from lightkube.models.meta_v1 import ObjectMeta

from devctl.api.labels import WAKE
from devctl.api.pod_spec import pod_spec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from devctl.api.devserver import Phase


class Base(msgspec.Struct, rename="camel", frozen=True):
    """JSON's names are camel case."""


class Meta(Base, frozen=True):
    """What is read of an object's metadata."""

    name: str
    uid: str = ""
    namespace: str = ""
    generation: int = 0
    resource_version: str = ""
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None


def meta_of(metadata: ObjectMeta | None) -> Meta:
    """The same of a child."""
    found = metadata or ObjectMeta()
    return Meta(
        name=found.name or "",
        uid=found.uid or "",
        namespace=found.namespace or "",
        resource_version=found.resourceVersion or "",
    )


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
    status: dict[str, Any] = {}
    pod_spec: dict[str, Any] = {}
    """The part of the spec that shapes pods, as it is stored."""
    wake: str = ""
    """The annotation that re-runs the role."""

    @property
    def ends(self) -> bool:
        """Whether it is wanted to have no pods."""
        return self.spec.stopped or self.metadata.deletion_timestamp is not None


class Resources(Base, frozen=True):
    """Quantities as they were written: numbers or text."""

    requests: dict[str, int | float | str] = {}
    limits: dict[str, int | float | str] = {}


class Toleration(Base, frozen=True):
    """A taint that pods of the flavor put up with."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class FlavorSpec(Base, frozen=True):
    """What servers of the flavor run on."""

    resources: Resources = Resources()
    node_selector: dict[str, str] = {}
    tolerations: list[Toleration] = []
    default: bool = False


class Flavor(Base, frozen=True):
    """A DevServerFlavor."""

    metadata: Meta
    spec: FlavorSpec = FlavorSpec()
    status: dict[str, Any] = {}
    pod_spec: dict[str, Any] = {}
    """The spec as it is stored, but for whether it is the default: that says nothing about pods."""


@dataclass(frozen=True)
class Verdict:
    """What something does, why, and what its owner can do about it."""

    phase: Phase
    reason: str
    message: str


def parse_server(obj: Mapping[str, Any]) -> Server:
    """A DevServer from the API's JSON."""
    server = msgspec.convert(obj, Server)
    # The other annotations may be large, and nothing is read of them.
    wake = (obj["metadata"].get("annotations") or {}).get(WAKE, "")
    return msgspec.structs.replace(server, pod_spec=pod_spec(obj["spec"]), wake=wake)


def parse_flavor(obj: Mapping[str, Any]) -> Flavor:
    """A DevServerFlavor from the API's JSON."""
    flavor = msgspec.convert(obj, Flavor)
    kept = {key: value for key, value in obj.get("spec", {}).items() if key != "default"}
    return msgspec.structs.replace(flavor, pod_spec=kept)
