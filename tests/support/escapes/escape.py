"""One escape, and the parts of many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from support.attempts import Attempt, attempt
from support.user_attempts import (
    CLAIM,
    HARDENED,
    OWN,
    OWN_JOBS,
    OWN_SERVERS,
    loose,
    marked,
    named,
    server,
    small_job,
)

ALICE, AUTOMATION, CAPITALS, CYRILLIC = "alice", "automation", "ALICE", "\u0430lice"
"""Who tries: a user, their service account, and two whose names look like hers."""
CLASS = "tenancy"
"""A PriorityClass of the administrator's."""

KUEUE = "kueue.x-k8s.io"


@dataclass(frozen=True)
class Escape:
    """One of them.

    Attributes:
        name: What is tried, in a few words.
        tried: How.
        said: What the refusal says.
        allowed: The same in a form that the user may send; without one, an administrator may send
            what is tried. So a wrong path or body proves nothing.
        who: Who tries.
    """

    name: str
    tried: Attempt
    said: str
    allowed: Attempt | None = None
    who: str = ALICE

    def __str__(self) -> str:
        """As pytest is to call it."""
        return self.name


def try_pod(**spec: Any) -> Attempt:
    """A pod that is hardened but for a few fields."""
    return attempt(f"POST {OWN}/pods", loose(**spec))


def try_container(**security: Any) -> Attempt:
    """A pod whose container asks for more."""
    container = HARDENED["containers"][0]
    own = container | {"securityContext": container["securityContext"] | security}
    return try_pod(containers=[own])


def try_marked_pod(**metadata: Any) -> Attempt:
    """A pod with metadata."""
    return attempt(f"POST {OWN}/pods", marked(HARDENED, **metadata))


def try_volume(source: dict[str, Any]) -> Attempt:
    """A pod with a volume."""
    return try_pod(volumes=[{"name": "files", **source}])


def try_ephemeral(**spec: Any) -> Attempt:
    """A pod with a volume that lives as long as it does."""
    return try_volume({"ephemeral": {"volumeClaimTemplate": {"spec": CLAIM | spec}}})


def try_claim(name: str, **spec: Any) -> Attempt:
    """A claim that outlives every pod."""
    return attempt(f"POST {OWN}/persistentvolumeclaims", named(name, spec=CLAIM | spec))


def try_server(metadata: dict[str, Any] | None = None, /, **spec: Any) -> Attempt:
    """A stopped server."""
    return attempt(f"POST {OWN_SERVERS}", server(metadata, **spec))


def try_job(metadata: dict[str, Any] | None = None, /, **spec: Any) -> Attempt:
    """A job that does nothing."""
    return attempt(f"POST {OWN_JOBS}", small_job(metadata, **spec))


POD, SERVER, JOB = try_pod(), try_server(), try_job()
