"""The contents of a folder here, put onto a job's volume."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from devctl.client.files import remote as files_remote
from devctl.client.files.archive import pack
from devctl.client.files.ignore import listed
from devctl.client.files.local import entry, select
from devctl.client.files.names import named
from devctl.client.files.transfer import expect, sent
from devctl.client.jobs.checksums import verify
from devctl.client.jobs.scripts import ASTRAY
from devctl.errors import DevctlError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from devctl.client.files.local import Entry, Selection
    from devctl.client.files.remote import Spot

_ROUNDS = 2
"""How often a file that changes while it is read is tried."""


@dataclass(frozen=True)
class Uploaded:
    """What was put onto a volume.

    Attributes:
        files: How many files, links and empty folders.
        size: Their bytes.
    """

    files: int
    size: int

    def summary(self) -> str:
        """One line of it.

        >>> Uploaded(2, 34_000).summary()
        '2 files, 34 KB sent and checked'
        """
        return f"{sent(self.files, self.size)} and checked"


def choose(local: Path, *, secrets: bool = False, large: bool = False) -> Selection:
    """What of a folder is sent: what git would list, as for `devctl sync`.

    Raises:
        UsageError: It is not a folder.
        DevctlError: Something in it cannot be sent.
    """
    if not local.is_dir():
        raise UsageError(f"`{local}` is not a folder", "name the folder of your project")
    root = local.resolve()
    return select(root, listed(root), secrets=secrets, large=large)


def upload(
    place: Spot, selection: Selection, progress: Callable[[int], None] | None = None
) -> Uploaded:
    """Put files into a folder of a volume; each is there as a whole, and as it was sent.

    Args:
        place: The folder.
        selection: What is sent.
        progress: Takes the number of bytes that were just sent.

    Raises:
        DevctlError: The pod could not take it, or it did not arrive as it was sent; or it would
            have gone elsewhere, by a link that an earlier job has left there.
    """
    root, waiting = selection.root, selection.entries
    if astray := _astray(place, waiting):
        raise DevctlError(
            f"`{place}`: a link there leads out of the volume: {named(astray)}; nothing was sent",
            "remove it there with `egpu debug`, or rename your folder",
        )
    for _ in range(_ROUNDS):
        changed = _send(place, root, waiting, progress)
        waiting = [entry(root, path) for path in changed if _lexists(root, path)]
        if not waiting:
            size = sum(found.size for found in selection.entries)
            return Uploaded(len(selection.entries), size)
    raise DevctlError(
        f"{named(changed)} changed while it was read, and was not sent",
        "wait until it is written, or name it in `.devctlignore`",
    )


def _astray(place: Spot, entries: Iterable[Entry]) -> list[str]:
    """Folders of what is to be sent that are links out of the volume there."""
    folders = {str(above) for found in entries for above in PurePosixPath(found.path).parents}
    folders |= {found.path for found in entries if stat.S_ISDIR(found.mode)}
    names = sorted(folders - {"."})
    if not names:
        return []
    said = files_remote.answer(place, ASTRAY, names)
    return [os.fsdecode(name).removeprefix("./") for name in said.split(b"\0") if name]


def _send(
    place: Spot, root: Path, entries: Sequence[Entry], progress: Callable[[int], None] | None
) -> list[str]:
    """Send files once; those that changed meanwhile and were not taken."""
    digests: dict[str, str] = {}
    changed: list[str] = []
    expect(progress, (found.size for found in entries), packed=True)

    def feed(send: Callable[[bytes], None]) -> None:
        def counted(data: bytes) -> None:
            send(data)
            if progress:
                progress(len(data))

        changed.extend(pack(counted, root, entries, {}, digests=digests))

    files_remote.receive(place, feed)
    files = [found.path for found in entries if stat.S_ISREG(found.mode)]
    verify(place, {name: digests.get(name, "") for name in files if name not in changed})
    return changed


def _lexists(root: Path, path: str) -> bool:
    file = root / path
    return file.is_symlink() or file.exists()
