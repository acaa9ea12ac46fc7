"""Which paths of the cache containers see, from what the runtime and the kernel say. Pure."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from devctl_cache_agent.problems import CacheError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ESCAPE = re.compile(r"\\([0-7]{3})")


class Mount(NamedTuple):
    """A line of /proc/PID/mountinfo."""

    device: str
    root: str
    """The path in that file system which is mounted."""
    point: str


def inside(paths: Iterable[str], root: str) -> set[str]:
    """Those paths of the node that show something of a folder, as paths in it.

    A path above the folder shows all of it, which is the empty path.

    >>> sorted(inside(["/c/git/a", "/c", "/cd", "/"], "/c"))
    ['', 'git/a']
    """
    found = set()
    for path in (each.rstrip("/") or "/" for each in paths):
        if path in {root, "/"} or root.startswith(f"{path}/"):
            found.add("")
        elif path.startswith(f"{root}/"):
            found.add(path[len(root) + 1 :])
    return found


def mounted(mountinfo: str, cache: str, pods: str) -> set[str]:
    """The paths of the cache that are mounted for pods, such as local volumes and subPaths.

    Args:
        mountinfo: The kernel's table, as a process sees it that has both folders.
        cache: Where it sees the cache.
        pods: Where it sees the kubelet's folder of pods.

    Raises:
        CacheError: The cache is not in the table, so that nothing can be compared with it.
    """
    table = list(_mounts(mountinfo))
    own = next((each for each in reversed(table) if each.point == cache), None)
    if own is None:
        raise CacheError("the cache is no mount of the agent's")
    below = [
        each.root
        for each in table
        if each.device == own.device and each.point.startswith(f"{pods}/")
    ]
    return (
        inside(below, own.root.rstrip("/") or "/")
        if own.root != "/"
        else {each.strip("/") for each in below}
    )


def promised(specification: str) -> set[str]:
    """The node's paths that a CDI specification has containers mount, now or later.

    Raises:
        CacheError: It is none, so that nobody knows.
    """
    try:
        whole = json.loads(specification)
        edits = [each["containerEdits"] for each in whole["devices"]]
        mounts = [mount for each in edits for mount in each.get("mounts") or []]
        found = {mount["hostPath"] for mount in mounts}
        if not all(isinstance(path, str) for path in found):
            raise CacheError("a CDI specification has a path that is none")
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise CacheError(f"a CDI specification cannot be read: {error!r:.200}") from error
    return found


def _mounts(text: str) -> Iterator[Mount]:
    for line in text.splitlines():
        words = line.split(" ")
        if len(words) > 4:  # noqa: PLR2004 - the fifth is the mount point
            yield Mount(words[2], _plain(words[3]), _plain(words[4]))


def _plain(text: str) -> str:
    """The kernel writes blanks and the like as octal numbers."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 8)), text)
