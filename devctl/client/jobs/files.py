"""The files on a job's volume: uploaded and verified, listed, downloaded. The pod is not trusted.

The scripts are constants: names reach them as arguments, or NUL-separated on standard input. Those
that read standard input print `+` first, as devctl.client.files.transfer requires.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from devctl.client.files import remote as files_remote
from devctl.client.files.archive import as_input
from devctl.client.files.copy import Copied, fetch_folder
from devctl.client.files.ignore import listed
from devctl.client.files.local import select
from devctl.client.files.names import named
from devctl.client.files.remote import MEMBERS
from devctl.client.jobs.copy_url import copy_url, target_path
from devctl.client.jobs.fetch import Limits, look_up
from devctl.client.jobs.helper_pod import DEBUG, LOADER, helper
from devctl.client.objects import Collection
from devctl.errors import DevctlError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Unpack

    from devctl.client.files.local import Entry, Selection
    from devctl.client.files.remote import Place
    from devctl.client.files.transfer import Progress
    from devctl.client.jobs.copy_url import Fetched
    from devctl.client.jobs.helper_pod import PodOptions

_DIGEST = re.compile(rb"^\\?([0-9a-f]{64})  \./", re.MULTILINE)

# Arguments: volume. Input: names of folders. Prints those that are links out of it, and two NULs.
# What is written through such a link is lost with the pod: no job would find it.
ASTRAY = r"""
cd -- "$1" || exit 97
top=$(pwd -P)
export top
printf + || exit 97
xargs -0 -r sh -c '
  for f do
    [ -L "$f" ] || continue
    case $(cd -P -- "$f" 2>/dev/null && pwd -P)/ in
      "$top"/*) ;;
      *) printf "%s\0" "$f" ;;
    esac
  done
' sh || exit 97
printf '\0\0'
exit 0
"""

# Arguments: folder. Input: names of files. Prints the digest of each, in order; fails if one is
# outside of the folder or has been replaced by a link.
DIGESTS = r"""
cd -- "$1" || exit 97
top=$(pwd -P)
export top
printf + && exec xargs -0 sh -c '
  seen=
  for f do
    [ ! -L "$f" ] || { echo "a link has taken the place of a file" >&2; exit 1; }
    [ "${f%/*}" != "$seen" ] || continue
    seen=${f%/*}
    case $(cd -P -- "$seen" && pwd -P)/ in
      "$top"/*) ;;
      *) echo "a link there leads out of the volume" >&2; exit 1 ;;
    esac
  done
  exec sha256sum -- "$@"
' sh
"""

# Arguments: folder. Prints the names of files and links below it, and two NULs.
LIST = r"""
cd -- "$1" || exit 97
find . \( -name lost+found -o -name '.devctl-incoming.*' \) -prune \
  -o \( -type f -o -type l \) -print0 2>/dev/null
printf '\0\0'
exit 0
"""


def choose(local: Path, *, secrets: bool = False, large: bool = False) -> Selection:
    """Select what to send of a folder: what git would list, as for `devctl sync`.

    Raises UsageError if it is not a folder, DevctlError if something in it cannot be sent.
    """
    if not local.is_dir():
        raise UsageError(f"`{local}` is not a folder", "name the folder of your project")
    root = local.resolve()
    return select(root, listed(root), secrets=secrets, large=large)


def _astray(place: Place, entries: Iterable[Entry]) -> list[str]:
    """Folders of the upload that, on the volume, are links out of it."""
    folders = {str(above) for found in entries for above in PurePosixPath(found.path).parents}
    folders |= {found.path for found in entries if stat.S_ISDIR(found.mode)}
    names = sorted(folders - {"."})
    return _names(files_remote.answer(place, ASTRAY, names)) if names else []


def _verify(place: Place, wanted: Mapping[str, str]) -> None:
    """Check that files have the SHA-256 that they were sent with."""
    if not wanted:
        return
    said = files_remote.ask(place, DIGESTS, feed=lambda send: send(as_input(wanted)))
    there = parse_digests(said, list(wanted))
    if wrong := [name for name in wanted if there.get(name) != wanted[name]]:
        raise DevctlError(
            f"{named(wrong)} did not arrive intact in `{place}`",
            "repeat the command; if it keeps failing, ask an administrator to check the storage",
        )


def parse_digests(said: bytes, names: Sequence[str]) -> dict[str, str]:
    r"""The digests of names, in their order, from the output of `sha256sum`; empty if some lack.

    How names are escaped depends on the program: GNU's puts a backslash before such a line.

    >>> parse_digests(b"0" * 64 + b"  ./a\n", ["a"]) == {"a": "0" * 64}
    True
    """
    found = [digest.decode() for digest in _DIGEST.findall(said)]
    return dict(zip(names, found, strict=True)) if len(found) == len(names) else {}


@dataclass(frozen=True)
class StoredFile:
    """A file or link on a volume."""

    name: str
    size: int
    changed_at: datetime
    link: bool = False


def stored_names(place: Place) -> list[str]:
    """The names of files and links below a folder, as the pod reports them."""
    found = sorted(_names(files_remote.answer(place, LIST)))
    if len(found) > MEMBERS:
        raise DevctlError(f"`{place}` holds more than {MEMBERS:,} files", "look with `egpu debug`")
    return found


def _names(said: bytes) -> list[str]:
    return [os.fsdecode(name).removeprefix("./") for name in said.split(b"\0") if name]


class JobFiles(Collection):
    """The files on the volumes of jobs.

    Each method creates a short-lived pod that mounts the volume, with the user's own permissions:
    the job's pod may be gone, or not exist yet. `moved` takes the number of bytes just moved.
    """

    def upload(
        self,
        job: str,
        what: Path | Selection,
        moved: Progress | None = None,
        **pod: Unpack[PodOptions],
    ) -> Copied:
        """Put a folder's contents, or what `choose` has selected, at the root of a volume.

        Each file appears there complete, and is verified. Raises DevctlError if the pod could not
        take them, they did not arrive intact, or a link left by an earlier job would have led them
        out of the volume.
        """
        selection = choose(what) if isinstance(what, Path) else what
        entries = selection.entries
        digests: dict[str, str] = {}
        with helper(self._cluster, job, LOADER, **pod) as place:
            if astray := _astray(place, entries):
                raise DevctlError(
                    f"`{place}`: a link there leads out of the volume: {named(astray)}; nothing was"
                    " sent",
                    "remove it there with `egpu debug`, or rename your folder",
                )
            arrived, changed = files_remote.send(
                place, selection.root, entries, digests=digests, progress=moved
            )
            files = [found.path for found in arrived if stat.S_ISREG(found.mode)]
            _verify(place, {name: digests.get(name, "") for name in files})
            if changed:
                raise DevctlError(
                    f"{named([found.path for found in changed])} changed while it was being read,"
                    " and was not sent",
                    "wait until it is no longer written to, or list it in `.devctlignore`",
                )
            return Copied(str(place), len(entries), sum(found.size for found in entries))

    def list(self, job: str, **pod: Unpack[PodOptions]) -> Sequence[StoredFile]:
        """The files and links on a job's volume."""
        with helper(self._cluster, job, LOADER, **pod) as place:
            found = files_remote.look(place, stored_names(place))
        return [
            StoredFile(
                name, each.size, datetime.fromtimestamp(each.mtime, UTC), stat.S_ISLNK(each.mode)
            )
            for name, each in found.items()
        ]

    def download(
        self, job: str, into: Path, moved: Progress | None = None, **pod: Unpack[PodOptions]
    ) -> Copied:
        """Fetch the files on a job's volume; no local file is replaced by a different one.

        Raises DevctlError if the pod sends what no honest one would, or local files are in the way;
        all local files are then unchanged.
        """
        if into.exists() and not into.is_dir():
            raise UsageError(f"`{into}` is not a folder", "name a folder, existing or new")
        with helper(self._cluster, job, LOADER, **pod) as place:
            return fetch_folder(place, stored_names(place), into, moved)

    def copy_url(
        self,
        job: str,
        url: str,
        path: str,
        limits: Limits | None = None,
        moved: Progress | None = None,
        **pod: Unpack[PodOptions],
    ) -> Fetched:
        """Download a URL on this machine and stream it to a file on a job's volume."""
        path, limits = target_path(path), limits or Limits()
        look_up(url, limits)
        with helper(self._cluster, job, LOADER, **pod) as place:
            return copy_url(place, url, path, limits, moved)

    def debug(self, job: str, **pod: Unpack[PodOptions]) -> AbstractContextManager[Place]:
        """A pod with a job's volume at /mnt, for as long as a `with` block lasts."""
        return helper(self._cluster, job, DEBUG, **pod)
