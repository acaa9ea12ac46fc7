"""What is told of a run while it is followed."""

from __future__ import annotations

from typing import NamedTuple


class Printed(NamedTuple):
    """A rank has printed something."""

    rank: int
    data: bytes


class Noticed(NamedTuple):
    """Something has happened around a rank, which still goes on."""

    rank: int
    text: str


class Ended(NamedTuple):
    """A rank's command has ended.

    Attributes:
        rank: Which one.
        code: Its exit code.
        at: When, on the monotonic clock of this machine.
    """

    rank: int
    code: int
    at: float


class Lost(NamedTuple):
    """A rank's command is no more, and no exit code of it is known.

    Attributes:
        rank: Which one.
        why: What became of it.
        at: When that was noticed, on the monotonic clock of this machine.
    """

    rank: int
    why: str
    at: float


Event = Printed | Noticed | Ended | Lost
End = Ended | Lost
