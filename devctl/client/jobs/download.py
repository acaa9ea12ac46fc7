"""The files on a job's volume: listed, and brought here. The pod is not trusted."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from devctl.client.files import remote as files_remote
from devctl.client.files.incoming import Unpacking, incoming, put_folder, room
from devctl.client.files.names import Withheld, offered
from devctl.client.files.remote import MEMBERS
from devctl.client.files.transfer import Expecting, expect, sent
from devctl.client.jobs.scripts import LIST
from devctl.errors import DevctlError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from devctl.client.files.remote import Spot


@dataclass(frozen=True)
class StoredFile:
    """A file or a link on a volume."""

    name: str
    size: int
    changed_at: datetime
    link: bool = False


@dataclass(frozen=True)
class Downloaded:
    """What was brought here.

    Attributes:
        target: The folder where it is.
        files: How many files and links.
        size: Their bytes.
        left_out: What we do not take, each with why.
        changed: What `tar` said of files that changed while it read them.
        git: What was not taken, as it is part of git repositories.
    """

    target: str
    files: int
    size: int
    left_out: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    git: Withheld = field(default_factory=Withheld)

    def summary(self) -> str:
        """One line of it.

        >>> Downloaded("results", 1, 5).summary()
        'results: 1 file, 5 B'
        """
        return f"{self.target}: {sent(self.files, self.size).removesuffix(' sent')}"


def names(place: Spot) -> list[str]:
    """The names of files and links below a folder, as the pod tells them."""
    said = files_remote.answer(place, LIST)
    found = sorted(os.fsdecode(name).removeprefix("./") for name in said.split(b"\0") if name)
    if len(found) > MEMBERS:
        raise DevctlError(f"`{place}` holds more than {MEMBERS:,} files", "look with `egpu debug`")
    return found


def stored(place: Spot) -> Sequence[StoredFile]:
    """The files and links below a folder."""
    return [
        StoredFile(
            name, found.size, datetime.fromtimestamp(found.mtime, UTC), stat.S_ISLNK(found.mode)
        )
        for name, found in files_remote.look(place, names(place)).items()
    ]


def download(place: Spot, into: Path, progress: Callable[[int], None] | None = None) -> Downloaded:
    """Bring all files below a folder of a volume here; nothing here is replaced by another file.

    Raises:
        DevctlError: The pod sends what no honest one does, or files here are in the way; all of
            them are as they were.
    """
    if into.exists() and not into.is_dir():
        raise UsageError(f"`{into}` is not a folder", "name a folder, there or not")
    offer = offered(names(place), into)
    wanted = offer.names
    into.mkdir(parents=True, exist_ok=True)
    target = into.resolve()
    changed: list[str] = []
    size = 0
    with incoming(target) as arrived:
        unpacking = Unpacking(arrived, room(target), frozenset(wanted), progress)
        if wanted:
            if isinstance(progress, Expecting):
                expect(progress, (f.size for f in files_remote.look(place, wanted).values()))
            changed = files_remote.fetch(place, wanted, unpacking.take)
        size = sum((arrived / found).lstat().st_size for found in unpacking.files)
        put_folder(arrived, target, unpacking)
    left_out = offer.left_out + unpacking.left_out
    return Downloaded(str(into), len(unpacking.files), size, left_out, changed, offer.git)
