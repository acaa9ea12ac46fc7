"""A file from a URL, written to a job's volume: completely, or not at all."""

from __future__ import annotations

import posixpath
import secrets
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from devctl.api.ephemeral_acceleration_job import MOUNT_PATH
from devctl.client.files.ignore import INCOMING
from devctl.client.files.names import unshowable
from devctl.client.files.remote import ask
from devctl.client.files.transfer import amount, expect
from devctl.client.jobs.fetch import fetch
from devctl.errors import DevctlError, UsageError
from devctl.text import readable

if TYPE_CHECKING:
    from collections.abc import Callable

    from devctl.client.files.remote import Place
    from devctl.client.files.transfer import Send
    from devctl.client.jobs.fetch import Limits

_PATH_LENGTH, _NAME_LENGTH = 1024, 255
"""Most bytes of a path and of one name in it."""

# Arguments: volume, a folder of it, temporary name. Input: the content of the file. A link left by
# a job must not lead out of the volume: the file would be lost with the pod.
# No `exec`: once nothing holds the output, containerd takes the command for ended.
PUT = r"""
cd -- "$1" || exit 97
top=$(pwd -P)
[ ! -e "./$2" ] || [ -d "./$2" ] || exit 95
mkdir -p -- "./$2" && cd -- "./$2" || exit 97
case $(pwd -P)/ in
  "$top"/*) ;;
  *) echo 'a link there leads out of the volume' >&2; exit 97 ;;
esac
printf + && cat > "./$3"
exit
"""

# Arguments: folder, temporary name, name, digest. Renames a file that is complete.
INSTALL = r"""
cd -- "$1" || exit 97
[ ! -d "./$3" ] || { echo 'Is a directory' >&2; exit 97; }
found=$(sha256sum < "./$2") || exit 97
[ "${found%% *}" = "$4" ] || { echo 'it did not arrive intact' >&2; exit 97; }
exec mv -f -- "./$2" "./$3"
"""

# Arguments: folder, temporary name.
DISCARD = r"""
cd -- "$1" && exec rm -f -- "./$2"
"""


class Fetched(NamedTuple):
    """A file that was written to a volume."""

    path: str
    size: int
    digest: str

    def summary(self) -> str:
        """The result in one line.

        >>> Fetched("/artifacts/a.jpg", 5, "ab" * 32).summary()
        '/artifacts/a.jpg: 5 B, sha256 abababababab…'
        """
        return f"{self.path}: {amount(self.size)}, sha256 {self.digest[:12]}…"


def copy_url(
    place: Place,
    url: str,
    path: str,
    limits: Limits,
    progress: Callable[[int], None] | None = None,
) -> Fetched:
    """Stream a URL to a file on a volume, under a temporary name until its digest is verified.

    `path` is as returned by target_path; `progress` takes the number of bytes just sent. Raises
    DevctlError if it cannot be fetched or written; an existing file is then unchanged.
    """
    folder, name = posixpath.split(path)
    volume = place._replace(path=MOUNT_PATH)
    beside = place._replace(path=folder)
    temporary = f"{INCOMING}{secrets.token_hex(8)}"
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
        ask(volume, PUT, posixpath.relpath(folder, MOUNT_PATH), temporary, feed=feed)
        _check_whole(beside, whole=whole)
        ask(beside, INSTALL, temporary, name, digest.hexdigest())
    except BaseException:
        with suppress(DevctlError):
            ask(beside, DISCARD, temporary)
        raise
    return Fetched(path, size, digest.hexdigest())


def _check_whole(place: Place, *, whole: bool) -> None:
    """Check that a command that succeeded has read all of its input."""
    if not whole:
        raise DevctlError(f"`{place}` took only part of the file", "repeat the command")


def target_path(path: str) -> str:
    """The path of a file on the volume as jobs see it; raises UsageError if it is not one.

    >>> target_path("/artifacts//images/./a.jpg"), target_path("a.jpg")
    ('/artifacts/images/a.jpg', '/artifacts/a.jpg')
    """
    shown = readable(path)
    if why := unshowable(path):
        raise UsageError(f"the path `{shown}` {why}", "name another one")
    if ".." in path.split("/"):
        raise UsageError(f"the path `{shown}` contains `..`", f"name one below {MOUNT_PATH}")
    found = posixpath.normpath(posixpath.join(MOUNT_PATH, path))
    # POSIX allows two leading slashes, and normpath keeps them.
    found = found.replace("//", "/", 1) if found.startswith("//") else found
    if not path or path.endswith(("/", "/.")) or found == MOUNT_PATH:
        raise UsageError(f"the path `{shown}` does not name a file", f"try {MOUNT_PATH}/input.jpg")
    if not found.startswith(f"{MOUNT_PATH}/"):
        raise UsageError(f"the path `{shown}` is not on the volume", f"name one below {MOUNT_PATH}")
    parts = found.split("/")
    lengths = [len(part.encode()) for part in parts]
    if len(found.encode()) > _PATH_LENGTH or max(lengths) > _NAME_LENGTH:
        raise UsageError(f"the path `{shown[:60]}…` is too long", "name a shorter one")
    if any(part.startswith(INCOMING) for part in parts):
        raise UsageError(f"the path `{shown}` is reserved for devctl", "name another one")
    return found
