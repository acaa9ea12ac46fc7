"""The records that a server's replicas keep of its runs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from devctl.client.runs.place import Place


_RUN = re.compile(r"[a-z0-9-]+")
_FATES = frozenset({"running", "ended", "lost"})
_NUMBER = re.compile(r"[0-9]{1,10}")
_HEAD, _ABOUT = 3, 3
"""Fields of a record that identify its run, and those between them and its command."""


class Record(NamedTuple):
    """A run on one replica.

    Attributes:
        fate: `running`, `ended` or `lost`.
        code: Its exit code once it has ended.
        started: Unix time on the replica's own clock; 0 if unknown.
    """

    run: str
    fate: str
    code: int | None
    started: int
    folder: str
    argv: tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """A run, by the records of the replicas that have one, in their order."""

    place: Place
    name: str
    records: Mapping[int, Record]

    @property
    def state(self) -> str:
        """`Running`, `Succeeded`, `Failed` or `Lost`."""
        fates = {record.fate for record in self.records.values()}
        if "running" in fates:
            return "Running"
        if any(record.code for record in self.records.values()):
            return "Failed"
        return "Lost" if "lost" in fates else "Succeeded"

    @property
    def code(self) -> int | None:
        """The exit code of the first replica that failed, else 0; None while all are unknown."""
        known = [record.code for record in self.records.values() if record.code is not None]
        return next((code for code in known if code), 0 if known else None)

    @property
    def started_at(self) -> datetime:
        """When its first replica was started."""
        known = [record.started for record in self.records.values() if record.started]
        return datetime.fromtimestamp(min(known, default=0), UTC)

    @property
    def argv(self) -> tuple[str, ...]:
        """The command; empty if no record has it."""
        return next((record.argv for record in self.records.values() if record.argv), ())

    @property
    def folder(self) -> str:
        """Its working directory, absolute or relative to the home; empty if no record has it."""
        return next((record.folder for record in self.records.values() if record.folder), "")

    @property
    def raw(self) -> dict[str, object]:
        """It as a document."""
        return {
            "name": self.name,
            "server": self.place.server,
            "state": self.state,
            "exitCode": self.code,
            "startedAt": f"{self.started_at:%Y-%m-%dT%H:%M:%SZ}",
            "command": list(self.argv),
            "replicas": [
                {"replica": replica, "state": record.fate, "exitCode": record.code}
                for replica, record in self.records.items()
            ],
        }


def parse(listed: bytes) -> list[Record]:
    r"""The records that a replica lists: fields that each end with a NUL.

    A torn record must not hide the others: it is skipped, or has no command if its run is known.

    >>> parse(b"a-1\0ended\0007\0001700000000\0/home/dev\0002\0python\0x.py\0")[0].argv
    ('python', 'x.py')
    >>> [record.run for record in parse(b"a-1\0lost\0-\0b-2\0lost\0-\0001\0/\0000\0")]
    ['a-1', 'b-2']
    """
    fields = listed.decode(errors="backslashreplace").split("\0")[:-1]
    found, at = [], 0
    while at < len(fields):
        run, fate, code, *about = fields[at : at + _HEAD + _ABOUT] + [""] * (_HEAD + _ABOUT)
        if fate not in _FATES or not _RUN.fullmatch(run):
            at += 1
            continue
        ended = int(code) if fate == "ended" and _NUMBER.fullmatch(code) else None
        fate = "lost" if fate == "ended" and ended is None else fate
        started, folder, count = about[:_ABOUT]
        at += _HEAD
        known = _NUMBER.fullmatch(started) and _NUMBER.fullmatch(count)
        if known and at + _ABOUT + int(count) <= len(fields):
            at += _ABOUT + int(count)
            argv = tuple(fields[at - int(count) : at])
            found.append(Record(run, fate, ended, int(started), folder, argv))
        else:
            found.append(Record(run, fate, ended, 0, "", ()))
    return found


def merged(place: Place, listed: Mapping[int, Sequence[Record]]) -> list[Run]:
    """The runs of all replicas, the latest first."""
    found: dict[str, dict[int, Record]] = {}
    for replica, records in sorted(listed.items()):
        for record in records:
            found.setdefault(record.run, {})[replica] = record
    runs = [Run(place, name, records) for name, records in found.items()]
    return sorted(runs, key=lambda run: run.started_at, reverse=True)
