"""What goes wrong, as the status tells it.

CacheError
├── NoRoomError        the disk has no room; the rest of the plan goes on
└── DroppedError       the plan does not want it any more
"""

from __future__ import annotations


class CacheError(Exception):
    """An item that could not be fetched; its text is for people, and names no secret."""


class NoRoomError(CacheError):
    """The disk has no room for it, and nothing may be removed."""


class DroppedError(CacheError):
    """The plan does not want it any more, or the agent ends."""
