"""Files and folders copied to a server or from it, as `cp -r` would."""

from __future__ import annotations

import os
import posixpath
import re
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from devctl.api.devserver import NAME
from devctl.client.files import remote
from devctl.client.files.amounts import expect, sent
from devctl.client.files.archive import pack
from devctl.client.files.arrive import incoming, room, target_folder
from devctl.client.files.dotgit import Withheld, refuse_repository
from devctl.client.files.failed import failure
from devctl.client.files.local import Selection, chosen_file, entry, select
from devctl.client.files.names import named, readable
from devctl.client.files.offered import offered
from devctl.client.files.put import put_folder
from devctl.client.files.unpack import MEMBERS, Unpacking, enough
from devctl.errors import DevctlError, NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from devctl.client.files.remote import Found, Place
    from devctl.client.files.transfer import Send

__all__ = ["Copied", "There", "download", "parse", "put_folder", "upload"]

_REPLICA = re.compile(r"(.*)\.(\d{1,4})", re.ASCII)
_ROUNDS = 3


class There(NamedTuple):
    """A path in a server, as a person writes it: `NAME:PATH`, or `NAME.K:PATH` of replica K."""

    server: str
    replica: int
    path: str


@dataclass(frozen=True)
class Copied:
    """What was copied.

    Attributes:
        target: Where it is.
        files: How many files, links and empty folders.
        size: Their bytes.
        secrets: Names that were left out, for they look like secrets.
        left_out: What else was not taken, each with why.
        changed: Files that changed while they were read, and were not taken.
        git: What was not taken from a pod, as it is part of git repositories.
    """

    target: str
    files: int
    size: int
    secrets: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    git: Withheld = field(default_factory=Withheld)

    def summary(self) -> str:
        """One line of it.

        >>> Copied("lab-0:/home/dev/a", 1, 5).summary()
        'lab-0:/home/dev/a: 1 file, 5 B'
        """
        return f"{self.target}: {sent(self.files, self.size).removesuffix(' sent')}"


