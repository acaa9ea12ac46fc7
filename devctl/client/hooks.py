"""How the hooks of a server ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from devctl.client.objects import Field, moment, number, text

if TYPE_CHECKING:
    from devctl.kube.cluster import Object


@dataclass(frozen=True)
class HookOutcome:
    """How a hook ended when the last pod of a replica did, as the server's status reports it."""

    raw: Object

    name = Field(text, "name")
    replica = Field(number, "replica")
    event = Field(text, "event")
    """Why the pod ended, such as `Stopped` or `Evicted`."""
    result = Field(text, "result")
    """`Succeeded`, `Failed`, `TimedOut` or `Unknown`."""
    exit_code = Field(number, "exitCode")
    seconds = Field(number, "seconds")
    """How long it ran."""
    at = Field(moment, "at")
    """When the pod's container ended; None if that is unknown."""
    output = Field(text, "output")
    """The end of its output, on one line."""
