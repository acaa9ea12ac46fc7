"""Files in a pod: looked at, sent there and fetched, by scripts that any image can run."""

from __future__ import annotations

import os
import posixpath
import re
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from devctl.client.files import scripts
from devctl.client.files.archive import as_input, pack
from devctl.client.files.local import entry
from devctl.client.files.names import unshowable
from devctl.client.files.scripts import HOME, check, lines
from devctl.client.files.transfer import expect, transfer
from devctl.errors import ConnectionLostError, DevctlError, UsageError
from devctl.kube.pod_streams import CONTAINER
from devctl.text import readable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from devctl.client.files.local import Entry
    from devctl.client.files.transfer import Feed, Progress, Send
    from devctl.kube.cluster import Cluster

_ROUNDS = 3
"""How often a file that changes while it is read is sent."""
_SOME_FAILED = 123
"""Exit code of xargs if the program that it runs has failed."""
_MOST = 1 << 28
"""Bytes that a pod may answer with."""
_MARK = b"\0\0"
MEMBERS = 500_000
"""How many files a pod may tell of, and send at once."""
_LOOKED = re.compile(rb"([0-9a-f]{1,8}) (\d{1,18}) (-?\d{1,12}) ")


class Advice(NamedTuple):
    """What people can do if a pod does not take or give files."""

    look: str = "look at it with `devctl ssh`"
    no_room: str = ""
    """By default, what helps depends on whether the folder is in the home."""
    read_only: str = "copy to a place below /home/dev"
    denied: str = "choose a place below /home/dev, or change its mode there"
    no_tar: str = "install tar in it, or use devctl's own image"


class Place(NamedTuple):
    """A folder or file in a pod, by its absolute path.

    Attributes:
        volume: Identifies its volume, as devctl.client.files.record.volume_of does, or is empty.
        owner: What messages name instead of the pod.
        advice: What people can do if it fails.
    """

    cluster: Cluster
    namespace: str
    pod: str
    path: str
    volume: str = ""
    container: str = CONTAINER
    owner: str = ""
    advice: Advice = Advice()

    def __str__(self) -> str:
        """How messages name it."""
        return f"{self.owner or self.pod}:{readable(self.path)}"


class Found(NamedTuple):
    """A file, link or folder in a pod, as the pod describes it."""

    mode: int
    size: int
    mtime: int


def absolute(path: str) -> str:
    """A path in a server, made absolute from the home; UsageError if there can be none.

    >>> absolute(""), absolute("a/../b/"), absolute("~/c"), absolute("/shared")
    ('/home/dev', '/home/dev/b', '/home/dev/c', '/shared')
    """
    if why := unshowable(path):
        raise UsageError(f"the path `{readable(path)}` {why}", "choose another one")
    if path == "~" or path.startswith("~/"):
        path = path[2:]
    found = posixpath.normpath(posixpath.join(HOME, path))
    # POSIX keeps two slashes at the front, and so does normpath.
    return found.replace("//", "/", 1) if found.startswith("//") else found


def kind(place: Place) -> str:
    """What a place is: `folder`, `file` or `nothing`."""
    return answer(place, scripts.KIND).decode(errors="replace")


def find(place: Place) -> tuple[list[str], list[str]]:
    """The names of all files, links and folders below a folder, and which folders are unreadable.

    NotFoundError if there is no such folder, UsageError for a file, DevctlError for too many names.
    """
    said, problems = _run(place, scripts.FIND)
    found = (os.fsdecode(name).removeprefix("./") for name in _whole(place, said).split(b"\0"))
    names = sorted(name for name in found if name not in {"", "."})
    if len(names) > MEMBERS:
        raise DevctlError(f"`{place}` holds more than {MEMBERS:,} files", "choose a folder in it")
    return names, problems


def look(place: Place, names: Iterable[str]) -> dict[str, Found]:
    """Those of the names that exist, in their order."""
    names = list(names)
    if not names:
        return {}
    said = answer(place, scripts.LOOK, names)
    found: dict[str, Found] = {}
    at = 0
    for name in names:
        match = _LOOKED.match(said, at)
        if match is None:
            break
        line = b"./" + os.fsencode(name) + b"/\n"
        if said.startswith(line, match.end()):
            mode, size, mtime = match.groups()
            found[name] = Found(int(mode, 16), int(size), int(mtime))
            at = match.end() + len(line)
    return found


