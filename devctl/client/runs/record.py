"""What a server's ranks have on record of its runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from devctl.errors import DevctlError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from devctl.client.runs.place import Place


class Record(NamedTuple):
    """A run on one rank.

    Attributes:
        run: Its name.
        fate: What has become of it: `running`, `ended` or `lost`.
        code: Its exit code, once it has ended.
        started: When, in seconds since 1970 on the rank's own clock.
        folder: Where.
        argv: What.
    """

    run: str
    fate: str
    code: int | None
    started: int
    folder: str
    argv: tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """A run on the ranks of a server that have it on record.

    Attributes:
        place: Where it is.
        name: Its name.
        records: What each rank has on record of it.
    """

    place: Place
    name: str
    records: Mapping[int, Record]

    @property
    def state(self) -> str:
        """What it does: `Running`, `Succeeded`, `Failed` or `Lost`."""
        fates = {record.fate for record in self.records.values()}
        if "running" in fates:
            return "Running"
        if any(record.code for record in self.records.values()):
            return "Failed"
        return "Lost" if "lost" in fates else "Succeeded"

    @property
    def code(self) -> int | None:
        """The exit code of the first rank that has one other than 0; None while none is known."""
        codes = [self.records[rank].code for rank in sorted(self.records)]
        known = [code for code in codes if code is not None]
        return next((code for code in known if code), 0 if known else None)

    @property
    def started_at(self) -> datetime:
        """When its first rank was started."""
        return datetime.fromtimestamp(min(r.started for r in self.records.values()), UTC)

    @property
    def argv(self) -> tuple[str, ...]:
        """The command."""
        return self.records[min(self.records)].argv

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
            "ranks": [
                {"rank": rank, "state": record.fate, "exitCode": record.code}
                for rank, record in sorted(self.records.items())
            ],
        }


def parse(listed: bytes) -> list[Record]:
    r"""The records that a rank lists: fields that each end with a NUL.

    >>> parse(b"a-1\0ended\0007\0001700000000\0/home/dev\0002\0python\0x.py\0")[0].argv
    ('python', 'x.py')

    Raises:
        DevctlError: Nobody can read that; the pod is not to be trusted.
    """
    fields = listed.decode(errors="backslashreplace").split("\0")[:-1]
    found, at = [], 0
    try:
        while at < len(fields):
            run, fate, code, started, folder, count = fields[at : at + 6]
            at += 6 + int(count)
            argv = tuple(fields[at - int(count) : at])
            if int(count) < 0 or len(argv) != int(count):
                raise ValueError(count)  # noqa: TRY301 - a record that is cut off is one of several
            ended = int(code) if fate == "ended" else None
            found.append(Record(run, fate, ended, int(started), folder, argv))
    except ValueError as error:
        raise DevctlError(
            "the list of runs cannot be read", "see `~/.devctl/runs` with `devctl ssh`"
        ) from error
    return found


def merged(place: Place, listed: Mapping[int, list[Record]]) -> list[Run]:
    """The runs of all ranks, the latest first."""
    names = dict.fromkeys(record.run for records in listed.values() for record in records)
    runs = [
        Run(
            place,
            name,
            {
                rank: record
                for rank, records in listed.items()
                for record in records
                if record.run == name
            },
        )
        for name in names
    ]
    return sorted(runs, key=lambda run: run.started_at, reverse=True)
