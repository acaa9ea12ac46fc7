"""What the last sync of a folder has left on both sides: what has changed since is told by it."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from devctl.client.settings import write_file
from devctl.errors import HostError

if TYPE_CHECKING:
    from devctl.client.files.local import Entry
    from devctl.client.files.remote import Found, Place

_VERSION = 2
"""Version 1 was about pods and not about volumes: what it knew may be of a home that is no more."""


class Known(NamedTuple):
    """A file as the last sync left it.

    Attributes:
        size: Its bytes, here and there.
        mode: Its type and permissions here.
        changed: When it was changed here, in nanoseconds.
        mtime: When it was changed there, in seconds.
    """

    size: int
    mode: int
    changed: int
    mtime: int

    def is_here(self, found: Entry) -> bool:
        """Whether a file here is as it was."""
        return (found.size, found.mode, found.changed) == (self.size, self.mode, self.changed)

    def is_there(self, found: Found) -> bool:
        """Whether a file there is as it was."""
        return (found.size, found.mtime) == (self.size, self.mtime)


@dataclass
class Record:
    """What is known of one folder here and one there.

    Attributes:
        path: Where it is kept.
        about: Which two folders these are.
        files: The files, by name.
    """

    path: Path
    about: list[str] = field(default_factory=list)
    files: dict[str, Known] = field(default_factory=dict)

    @classmethod
    def read(cls, root: Path, place: Place) -> Record:
        """What is known of two folders; nothing where they have never met.

        The folder there is told by its volume and its path: a server that is made again with the
        same home goes on where it was, and one of the same name with another home has no record.
        Without one, files are only compared more thoroughly, and none is deleted: one that cannot
        be read is none.
        """
        about = [place.cluster.server, place.namespace, place.volume, place.path, str(root)]
        key = sha256("\0".join(about).encode(errors="surrogateescape")).hexdigest()[:32]
        record = cls(folder() / f"{key}.json", about)
        with suppress(OSError, ValueError, TypeError, LookupError, AttributeError):
            kept = json.loads(record.path.read_text())
            if kept["version"] == _VERSION and kept["about"] == about and place.volume:
                record.files = {
                    str(name): Known(*map(int, known))
                    for name, known in kept["files"].items()
                    if not {"", ".", ".."} & {*name.split("/")}
                }
        return record

    def write(self) -> None:
        """Keep it for the next sync.

        Raises:
            HostError: It cannot be kept.
        """
        kept = {"version": _VERSION, "about": self.about, "files": self.files}
        try:
            write_file(self.path, json.dumps(kept))
        except OSError as error:
            raise HostError(
                f"cannot keep `{self.path}`: {error.strerror}",
                "free space there, or name another place with XDG_STATE_HOME",
            ) from error


def folder() -> Path:
    """Where records are kept: they are this person's, and of this machine."""
    state = os.environ.get("XDG_STATE_HOME") or ""
    base = Path(state) if state.startswith("/") else Path.home() / ".local" / "state"
    return base / "devctl" / "sync"
