"""What happens in a run while it is followed, and how it ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from devctl.errors import DevctlError

if TYPE_CHECKING:
    from devctl.client.runs.place import Place

_KEPT = 32 * 1024
"""Bytes of a replica's last output; and what is shown of it:"""
_LINES = 20
_WIDEST = 2000


class Printed(NamedTuple):
    """A replica has printed something."""

    replica: int
    data: bytes


class Noticed(NamedTuple):
    """Something has happened around a replica, whose command is still running."""

    replica: int
    text: str


class Ended(NamedTuple):
    """A replica's command has ended, `at` a time of this machine's monotonic clock."""

    replica: int
    code: int
    at: float


class Lost(NamedTuple):
    """A replica's command is gone, and its exit code unknown; `at` is when that was noticed."""

    replica: int
    why: str
    at: float


Event = Printed | Noticed | Ended | Lost
End = Ended | Lost


@dataclass
class Outcome:
    """How a run has ended on each replica so far, from its events."""

    place: Place
    run: str
    ends: dict[int, End] = field(default_factory=dict)
    _tails: dict[int, bytes] = field(default_factory=dict)

    def tell(self, event: Event) -> None:
        """Take note of an event."""
        if isinstance(event, Printed):
            tail = self._tails.get(event.replica, b"") + event.data
            self._tails[event.replica] = tail[-_KEPT:]
        elif isinstance(event, Ended | Lost):
            self.ends[event.replica] = event

    @property
    def first_failure(self) -> End | None:
        """The first failure; None if there is none."""
        failed = [e for e in self.ends.values() if isinstance(e, Lost) or e.code]
        return min(failed, key=lambda end: end.at, default=None)

    @property
    def last_lines(self) -> list[bytes]:
        """The last lines that the replica printed that failed first."""
        first = self.first_failure
        tail = self._tails.get(first.replica, b"") if first else b""
        return [line[-_WIDEST:] for line in tail.splitlines()[-_LINES:]]

    def error(self) -> DevctlError | None:
        """The first failure as an error; None if there is none."""
        first = self.first_failure
        if first is None:
            return None
        who, logs = self.place.called(first.replica), f"devctl logs {self.place.server} {self.run}"
        if isinstance(first, Lost):
            return DevctlError(
                f"{who}: {first.why}",
                f"when it runs again, start a new run; `{logs}` has what this one printed",
            )
        which = f" --replica {first.replica}" if self.place.size > 1 else ""
        error = DevctlError(
            f"run `{self.run}` has failed: {who} ended with exit code {first.code}",
            f"see all it printed with `{logs}{which}`",
        )
        error.exit_code = first.code
        return error
