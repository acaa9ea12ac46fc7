"""Our own kinds, as far as the observer reads them. Kubernetes' kinds are lightkube's."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime  # noqa: TC003 - msgspec reads the annotations
from typing import TYPE_CHECKING, Any

import msgspec

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


class Lifecycle(Base, frozen=True):
    """When the server goes by itself."""

    time_to_live: int | str | None = None


class Distributed(Base, frozen=True):
    """How many processes, and how many of them in each pod."""

    world_size: int = 1
    nprocs_per_node: int = 1


class ServerSpec(Base, frozen=True):
    """What the user wants."""

    flavor: str | None = None
    mode: str = "standalone"
    distributed: Distributed | None = None
    enable_ssh: bool = msgspec.field(default=True, name="enableSSH")
    stopped: bool = False
    lifecycle: Lifecycle | None = None


class Server(Base, frozen=True):
    """A DevServer."""

    metadata: Meta
    spec: ServerSpec
    status: dict[str, Any] = {}

    @property
    def size(self) -> int:
        """How many pods it has when it runs."""
        if self.spec.mode != "distributed" or self.spec.distributed is None:
            return 1
        layout = self.spec.distributed
        return max(1, layout.world_size // max(1, layout.nprocs_per_node))


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


@dataclass(frozen=True)
class Verdict:
    """What something does, why, and what its owner can do about it."""

    phase: Phase
    reason: str
    message: str


def parse_server(obj: Mapping[str, Any]) -> Server:
    """A DevServer from the API's JSON."""
    return msgspec.convert(obj, Server)


def parse_flavor(obj: Mapping[str, Any]) -> Flavor:
    """A DevServerFlavor from the API's JSON."""
    return msgspec.convert(obj, Flavor)