def digests(place: Place, names: Iterable[str]) -> dict[str, str]:
    """The SHA-256 of files below a folder; unreadable ones are missing."""
    names = list(names)
    if not names:
        return {}
    said = answer(place, scripts.DIGESTS, names).decode(errors="replace").splitlines()
    if len(said) != len(names):
        return {}
    return {
        name: line[:64] for name, line in zip(names, said, strict=True) if not line.startswith("?")
    }


def room(place: Place) -> int | None:
    """How many bytes are free on a folder's volume; None if its image cannot tell."""
    said = answer(place, scripts.ROOM)
    return int(said) if said.isdigit() else None


def send(  # noqa: PLR0913 - each is a choice of the caller
    place: Place,
    root: Path,
    entries: Iterable[Entry],
    lists: Mapping[str, Iterable[str]] | None = None,
    *,
    rename: Callable[[str], str] = str,
    digests: dict[str, str] | None = None,
    progress: Progress | None = None,
) -> tuple[list[Entry], list[Entry]]:
    """Send files below a root, and those that change meanwhile a few times more.

    Lists of names for the script go along once; `rename` and `digests` are those of archive.pack.
    Returns what has arrived, and what kept changing; what has gone meanwhile is in neither.
    DevctlError, and no change, if the pod cannot take them.
    """
    arrived: list[Entry] = []
    waiting, waiting_lists = list(entries), lists or {}
    for _ in range(_ROUNDS):
        changed: list[str] = []
        expect(progress, (found.size for found in waiting), packed=True)

        def feed(send: Send) -> None:
            def counted(data: bytes) -> None:
                send(data)
                if progress:
                    progress(len(data))

            packed = pack(counted, root, waiting, waiting_lists, rename, digests=digests)  # noqa: B023
            changed.extend(packed)  # noqa: B023

        receive(place, feed)
        arrived += [found for found in waiting if found.path not in changed]
        waiting = [entry(root, name) for name in changed if os.path.lexists(root / name)]
        waiting_lists = {}
        if not waiting:
            break
    return arrived, waiting


def receive(place: Place, feed: Feed) -> None:
    """Have a folder take an archive of devctl.client.files.archive; if it fails, all stays."""
    ask(place, scripts.RECEIVE, feed=feed)


def fetch(place: Place, names: Iterable[str], take: Callable[[Iterator[bytes]], None]) -> list[str]:
    """Have files and links of a folder sent, as archives one after the other in a stream.

    Returns what `tar` said about files that it could not read, or that changed meanwhile.
    """
    data = as_input(names)
    size = str(len(data))
    with transfer(place, scripts.SEND, size, feed=lambda send: send(data), held=True) as command:
        pieces = iter(command)
        first = next(pieces, None)
        if first is not None:
            come = chain([first], pieces)
            take(come)
            command.release()
            for _ in come:
                pass  # what follows the archives is ignored
        said = lines(command.errors)
        if command.code != _SOME_FAILED or not said:
            check(place, command.code, command.errors)
        return said


def answer(place: Place, script: str, names: list[str] | None = None) -> bytes:
    """The answer of a script that marks its end."""
    feed = None if names is None else lambda send: send(as_input(names))
    return _whole(place, ask(place, script, feed=feed))


def _whole(place: Place, said: bytes) -> bytes:
    if not said.endswith(_MARK):
        raise ConnectionLostError(
            f"`{place}`: the answer did not arrive as a whole", "repeat the command"
        )
    return said.removesuffix(_MARK)


def ask(place: Place, script: str, *arguments: str, feed: Feed | None = None) -> bytes:
    """What a script prints, given the place's path and arguments; DevctlError if it fails."""
    return _run(place, script, *arguments, feed=feed)[0]


def _run(
    place: Place, script: str, *arguments: str, feed: Feed | None = None
) -> tuple[bytes, list[str]]:
    said = bytearray()
    with transfer(place, script, *arguments, feed=feed) as command:
        for piece in command:
            said += piece
            if len(said) > _MOST:
                raise DevctlError(f"`{place}` answers without end", place.advice.look)
        check(place, command.code, command.errors)
        return bytes(said), lines(command.errors)
