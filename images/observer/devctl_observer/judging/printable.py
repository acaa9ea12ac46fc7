"""The output of programs, which is not trusted, for statuses and Events."""

from __future__ import annotations

import unicodedata

LONGEST = 1024
"""Maximum characters in a message, which is the limit of an Event."""

_ENDS_A_LINE = {"Zl", "Zp"}


def shown(text: str, limit: int = LONGEST) -> str:
    r"""A text on one line without control characters; if it is too long, its end.

    >>> shown("one\r\n\x1b[31mtwo\n\n")
    'one | [31mtwo'
    >>> shown("no\N{NO-BREAK SPACE}break")
    'no break'
    """
    lines = (_plain(line).strip() for line in text.splitlines())
    joined = " | ".join(line for line in lines if line)
    return joined if len(joined) <= limit else f"…{joined[len(joined) - limit + 1 :]}"


def _plain(line: str) -> str:
    """A line with plain spaces, without characters that control the terminal or reorder text."""
    spaced = (" " if unicodedata.category(char) == "Zs" else char for char in line)
    kinds = ((char, unicodedata.category(char)) for char in "".join(spaced).replace("\t", " "))
    return "".join(char for char, kind in kinds if kind[0] != "C" and kind not in _ENDS_A_LINE)
