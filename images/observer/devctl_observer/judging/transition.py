"""A change of a status that is worth an Event."""

from __future__ import annotations

from typing import NamedTuple


class Transition(NamedTuple):
    """What an Event tells."""

    type: str
    reason: str
    message: str
