"""Facts behind labels, on lines of a terminal's width."""

from __future__ import annotations

from devctl.cli.tables import folded

_LABEL = 14
"""The width of labels."""
_NARROWEST = 20


def fact(label: str, text: str, width: int) -> list[str]:
    """The lines of a fact behind its label, folded to a width if that is not 0."""
    first, *more = folded(text, max(_NARROWEST, width - _LABEL) if width else 0)
    head = f"{label}:" if label else ""
    return [f"{head:<{_LABEL}}{first}".rstrip(), *(f"{'':<{_LABEL}}{line}" for line in more)]
