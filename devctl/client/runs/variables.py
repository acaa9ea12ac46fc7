"""Variables of a run: checked, and written so that a shell can read them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from devctl.errors import UsageError
from devctl.text import readable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""What a variable may be called."""
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@,+-")
_LONGEST = 100_000
"""Bytes of a variable; Linux takes 128 KiB."""
_MOST = 1_000_000
"""Bytes of all of them; they share their room with the command's arguments."""


def encoded(variables: Mapping[str, str], imports: Sequence[str] = ()) -> list[bytes]:
    r"""A line for each variable, as roles/devserver/files/run reads them.

    Args:
        variables: Names and values.
        imports: Folders below the run's that go before what the server has as PYTHONPATH.

    Raises:
        UsageError: One of them cannot be a variable.

    >>> encoded({"A": "b c\n"}, ["src"])
    [b'+PYTHONPATH=src\n', b'A=b\\0040c\\0012\n']
    """
    values: dict[str, str] = {}
    for name, value in variables.items():
        check_name(name)
        size = len(value.encode(errors="surrogateescape"))
        if "\0" in value or size > _LONGEST:
            why = "holds a NUL" if "\0" in value else f"has more than {_LONGEST:,} bytes"
            raise UsageError(f"the value of `{name}` {why}", "put it into a file, and send that")
        values[name] = value
    if sum(len(value) for value in values.values()) > _MOST:
        raise UsageError("the variables are too large", "put the largest into files")
    # Each goes before those that are there by then.
    all_of_them = [*(("+PYTHONPATH", folder) for folder in reversed(imports)), *values.items()]
    return [name.encode() + b"=" + _escaped(value) + b"\n" for name, value in all_of_them]


def check_name(name: str) -> None:
    """See that something can be the name of a variable.

    Raises:
        UsageError: It cannot.
    """
    if not NAME.fullmatch(name):
        raise UsageError(
            f"`{readable(name)}` is not the name of a variable", "use letters, digits and `_`"
        )


def _escaped(value: str) -> bytes:
    raw = value.encode(errors="surrogateescape")
    return b"".join(bytes([each]) if each in _PLAIN else b"\\0%03o" % each for each in raw)
