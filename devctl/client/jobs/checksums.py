"""Whether what lies on a volume is what was sent there."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from devctl.client.files.names import named
from devctl.client.files.remote import ask, send_names
from devctl.client.jobs.scripts import DIGESTS
from devctl.errors import DevctlError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from devctl.client.files.remote import Spot

_HEAD = re.compile(rb"\\?([0-9a-f]{64})  ")


def verify(place: Spot, sent: Mapping[str, str]) -> None:
    """See that files below a folder have the SHA-256 that they were sent with.

    Raises:
        DevctlError: One has not.
    """
    if not sent:
        return
    names = list(sent)
    said = ask(place, DIGESTS, feed=lambda send: send_names(send, names))
    there = parse(said, names)
    wrong = [name for name in names if there.get(name) != sent[name]]
    if wrong:
        raise DevctlError(
            f"{named(wrong)} did not arrive in `{place}` as it was sent",
            "repeat the command; if it stays so, ask an administrator to look at the storage",
        )


def parse(said: bytes, names: Iterable[str]) -> dict[str, str]:
    r"""Read what `sha256sum` printed for names, in their order.

    GNU's puts a backslash before the line of a name that it escapes; busybox's escapes none.

    >>> parse(b"0" * 64 + b"  ./a\n", ["a"]) == {"a": "0" * 64}
    True
    """
    found = {}
    at = 0
    for name in names:
        match = _HEAD.match(said, at)
        if match is None:
            break
        lines = [line + b"\n" for line in _spellings(b"./" + os.fsencode(name))]
        line = next((line for line in lines if said.startswith(line, match.end())), None)
        if line is None:
            break
        found[name] = match[1].decode()
        at = match.end() + len(line)
    return found


def _spellings(name: bytes) -> list[bytes]:
    """A name as it is, and as GNU's sha256sum of either age escapes it."""
    older = name.replace(b"\\", rb"\\").replace(b"\n", rb"\n")
    return [name, older, older.replace(b"\r", rb"\r")]
