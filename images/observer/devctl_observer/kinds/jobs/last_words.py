"""The last output of a program, which is not trusted."""

from __future__ import annotations

import re
import unicodedata

import msgspec

LONGEST = 1024
"""Maximum characters in a message, which is the limit of an Event."""

_REASON = re.compile(r"[A-Z][A-Za-z]{0,62}", re.ASCII)
_ENDS_A_LINE = {"Zl", "Zp"}


class Words(msgspec.Struct, forbid_unknown_fields=True):
    """A failure in the program's own words."""

    reason: str
    message: str


def own_words(text: str | None) -> Words | None:
    """Parse a termination message; None unless it is a JSON object with `reason` and `message`."""
    try:
        said = msgspec.json.decode((text or "").encode(), type=Words)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return None
    if not _REASON.fullmatch(said.reason):
        return None
    return Words(said.reason, shown(said.message) or "no details given")


def shown(text: str, limit: int = LONGEST) -> str:
    r"""A text on one line without control characters; if it is too long, its end.

    >>> shown("one\r\n\x1b[31mtwo\n\n")
    'one | [31mtwo'
    """
    lines = (_plain(line).strip() for line in text.splitlines())
    joined = " | ".join(line for line in lines if line)
    return joined if len(joined) <= limit else f"…{joined[len(joined) - limit + 1 :]}"


def _plain(line: str) -> str:
    """A line without characters that control the terminal or reorder text."""
    kinds = ((char, unicodedata.category(char)) for char in line.replace("\t", " "))
    return "".join(char for char, kind in kinds if kind[0] != "C" and kind not in _ENDS_A_LINE)
