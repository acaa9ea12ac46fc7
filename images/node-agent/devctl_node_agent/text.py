"""Text that a pod controls, for reports that people read."""

from __future__ import annotations

from devctl.api.node_activity import MAX_DETAIL


def clean(text: str, limit: int = MAX_DETAIL) -> str:
    """Text without control characters, and shortened.

    >>> clean("a" + chr(27) + "[2Jb")
    'a?[2Jb'
    """
    # Bounded first, since the text may be long.
    shown = "".join(each if each.isprintable() else "?" for each in text[: limit + 1])
    return shown if len(shown) <= limit else f"{shown[: limit - 1]}…"


def decode(data: bytes) -> str:
    """Bytes of the kernel's or a pod's, whatever they are."""
    return data.decode("utf-8", "replace")
