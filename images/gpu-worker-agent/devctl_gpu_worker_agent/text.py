"""Text that others write, for lines that people read."""

from __future__ import annotations


def clean(text: str, limit: int = 255) -> str:
    """Text without control characters, and shortened.

    >>> clean("a" + chr(27) + "[2Jb"), clean("abcdef", 4)
    ('a?[2Jb', 'abc…')
    """
    shown = "".join(each if each.isprintable() else "?" for each in text[: limit + 1])
    return shown if len(shown) <= limit else f"{shown[: limit - 1]}…"
