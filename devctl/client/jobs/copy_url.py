"""A file from a URL, put onto a job's volume: whole, or not at all."""

from __future__ import annotations

import posixpath
import secrets
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from devctl.api.ephemeral_acceleration_job import MOUNT_PATH
from devctl.client.files.ignore import INCOMING
from devctl.client.files.remote import ask
from devctl.client.files.transfer import amount, expect
from devctl.client.jobs.fetch import fetch
from devctl.client.jobs.scripts import DISCARD, INSTALL, PUT
from devctl.errors import DevctlError

if TYPE_CHECKING:
    from collections.abc import Callable

    from devctl.client.files.transfer import Send
    from devctl.client.jobs.fetch import Limits
    from devctl.client.jobs.loader import VolumePlace


class Fetched(NamedTuple):
    """What was put onto a volume."""

    path: str
    size: int
    digest: str

    def summary(self) -> str:
        """One line of it.

        >>> Fetched("/artifacts/a.jpg", 5, "ab" * 32).summary()
        '/artifacts/a.jpg: 5 B, sha256 abababababab…'
        """
        return f"{self.path}: {amount(self.size)}, sha256 {self.digest[:12]}…"


def copy_url(
    place: VolumePlace,
    url: str,
    path: str,
    limits: Limits,
    progress: Callable[[int], None] | None = None,
) -> Fetched:
    """Stream what a URL holds into a file of a volume.

    It lies beside its place until it is whole and its digest is that of what was sent.

    Args:
        place: The volume.
        url: The URL.
        path: The file, as devctl.client.jobs.target.target_path gives it.
        limits: What it may take.
        progress: Takes the number of bytes that were just sent.

    Raises:
        DevctlError: It cannot be fetched or kept; a file that was there is as it was.
    """
    folder, name = posixpath.split(path)
    volume = place._replace(path=MOUNT_PATH)
    beside = place._replace(path=folder)
    for_now = f"{INCOMING}{secrets.token_hex(8)}"
    digest = sha256()
    size = 0
    whole = False

    def feed(send: Send) -> None:
        nonlocal size, whole
        for piece in fetch(url, limits, lambda size: expect(progress, [size])):
            send(piece)
            digest.update(piece)
            size += len(piece)
            if progress:
                progress(len(piece))
        whole = True

    try:
        ask(volume, PUT, posixpath.relpath(folder, MOUNT_PATH), for_now, feed=feed)
        _see_whole(beside, whole=whole)
        ask(beside, INSTALL, for_now, name, digest.hexdigest())
    except BaseException:
        with suppress(DevctlError):
            ask(beside, DISCARD, for_now)
        raise
    return Fetched(path, size, digest.hexdigest())


def _see_whole(place: VolumePlace, *, whole: bool) -> None:
    """See that a command that has ended well has taken all that it was sent."""
    if not whole:
        raise DevctlError(f"`{place}` took a part of the file only", "repeat the command")
