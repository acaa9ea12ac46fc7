"""Files in a pod: looked at, sent there and fetched, by scripts that any image can run."""

from __future__ import annotations

import os
import posixpath
import re
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, Protocol

from devctl.client.files import scripts
from devctl.client.files.failed import HOME, check, in_home, lines
from devctl.client.files.names import readable, unshowable
from devctl.client.files.transfer import transfer
from devctl.errors import ConnectionLostError, DevctlError, UsageError
from devctl.kube.pod_streams import CONTAINER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from devctl.client.files.transfer import Feed, Send, Transfer
    from devctl.kube.cluster import Cluster

_SOME_FAILED = 123
"""What xargs ends with where the program that it runs has failed."""
_MOST = 1 << 28
"""How much a pod may print where it is asked something."""
_MARK = b"\0\0"
_PIECE = 64 * 1024
_LOOKED = re.compile(rb"([0-9a-f]{1,8}) (\d{1,18}) (-?\d{1,12}) ")


class Advice(NamedTuple):
    """What a person can do where a pod did not take or give files."""

    look: str = "look at it with `devctl ssh`"
    no_room: str = "delete files there, or raise spec.persistentHomeSize"
    read_only: str = "copy to a place below /home/dev"
    denied: str = "choose a place below /home/dev, or change its mode there"
    no_tar: str = "install tar in it, or use devctl's own image"


class Spot(Protocol):
    """A folder, or file, in some pod that files go to or come from."""

    @property
    def cluster(self) -> Cluster:
        """Where the pod is."""

    @property
    def namespace(self) -> str:
        """Where in it."""

    @property
    def pod(self) -> str:
        """The pod."""

    @property
    def container(self) -> str:
        """The container of the pod."""

    @property
    def path(self) -> str:
        """The folder, or file."""

    @property
    def advice(self) -> Advice:
        """What is said where it fails."""


class Place(NamedTuple):
    """A folder, or file, in one pod of a server.

    Attributes:
        cluster: Where the pod is.
        namespace: Where in it.
        pod: The pod.
        path: The folder, or file.
        volume: What tells the volume that it is on from all others; empty where nobody has asked.
    """

    cluster: Cluster
    namespace: str
    pod: str
    path: str
    volume: str = ""

    @property
    def container(self) -> str:
        """The container that people work in."""
        return CONTAINER

    @property
    def advice(self) -> Advice:
        """What is said where it fails."""
        if in_home(self.path):
            return Advice()
        return Advice(no_room="delete files there, or copy to a place below /home/dev")

    def __str__(self) -> str:
        """How a person names it."""
        return f"{self.pod}:{readable(self.path)}"


class Found(NamedTuple):
    """A file, link or folder in a pod, as it is told."""

    mode: int
    size: int
    mtime: int


def absolute(path: str) -> str:
    """A path in a server; one that is not absolute is below the home.

    >>> absolute(""), absolute("a/../b/"), absolute("~/c"), absolute("/shared")
    ('/home/dev', '/home/dev/b', '/home/dev/c', '/shared')

    Raises:
        UsageError: There can be no such path.
    """
    if why := unshowable(path):
        raise UsageError(f"the path `{readable(path)}` {why}", "name another one")
    if path == "~" or path.startswith("~/"):
        path = path[2:]
    found = posixpath.normpath(posixpath.join(HOME, path))
    # POSIX keeps two slashes at the front, and so does normpath.
    return found.replace("//", "/", 1) if found.startswith("//") else found


def kind(place: Spot) -> str:
    """What a place is: `folder`, `file` or `nothing`."""
    return answer(place, scripts.KIND).decode(errors="replace")


def find(place: Spot) -> tuple[list[str], list[str]]:
    """The names of all files, links and folders below a folder, and what cannot be looked into.

    Raises:
        NotFoundError: There is no such folder.
        UsageError: It is a file.
    """
    with _transfer(place, _argv(scripts.FIND, place.path), None) as command:
        said = _all(place, command)
        check(place, command.code, command.errors)
        problems = lines(command.errors)
    names = (os.fsdecode(name).removeprefix("./") for name in _whole(place, said).split(b"\0"))
    return sorted(name for name in names if name not in {"", "."}), problems


def look(place: Spot, names: Iterable[str]) -> dict[str, Found]:
    """What those names are that are there, in their order."""
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


