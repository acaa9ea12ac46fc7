"""Where on a job's volume a file is to be."""

from __future__ import annotations

import posixpath

from devctl.api.ephemeral_acceleration_job import MOUNT_PATH
from devctl.client.files.ignore import INCOMING
from devctl.client.files.names import unshowable
from devctl.errors import UsageError
from devctl.text import readable

_LENGTH = 1024
_NAME_LENGTH = 255


def target_path(path: str) -> str:
    """A path of a file on the volume, as the job's container sees it.

    Raises:
        UsageError: It is none, or leads somewhere else.

    >>> target_path("/artifacts//images/./a.jpg"), target_path("a.jpg")
    ('/artifacts/images/a.jpg', '/artifacts/a.jpg')
    """
    shown = readable(path)
    if why := unshowable(path):
        raise UsageError(f"the path `{shown}` {why}", "name another one")
    if ".." in path.split("/"):
        raise UsageError(f"the path `{shown}` has `..` in it", f"name one below {MOUNT_PATH}")
    found = posixpath.normpath(posixpath.join(MOUNT_PATH, path))
    # POSIX keeps two slashes at the front, and so does normpath.
    found = found.replace("//", "/", 1) if found.startswith("//") else found
    if not path or path.endswith(("/", "/.")) or found == MOUNT_PATH:
        raise UsageError(f"the path `{shown}` names no file", f"write {MOUNT_PATH}/input.jpg")
    if not found.startswith(f"{MOUNT_PATH}/"):
        raise UsageError(
            f"the path `{shown}` is not on the job's volume", f"name one below {MOUNT_PATH}"
        )
    parts = found.split("/")
    if len(found.encode()) > _LENGTH or any(len(p.encode()) > _NAME_LENGTH for p in parts):
        raise UsageError(f"the path `{cut(shown)}` is too long", "name a shorter one")
    if any(part.startswith(INCOMING) for part in parts):
        raise UsageError(f"the path `{shown}` is one of ours", "name another one")
    return found


def cut(text: str, length: int = 60) -> str:
    """A text for a message.

    >>> cut("abc", 2)
    'ab…'
    """
    return text if len(text) <= length else f"{text[:length]}…"
