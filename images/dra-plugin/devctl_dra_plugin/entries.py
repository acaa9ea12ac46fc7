"""Entries of the host's tool canhazgpu in Redis, as it and the plugin write them. Pure.

docs/decisions/0034-reservations-of-the-host.md describes the keys and their content.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from devctl_dra_plugin.planning import Preparation

HEARTBEAT = 60.0
"""Seconds between two signs of life, as the tool has it."""
_EXPIRY = 300.0
"""Seconds after the last one until a reservation is nobody's."""
_RUN, _MANUAL = "run", "manual"
ACCOUNT = "kubernetes"
"""What stands where the tool writes the account of a person."""
_NOTE = "claim "


@dataclass(frozen=True)
class Reservation:
    """A GPU that somebody has reserved on the host."""

    index: int
    user: str
    account: str = ""
    kind: str = ""
    since: float | None = None
    heartbeat: float | None = None
    expires: float | None = None
    note: str = ""

    def is_over(self, now: float) -> bool:
        """Whether it has ended by itself, by the tool's own rules."""
        if self.kind == _RUN and self.heartbeat is not None:
            return now - self.heartbeat > _EXPIRY
        if self.kind == _MANUAL and self.expires is not None:
            return self.expires < now
        return False

    def is_fresh(self, now: float) -> bool:
        """Whether it needs no new sign of life; after a clock was set back, it does."""
        return self.heartbeat is not None and abs(now - self.heartbeat) < HEARTBEAT

    @property
    def claim(self) -> str | None:
        """The UID of the claim for which we have written it; None if it is the tool's."""
        is_ours = self.account == ACCOUNT and self.note.startswith(_NOTE)
        return self.note.removeprefix(_NOTE) if is_ours else None

    def __str__(self) -> str:
        """As people are told."""
        until = ""
        if self.kind == _MANUAL and self.expires is not None:
            until = f" until {_utc(self.expires)}"
        return f"GPU {self.index} is reserved on the host by {self.user}{until}"


def parse(index: int, text: str | None) -> Reservation | None:
    """What a GPU's key says; None if nobody has reserved it.

    What cannot be read is somebody's: better idle than given out twice.
    """
    if text is None:
        return None
    try:
        said = json.loads(text)
    except ValueError:
        said = None
    if not isinstance(said, dict):
        return Reservation(index, "someone whose entry is unreadable")
    if not said.get("user"):
        return None
    return Reservation(
        index=index,
        user=str(said["user"]),
        account=str(said.get("actual_user") or ""),
        kind=str(said.get("type") or ""),
        since=_seconds(said.get("start_time")),
        heartbeat=_seconds(said.get("last_heartbeat")),
        expires=_seconds(said.get("expiry_time")),
        note=str(said.get("note") or ""),
    )


def state(claim: Preparation, there: Reservation | None, now: float) -> str:
    """A claim's entry. Times are numbers, which the tool's scripts in Redis can compute with."""
    since = there.since if there is not None and there.claim == claim.uid else None
    return _text(
        {
            "user": str(claim),
            "actual_user": ACCOUNT,
            "start_time": int(now if since is None else since),
            "last_heartbeat": int(now),
            "type": _RUN,
            "note": f"{_NOTE}{claim.uid}",
        }
    )


def released(now: float) -> str:
    """The content of a key whose GPU is free; the tool prefers those longest unused."""
    return _text({"last_released": _utc(now)})


def usage(ended: Reservation, now: float) -> str:
    """An entry in the tool's history of use."""
    since = now if ended.since is None else ended.since
    return _text(
        {
            "user": ended.user,
            "gpu_id": ended.index,
            "start_time": _utc(since),
            "end_time": _utc(now),
            "duration_seconds": max(0, int(now - since)),
            "reservation_type": ended.kind,
        }
    )


def _seconds(said: object) -> float | None:
    """Seconds since 1970 of a number or an RFC 3339 text: the tool writes both."""
    found: float | None
    try:
        found = float(said) if isinstance(said, (int, float, str)) else None
    except (OverflowError, ValueError):
        found = _of_text(str(said))
    return found if found is not None and math.isfinite(found) else None


def _of_text(said: str) -> float | None:
    try:
        found = datetime.fromisoformat(said)
    except ValueError:
        return None
    return found.timestamp() if found.tzinfo else found.replace(tzinfo=UTC).timestamp()


def _utc(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, OSError, ValueError):
        return "a time out of range"


def _text(said: Mapping[str, Any]) -> str:
    return json.dumps(said, separators=(",", ":"))