def digests(place: Spot, names: Iterable[str]) -> dict[str, str]:
    """The SHA-256 of files below a folder; nothing of those that cannot be read."""
    names = list(names)
    if not names:
        return {}
    said = answer(place, scripts.DIGESTS, names)
    lines = said.decode(errors="replace").splitlines()
    if len(lines) != len(names):
        return {}
    return {
        name: line[:64] for name, line in zip(names, lines, strict=True) if not line.startswith("?")
    }


def room(place: Spot) -> int | None:
    """For how many bytes the volume of a folder has room; None where its image cannot tell."""
    said = answer(place, scripts.ROOM)
    return int(said) if said.isdigit() else None


def receive(place: Spot, feed: Feed) -> None:
    """Have a folder take an archive of devctl.client.files.archive, wholly or not at all.

    Raises:
        DevctlError: It did not; what was there is as it was.
    """
    ask(place, scripts.RECEIVE, feed=feed)


def fetch(place: Spot, names: Iterable[str], take: Callable[[Iterator[bytes]], None]) -> list[str]:
    """Have files and links of a folder sent.

    Args:
        place: The folder.
        names: Which.
        take: Takes the archives that come, one after the other in a stream.

    Returns:
        What `tar` said of files that changed while it read them, or that it could not read.

    Raises:
        DevctlError: They could not be sent.
    """
    names = list(names)
    argv = _argv(scripts.SEND, place.path, str(sum(map(len, _as_input(names)))))
    feed = partial(send_names, names=names)
    with _transfer(place, argv, feed, held=True) as command:
        pieces = iter(command)
        first = next(pieces, None)
        if first is not None:
            come = chain([first], pieces)
            take(come)
            command.release()
            for _ in come:
                pass  # what comes behind the archives' end is nobody's
        said = lines(command.errors)
        if command.code != _SOME_FAILED or not said:
            check(place, command.code, command.errors)
        return said


def send_names(send: Send, names: Iterable[str]) -> None:
    """Send names, each with a NUL behind it; none is taken for an option."""
    piece = bytearray()
    for name in _as_input(names):
        piece += name
        if len(piece) >= _PIECE:
            send(bytes(piece))
            piece.clear()
    if piece:
        send(bytes(piece))


def _as_input(names: Iterable[str]) -> Iterator[bytes]:
    return (b"./" + os.fsencode(name) + b"\0" for name in names)


def answer(place: Spot, script: str, names: list[str] | None = None) -> bytes:
    """What a script answers that ends with the mark."""
    feed = None if names is None else partial(send_names, names=names)
    return _whole(place, ask(place, script, feed=feed))


def _whole(place: Spot, said: bytes) -> bytes:
    if not said.endswith(_MARK):
        raise ConnectionLostError(
            f"`{place}`: the answer did not arrive as a whole", "repeat the command"
        )
    return said.removesuffix(_MARK)


def ask(place: Spot, script: str, *arguments: str, feed: Feed | None = None) -> bytes:
    """What a script prints, whose first argument is the place's path.

    Raises:
        DevctlError: It failed.
    """
    argv = _argv(script, place.path, *arguments)
    with _transfer(place, argv, feed) as command:
        said = _all(place, command)
        check(place, command.code, command.errors)
    return said


def _all(place: Spot, command: Transfer) -> bytes:
    said = bytearray()
    for piece in command:
        said += piece
        if len(said) > _MOST:
            raise DevctlError(f"`{place}` answers without end", place.advice.look)
    return bytes(said)


def _argv(script: str, path: str, *arguments: str) -> list[str]:
    return ["sh", "-c", script, "devctl", path, *arguments]


def _transfer(
    place: Spot, argv: list[str], feed: Feed | None, *, held: bool = False
) -> AbstractContextManager[Transfer]:
    return transfer(
        place.cluster, place.pod, place.namespace, argv, feed, container=place.container, held=held
    )


def counted(send: Send, progress: Callable[[int], None] | None) -> Send:
    """The same, with somebody told of how many bytes were just sent."""
    if progress is None:
        return send

    def both(data: bytes) -> None:
        send(data)
        progress(len(data))

    return both


def lists(**names: Iterable[str]) -> Mapping[str, Iterable[str]]:
    """Lists that go along with an archive, without empty ones.

    >>> lists(delete=["a"], rmdir=[])
    {'delete': ['a']}
    """
    return {name: each for name, each in ((k, list(v)) for k, v in names.items()) if each}
