"""Which paths of files can be asked for: those that can be shown, in a URL and on a terminal."""

from __future__ import annotations

import re

LONGEST = 1024
"""Bytes of a path."""
DEEPEST = 32
"""Parts of a path."""
# What ends or hides a line, what reverses the direction of writing, and bytes that are not UTF-8.
_NEVER = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\u200e\u200f\u061c\ud800-\udfff]")
_JOB = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{0,39}", re.ASCII)


def is_showable(name: str) -> bool:
    r"""Whether one part of a path can be shown.

    >>> is_showable("model 1.pt"), is_showable("a\nb"), is_showable("\udcff")
    (True, False, False)
    """
    return not _NEVER.search(name)


def parts_of(path: str) -> tuple[str, ...]:
    """The parts of a path; none if it is not the path of a file that a list has.

    >>> parts_of("a/b.txt"), parts_of("a/../b"), parts_of("/etc/passwd")
    (('a', 'b.txt'), (), ())
    """
    parts = tuple(path.split("/"))
    if len(parts) > DEEPEST or not is_showable(path) or {"", ".", ".."} & {*parts}:
        return ()
    return parts if len(path.encode()) <= LONGEST else ()


def is_job(name: str) -> bool:
    """Whether a folder of the volume can be a job's.

    >>> is_job("job-0f3a9c51d2e4"), is_job("lost+found"), is_job("..")
    (True, False, False)
    """
    return _JOB.fullmatch(name) is not None
