"""The parts of a DevServer that the observer reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from devctl.api.kinds import DEVSERVER
from devctl.api.pod_spec import pod_spec, shape
from devctl_observer.control.kind import kind_of
from devctl_observer.judging.model import Base, Item


class Lifecycle(Base, frozen=True):
    """When the server is stopped or deleted automatically."""

    time_to_live: int | str | None = None
    idle_timeout: int | str | None = None


class ServerSpec(Base, frozen=True):
    """The desired state."""

    flavor: str | None = None
    team: str | None = None
    stopped: bool = False
    lifecycle: Lifecycle = Lifecycle()


class Server(Item, frozen=True):
    """A DevServer."""

    spec: ServerSpec
    pod_spec: dict[str, Any] = msgspec.field(default_factory=dict)
    """The stored part of the spec that determines the pods."""

    @property
    def ends(self) -> bool:
        """Whether it should have no pods."""
        return self.spec.stopped or self.going


def _pod_spec(obj: Mapping[str, Any]) -> dict[str, Any]:
    made_from = pod_spec(obj["spec"])
    # A spec without a valid size is rejected here, not while computing a status.
    shape(made_from)
    return {"pod_spec": made_from}


SERVER = kind_of(DEVSERVER, Server, _pod_spec)
