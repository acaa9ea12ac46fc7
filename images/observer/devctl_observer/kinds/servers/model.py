"""The parts of a DevServer that the observer reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from devctl.api.kinds import DEVSERVER
from devctl.api.labels import STOPPED_BY, STOPPED_BY_MESSAGE
from devctl.api.pod_spec import pod_spec, shape
from devctl_observer.control.kind import kind_of
from devctl_observer.judging.model import Base, Item


class Lifecycle(Base, frozen=True):
    """When the server is stopped or deleted automatically."""

    time_to_live: int | str | None = None
    delete_after_stopped: int | str | None = None
    max_runtime: int | str | None = None
    idle_timeout: int | str | None = None
    auto_shutdown: bool = False
    hold_until: str | None = None


class ServerSpec(Base, frozen=True):
    """The desired state."""

    owner: str = ""
    flavor: str | None = None
    team: str | None = None
    stopped: bool = False
    lifecycle: Lifecycle = Lifecycle()


class Server(Item, frozen=True):
    """A DevServer."""

    spec: ServerSpec
    pod_spec: dict[str, Any] = msgspec.field(default_factory=dict)
    """The stored part of the spec that determines the pods."""
    stopped_by: str = ""
    """Why devctl stopped it, in one word; empty if it did not, or if it has started again."""
    stopped_by_message: str = ""

    @property
    def ends(self) -> bool:
        """Whether it should have no pods."""
        return self.spec.stopped or self.going


def _more(obj: Mapping[str, Any]) -> dict[str, Any]:
    made_from = pod_spec(obj["spec"])
    # A spec without a valid size is rejected here, not while computing a status.
    shape(made_from)
    notes = obj["metadata"].get("annotations") or {}
    return {
        "pod_spec": made_from,
        "stopped_by": notes.get(STOPPED_BY, ""),
        "stopped_by_message": notes.get(STOPPED_BY_MESSAGE, ""),
    }


SERVER = kind_of(DEVSERVER, Server, _more)
