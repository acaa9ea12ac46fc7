"""A DevServer, as far as the observer reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from devctl.api.kinds import DEVSERVER
from devctl.api.pod_spec import pod_spec, shape
from devctl_observer.control.kind import kind_of
from devctl_observer.judging.model import Base, Item


class Lifecycle(Base, frozen=True):
    """When the server stops or goes by itself."""

    time_to_live: int | str | None = None
    idle_timeout: int | str | None = None


class ServerSpec(Base, frozen=True):
    """What the user wants."""

    flavor: str | None = None
    stopped: bool = False
    lifecycle: Lifecycle = Lifecycle()


class Server(Item, frozen=True):
    """A DevServer."""

    spec: ServerSpec
    pod_spec: dict[str, Any] = msgspec.field(default_factory=dict)
    """The part of the spec that shapes pods, as it is stored."""

    @property
    def ends(self) -> bool:
        """Whether it is wanted to have no pods."""
        return self.spec.stopped or self.going


def _pod_spec(obj: Mapping[str, Any]) -> dict[str, Any]:
    made_from = pod_spec(obj["spec"])
    # One without a size is not understood, here and not in the middle of a status.
    shape(made_from)
    return {"pod_spec": made_from}


SERVER = kind_of(DEVSERVER, Server, _pod_spec)
