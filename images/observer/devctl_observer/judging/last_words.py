"""The last output of a program, which is not trusted."""

from __future__ import annotations

import re

import msgspec

from devctl_observer.judging.printable import shown

_REASON = re.compile(r"[A-Z][A-Za-z]{0,62}", re.ASCII)


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