def parse(text: str) -> There | None:
    """A path in a server; None for a path here.

    A path here that has a colon is written with a slash before it, as for scp.

    >>> parse("lab.1:/tmp")
    There(server='lab', replica=1, path='/tmp')

    Raises:
        UsageError: There can be no such server.
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
    progress: Callable[[int], None] | None = None,
) -> Copied:
    """Send a file or a folder to a server; files there of the same names are replaced.

    Args:
        local: The file or folder.
        place: Where: a folder that is there takes it in, else that is what it is called there.
        into: Whether it is to be a folder, there or not.
        secrets: Whether what looks like a secret in a folder is sent, too.
        progress: Takes the number of bytes that were just sent.

    Raises:
        NotFoundError: There is no such file.
        DevctlError: It cannot be read, or the pod could not take it; what was there is as it was.
    """
    if not os.path.lexists(local):
        raise NotFoundError(f"there is no `{readable(str(local))}`", "look with `ls`")
    own = local.resolve().name if local.is_dir() or local.name in {"", ".."} else local.name
    if into or remote.kind(place) == "folder":
        place = place._replace(path=posixpath.join(place.path, own))
    if local.is_dir():
        root = local.resolve()
        if remote.kind(place) == "file":
            raise UsageError(f"`{place}` is a file", "name a folder, there or not")
        selection = select(root, _all_below(root), secrets=secrets, large=True)
        return _send(place, selection, str, place, progress)
    # A link that is named is followed: what is meant is what it leads to.
    found = local.resolve() if local.is_symlink() else local.absolute()
    selection = Selection(found.parent, [chosen_file(found)])
    folder, name = posixpath.split(place.path)
    if not name:
        raise UsageError(f"`{place}` is a folder", "name a file")
    return _send(place._replace(path=folder), selection, lambda _path: name, place, progress)


def _send(
    folder: Place,
    selection: Selection,
    rename: Callable[[str], str],
    shown: Place,
    progress: Callable[[int], None] | None,
) -> Copied:
    waiting, changed = selection.entries, list[str]()
    for _ in range(_ROUNDS):
        changed = []
        expect(progress, (found.size for found in waiting), packed=True)

        def feed(send: Send) -> None:
            counted = remote.counted(send, progress)
            changed.extend(pack(counted, selection.root, waiting, {}, rename))  # noqa: B023

        remote.receive(folder, feed)
        waiting = [
            entry(selection.root, name)
            for name in changed
            if os.path.lexists(selection.root / name)
        ]
        if not waiting:
            break
    kept = [found for found in selection.entries if found.path not in changed]
    if changed and not kept:
        raise DevctlError(
            f"{named(changed)} changed while it was read, and was not sent",
            "wait until it is written, and repeat the command",
        )
    size = sum(found.size for found in kept)
    return Copied(str(shown), len(kept), size, selection.secrets, [], changed)


def _all_below(root: Path) -> list[str]:
    """All files, links and empty folders below a folder, whoever ignores them."""
    return sorted(_below(root, ""))


def _below(root: Path, place: str) -> Iterator[str]:
    try:
        with os.scandir(root / place) as entries:
            found = list(entries)
    except OSError as error:
        raise DevctlError(
            f"nothing was sent: cannot read the folder `{readable(str(root / place))}`:"
            f" {error.strerror}",
            "change its mode, or move it away",
        ) from error
    if not found and place:
        yield place
    for each in found:
        name = f"{place}/{each.name}" if place else each.name
        if each.is_dir(follow_symlinks=False):
            yield from _below(root, name)
        else:
            yield name


def download(
    place: Place,
    local: Path,
    *,
    overwrite: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Copied:
    """Bring a file or a folder of a server here.

    A file is replaced where it is named; those in a folder are not, unless it is asked for: which
    they are is the pod's choice.

    Raises:
        NotFoundError: There is no such file.
        DevctlError: The pod sends what no honest one does, or files here are in the way; all of
            them are as they were.
    """
    kind = remote.kind(place)
    if kind == "nothing":
        raise NotFoundError(f"there is no `{place}`", place.advice.look)
    own = posixpath.basename(place.path)
    if kind == "folder":
        target = local / own if local.is_dir() and own else local
        if os.path.lexists(target) and not target.is_dir():
            raise UsageError(f"`{readable(str(target))}` is not a folder", "name another one")
        return _download_folder(place, target, progress, overwrite=overwrite)
    target = local / own if local.is_dir() else local
    if target.is_dir():
        raise UsageError(f"`{readable(str(target))}` is a folder", "name a file")
    if not target.parent.is_dir():
        raise NotFoundError(f"there is no folder `{readable(str(target.parent))}`", "make it first")
    return _download_file(place, own, target, progress)


def _download_file(
    place: Place, name: str, target: Path, progress: Callable[[int], None] | None
) -> Copied:
    refuse_repository(target)
    folder = place._replace(path=posixpath.dirname(place.path))
    about = remote.look(folder, [name]).get(name)
    if about is not None and stat.S_ISLNK(about.mode):
        # A link here would lead to another file.
        raise UsageError(f"`{place}` is a link", "name the file that it leads to")
    space = room(target.parent)
    enough(space, about.size if about else 0)
    expect(progress, [about.size] if about else [])
    with incoming(target.parent.resolve()) as arrived:
        unpacking = Unpacking(arrived, space, frozenset([name]), progress)
        said = remote.fetch(folder, [name], unpacking.take)
        if unpacking.files != [name] or (arrived / name).is_symlink():
            raise failure(place, said or [f"`{readable(name)}` was not sent"])
        size = (arrived / name).lstat().st_size
        (arrived / name).replace(target)
    return Copied(readable(str(target)), 1, size, changed=said)


def _download_folder(
    place: Place, target: Path, progress: Callable[[int], None] | None, *, overwrite: bool
) -> Copied:
    names, problems = remote.find(place)
    if len(names) > MEMBERS:
        raise DevctlError(f"`{place}` holds more than {MEMBERS:,} files", "name a folder in it")
    offer = offered(names, target)
    left_out = problems + offer.left_out
    found = remote.look(place, offer.names)
    wanted = [name for name, about in found.items() if _taken(about)]
    said: list[str] = []
    with target_folder(target) as top, incoming(top) as arrived:
        space = room(top)
        enough(space, sum(found[name].size for name in wanted))
        expect(progress, (found[name].size for name in wanted))
        unpacking = Unpacking(arrived, space, frozenset(wanted), progress)
        unpacking.folders = _empty_folders(found)
        if wanted:
            said = remote.fetch(place, wanted, unpacking.take)
        size = sum((arrived / name).lstat().st_size for name in unpacking.files)
        put_folder(
            arrived,
            top,
            unpacking,
            may_replace=lambda _name, _there: overwrite,
            fix="move it away, name another folder, or replace it with --overwrite",
        )
    left_out += unpacking.left_out
    count = len(unpacking.files) + len(unpacking.folders)
    return Copied(readable(str(target)), count, size, [], left_out, said, offer.git)


def _taken(about: Found) -> bool:
    return stat.S_ISREG(about.mode) or stat.S_ISLNK(about.mode)


def _empty_folders(found: dict[str, Found]) -> list[str]:
    filled = {posixpath.dirname(name) for name in found}
    return [n for n, about in found.items() if stat.S_ISDIR(about.mode) and n not in filled]
