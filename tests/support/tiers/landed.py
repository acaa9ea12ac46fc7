"""The last landed commit, and the days on which deep modules last passed: tests/landed.toml."""

from __future__ import annotations

import subprocess
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date
    from pathlib import Path

FILE = REPOSITORY / "tests/landed.toml"

_TEXT = """\
# The state of main when work on the next change began: `make begin` updates this file.

# The last commit of main that has passed its tests. A landing is compared with it.
commit = "{commit}"

# The day on which each deep module (deep.toml) last passed.
[green]
"""


@dataclass(frozen=True)
class Landed:
    """What the repository records about its last landing.

    Attributes:
        commit: The full hash of the commit.
        green: The day on which each deep module last passed, by its id.
    """

    commit: str
    green: Mapping[str, date] = field(default_factory=dict)


def landed(file: Path = FILE) -> Landed:
    """What the file records."""
    return Landed(**tomllib.loads(file.read_text()))


def later(*records: Mapping[str, date]) -> dict[str, date]:
    """The later one of each module's days.

    >>> from datetime import date
    >>> later({"a": date(2026, 1, 2)}, {"a": date(2026, 1, 1), "b": date(2026, 1, 3)})
    {'a': datetime.date(2026, 1, 2), 'b': datetime.date(2026, 1, 3)}
    """
    found: dict[str, date] = {}
    for record in records:
        for name, day in record.items():
            found[name] = max(day, found.get(name, day))
    return found


def document(now: Landed) -> str:
    """The file's text."""
    days = (f'"{name}" = {day.isoformat()}\n' for name, day in sorted(now.green.items()))
    return _TEXT.format(commit=now.commit) + "".join(days)


def begin(green: Mapping[str, date], file: Path = FILE, repository: Path = REPOSITORY) -> Landed:
    """Record that HEAD is landed, and the days that this machine knows of."""
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], check=True, capture_output=True, text=True, cwd=repository
    ).stdout.strip()
    now = Landed(head, later(landed(file).green, green))
    file.write_text(document(now))
    return now
