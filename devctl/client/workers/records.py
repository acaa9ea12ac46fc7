"""What classes of the GPU workers API have beside their fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

ENDED = frozenset({"completed", "failed", "cancelled"})
"""The states of a job that are final."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a request or an answer; fields that a newer release answers are left out."""

    @property
    def raw(self) -> dict[str, Any]:
        """For programs, as the API names it."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found


class NodeRecord(Record, frozen=True, kw_only=True):
    """A node."""

    if TYPE_CHECKING:
        id: str

    @property
    def name(self) -> str:
        """Its ID."""
        return self.id


class JobRecord(Record, frozen=True, kw_only=True):
    """A job at one moment."""

    if TYPE_CHECKING:
        job_id: str
        docker_image: str
        docker_tag: str
        state: str

    @property
    def name(self) -> str:
        """Its ID."""
        return self.job_id

    @property
    def image(self) -> str:
        """The reference of its image."""
        return f"{self.docker_image}{'@' if ':' in self.docker_tag else ':'}{self.docker_tag}"

    @property
    def finished(self) -> bool:
        """Whether it has ended."""
        return self.state in ENDED
