"""What the last sync of two folders left on both sides, by which later changes are noticed."""

from __future__ import annotations

import json
import os
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from devctl.errors import DeniedError, HostError, NotFoundError
from devctl.kube import resources
from devctl.kube.pod_streams import CONTAINER
from devctl.whole_file import write_file

if TYPE_CHECKING:
    from devctl.client.files.local import Entry
    from devctl.client.files.remote import Found, Place
    from devctl.kube.cluster import Cluster, Object

_VERSION = 2
"""Version 1 identified pods instead of volumes: its home may have been replaced."""


class Known(NamedTuple):
    """A file as the last sync left it: its size, and when it was changed, on both sides.

    `mode` and `changed`, in nanoseconds, are from here; `mtime`, in seconds, is from there.
    """

    size: int
    mode: int
    changed: int
    mtime: int


@dataclass
class Record:
    """What is known of the files of one folder here and one there, kept in a file."""

    path: Path
    about: list[str] = field(default_factory=list)
    files: dict[str, Known] = field(default_factory=dict)

    @classmethod
    def read(cls, root: Path, place: Place) -> Record:
        """The record of two folders; empty if they were never synced, or it cannot be read.

        The folder there is identified by its volume and path: a server that is recreated with the
        same home continues its record, one of the same name with another home has none. Without a
        record, files are compared more thoroughly, and none is deleted.
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
        """Keep it for the next sync; HostError if it cannot be written."""
        kept = {"version": _VERSION, "about": self.about, "files": self.files}
        try:
            write_file(self.path, json.dumps(kept))
        except OSError as error:
            raise HostError(
                f"cannot keep `{self.path}`: {error.strerror}",
                "free space there, or choose another place with XDG_STATE_HOME",
            ) from error

    def is_here(self, found: Entry) -> bool:
        """Whether a file here is as the last sync left it."""
        known = self.files.get(found.path)
        return known is not None and known[:3] == (found.size, found.mode, found.changed)

    def is_there(self, name: str, found: Found) -> bool:
        """Whether a file there is as the last sync left it."""
        known = self.files.get(name)
        return known is not None and (known.size, known.mtime) == (found.size, found.mtime)

    def same(self, here: Entry, there: Found) -> bool | None:
        """Whether a file is the same on both sides; None if only its content can tell."""
        if stat.S_IFMT(here.mode) != stat.S_IFMT(there.mode):
            return False
        if stat.S_ISDIR(here.mode) or here.size != there.size:
            return stat.S_ISDIR(here.mode)
        if self.is_here(here) and self.is_there(here.path, there):
            return True
        if stat.S_ISLNK(here.mode):
            return False
        # Times there are in seconds: two changes within one look the same.
        known = here.path in self.files
        unread = known or here.mtime != there.mtime or runs_differently(here, there)
        return None if unread else True


def runs_differently(here: Entry, there: Found) -> bool:
    """Whether a file is executable on one side only."""
    return bool((here.mode ^ there.mode) & stat.S_IXUSR)


def folder() -> Path:
    """The folder of all records, which belong to this user and this machine."""
    state = os.environ.get("XDG_STATE_HOME") or ""
    base = Path(state) if state.startswith("/") else Path.home() / ".local" / "state"
    return base / "devctl" / "sync"


def volume_of(cluster: Cluster, pod: Object, path: str) -> str:
    """What identifies the volume of an absolute path in a server's pod, for ever.

    It is the UID of the claim, which outlives pods and servers. A path on no claim shares the pod's
    life, and has the pod's UID; so has one whose claim the user may not read.
    """
    meta = pod["metadata"]
    own = str(meta.get("uid") or "")
    claim = _claim(pod, path)
    if not claim:
        return own
    try:
        found = cluster.get(resources.PersistentVolumeClaim, claim, meta["namespace"])
    except (DeniedError, NotFoundError):
        return own
    return str(found["metadata"].get("uid") or own)


def _claim(pod: Object, path: str) -> str:
    """The claim that a path is on; empty if there is none."""
    spec = pod.get("spec") or {}
    mounts = [
        mount
        for container in spec.get("containers") or []
        if container.get("name") == CONTAINER
        for mount in container.get("volumeMounts") or []
        if f"{path}/".startswith(f"{str(mount.get('mountPath', '')).rstrip('/')}/")
    ]
    mount: Object = max(mounts, key=lambda each: len(each["mountPath"]), default={})
    volumes = {each.get("name"): each for each in spec.get("volumes") or []}
    claim = volumes.get(mount.get("name"), {}).get("persistentVolumeClaim") or {}
    return str(claim.get("claimName") or "")
