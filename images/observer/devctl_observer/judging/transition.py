"""A change of a status that is worth an Event."""

from __future__ import annotations

from typing import NamedTuple


class Transition(NamedTuple):
    """What an Event tells."""

    type: str
    reason: str
    message: str
    of: str = ""
    """What it belongs to, if it is to be told once for that, however often the status changes."""
