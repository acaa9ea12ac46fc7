"""Facts behind labels, on lines of a terminal's width."""

from __future__ import annotations

import textwrap

_LABEL = 14
"""The width of labels."""
_NARROWEST = 20


def fact(label: str, text: str, width: int) -> list[str]:
    """The lines of a fact behind its label, folded to a width if that is not 0."""
    head = f"{label}:" if label else ""
    room = max(_NARROWEST, width - _LABEL) if width else 0
    folded = textwrap.wrap(text, room, break_on_hyphens=False) if room else [text]
    return [
        f"{head if not number else '':<{_LABEL}}{line}".rstrip()
        for number, line in enumerate(folded or [""])
    ]
