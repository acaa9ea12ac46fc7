"""Files and folders copied to a server or from it, as `cp -r` does."""

from __future__ import annotations

import os
import posixpath
import re
import stat
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from devctl.api.devserver import NAME
from devctl.client.files import remote
from devctl.client.files.ignore import walk
from devctl.client.files.incoming import fetch, incoming, put_folder, target_folder
from devctl.client.files.local import Selection, chosen_file, select
from devctl.client.files.names import Withheld, named, offered, refuse_repository
from devctl.client.files.scripts import failure
from devctl.client.files.transfer import total
from devctl.errors import DevctlError, NotFoundError, UsageError
from devctl.text import readable

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from devctl.client.files.remote import Place
    from devctl.client.files.transfer import Progress

_REPLICA = re.compile(r"(.*)\.(\d{1,4})", re.ASCII)


class There(NamedTuple):
    """A path in a server, as people write it: `NAME:PATH`, or `NAME.K:PATH` of replica K."""

    server: str
    replica: int
    path: str


@dataclass(frozen=True)
class Copied:
    """What was copied: where it is, the number of files, links and empty folders, their bytes.

    Attributes:
        secrets: Names that were left out because they look like secrets.
        left_out: What else was not taken, each with the reason.
        changed: Files that were not taken because they changed while they were read.
        git: What was left in a pod because it belongs to git repositories.
    """

    target: str
    files: int
    size: int
    secrets: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    git: Withheld = field(default_factory=Withheld)

    def summary(self) -> str:
        """A line for people.

        >>> Copied("lab-0:/home/dev/a", 2, 34_000).summary()
        'lab-0:/home/dev/a: 2 files, 34 KB'
        """
        return f"{self.target}: {total(self.files, self.size)}"


def parse(text: str) -> There | None:
    """A path in a server; None for a path here.

    As for scp, a path here that has a colon needs a slash before it. UsageError if no server can
    have the name.

    >>> parse("lab.1:/tmp")
    There(server='lab', replica=1, path='/tmp')
    """
    front, colon, path = text.partition(":")
    if not colon or "/" in front:
        return None
    match = _REPLICA.fullmatch(front)
    name, replica = (match[1], int(match[2])) if match else (front, 0)
    if not NAME.fullmatch(name):
        raise UsageError(
            f"`{readable(front)}` is not a name of a server",
            f"write NAME:PATH, or `./{readable(text)}` for a file of that name here",
        )
    return There(name, replica, path)


def upload(
    local: Path,
    place: Place,
    *,
    into: bool = False,
    secrets: bool = False,
    progress: Progress | None = None,
) -> Copied:
    """Send a file or a folder to a server; files there of the same names are replaced.

    It goes into the place if that is a folder, or is meant to be one; else it gets that path.
    DevctlError if it cannot be read, or the pod could not take it; what was there is unchanged.
    """
    if not os.path.lexists(local):
        raise NotFoundError(f"there is no `{readable(str(local))}`", "look with `ls`")
    own = local.resolve().name if local.is_dir() or local.name in {"", ".."} else local.name
    if into or remote.kind(place) == "folder":
        place = place._replace(path=posixpath.join(place.path, own))
    folder, name = place, ""
    if local.is_dir():
        root = local.resolve()
        if remote.kind(place) == "file":
            raise UsageError(f"`{place}` is a file", "choose a folder, new or existing")
        selection = select(root, sorted(walk(root)), secrets=secrets, large=True)
    else:
        # A link is followed if it is named itself: what is meant is its target.
        found = local.resolve() if local.is_symlink() else local.absolute()
        selection = Selection(found.parent, [chosen_file(found)])
        above, name = posixpath.split(place.path)
        if not name:
            raise UsageError(f"`{place}` is a folder", "choose a file")
        folder = place._replace(path=above)
    arrived, _ = remote.send(
        folder,
        selection.root,
        selection.entries,
        rename=lambda path: name or path,
        progress=progress,
    )
    kept = {found.path for found in arrived}
    changed = [found.path for found in selection.entries if found.path not in kept]
    if changed and not kept:
        raise DevctlError(
            f"{named(changed)} changed while it was read, and was not sent",
            "wait until it is written, and repeat the command",
        )
    size = sum(found.size for found in arrived)
    return Copied(str(place), len(arrived), size, selection.secrets, [], changed)


def download(
    place: Place, local: Path, *, overwrite: bool = False, progress: Progress | None = None
) -> Copied:
    """Bring a file or a folder of a server here.

    A named file is replaced. Files in a folder are replaced only on request: the pod decides which
    they are. DevctlError, and no change, if the pod sends what no well-behaved one does, or files
    here are in the way.
    """
    kind = remote.kind(place)
    if kind == "nothing":
        raise NotFoundError(f"there is no `{place}`", place.advice.look)
    own = posixpath.basename(place.path)
    if kind == "folder":
        target = local / own if local.is_dir() and own else local
        if os.path.lexists(target) and not target.is_dir():
            raise UsageError(f"`{readable(str(target))}` is not a folder", "choose another one")
        names, problems = remote.find(place)
        fix = "move it away, choose another folder, or replace it with --overwrite"
        done = fetch_folder(place, names, target, progress, overwrite=overwrite, fix=fix)
        return replace(done, left_out=problems + done.left_out)
    target = local / own if local.is_dir() else local
    if target.is_dir():
        raise UsageError(f"`{readable(str(target))}` is a folder", "choose a file")
    if not target.parent.is_dir():
        parent = readable(str(target.parent))
        raise NotFoundError(f"there is no folder `{parent}`", "create it first")
    refuse_repository(target)
    folder = place._replace(path=posixpath.dirname(place.path))
    about = remote.look(folder, [own]).get(own)
    if about is not None and stat.S_ISLNK(about.mode):
        # A link here would lead to another file.
        raise UsageError(f"`{place}` is a link", "name the file that it leads to")
    with incoming(target.parent.resolve()) as arrived:
        unpacking, said = fetch(folder, {own: about.size if about else 0}, arrived, progress)
        if unpacking.files != [own] or (arrived / own).is_symlink():
            raise failure(place, said or [f"`{readable(own)}` was not sent"])
        size = unpacking.size
        (arrived / own).replace(target)
    return Copied(readable(str(target)), 1, size, changed=said)


def fetch_folder(  # noqa: PLR0913 - each is a choice of the caller
    place: Place,
    names: Iterable[str],
    target: Path,
    progress: Progress | None,
    *,
    overwrite: bool = False,
    fix: str = "move it away, or choose another folder",
) -> Copied:
    """Fetch files, links and empty folders of those names; all of them arrive, or none.

    `fix` is for files here that differ and may not be replaced.
    """
    offer = offered(names, target)
    found = remote.look(place, offer.names)
    filled = {posixpath.dirname(name) for name in found}
    folders = [n for n, about in found.items() if stat.S_ISDIR(about.mode) and n not in filled]
    sizes = {
        name: about.size
        for name, about in found.items()
        if stat.S_ISREG(about.mode) or stat.S_ISLNK(about.mode)
    }
    with target_folder(target) as top, incoming(top) as arrived:
        unpacking, said = fetch(place, sizes, arrived, progress)
        unpacking.folders = folders
        size = unpacking.size
        put_folder(arrived, top, unpacking, may_replace=lambda *_: overwrite, fix=fix)
    count = len(unpacking.files) + len(folders)
    left_out = offer.left_out + unpacking.left_out
    return Copied(readable(str(target)), count, size, [], left_out, said, offer.git)
