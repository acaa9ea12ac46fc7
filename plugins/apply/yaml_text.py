"""JSON that is YAML too.

It almost is: JSON writes a character beyond 16 bits, an emoji for one, as two escapes, and DEL as
itself. libyaml and the API server, which reads every apply as YAML, refuse both.
"""

from __future__ import annotations

import json
import re
from typing import Any

_PAIR = re.compile(
    r"(?<!\\)((?:\\\\)*)\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})", re.IGNORECASE
)
# Found at once where it is not, and it hardly ever is.
_HALF = re.compile(r"\\u[dD][89abAB]")


def join_escapes(text: str) -> str:
    """The text with one escape for each character that JSON wrote as two."""
    if not _HALF.search(text):
        return str(text)  # without Ansible's tags, which libyaml does not take for text
    return _PAIR.sub(_one_escape, text)


def dump(thing: Any) -> bytes:
    """A value as JSON in ASCII that reads the same as YAML."""
    return join_escapes(json.dumps(thing)).replace("\x7f", "\\u007f").encode("ascii")


def _one_escape(pair: re.Match[str]) -> str:
    high, low = int(pair[2], 16), int(pair[3], 16)
    return f"{pair[1]}\\U{0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00):08X}"
