"""The files of a job, by their paths."""

from __future__ import annotations

import os
from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from devctl_gateway.artifacts.beneath import NoFileError, enter, job_folder, looked_at
from devctl_gateway.artifacts.names import DEEPEST, LONGEST, is_showable

MOST = 20_000
"""Entries of a job's folders that are looked at, folders and links included."""


class Listed(NamedTuple):
    """A file, as it was when it was looked at."""

    path: str
    size: int
    modified: float
    """Seconds since 1970."""


class Listing(NamedTuple):
    """A page of a job's files.

    Attributes:
        files: Sorted by path.
        last: The last path that was looked at, if there are more; else empty.
        truncated: Whether the folder has more than was looked at, on any page.
    """

    files: list[Listed]
    last: str
    truncated: bool


def page(top: Path, job_id: str, after: str, limit: int) -> Listing:
    """A page of a job's files; none if it has written nothing.

    Args:
        top: The volume.
        job_id: The job's ID.
        after: The last path of the page before; empty for the first page.
        limit: Files at most. Those that are gone meanwhile, or have two names, count as well.
    """
    walk = _Walk()
    try:
        with job_folder(top, job_id) as folder:
            walk.look(folder, "", 1)
            paths = sorted(walk.paths)
            start = bisect_right(paths, after)
            chosen = paths[start : start + limit]
            found = [(path, looked_at(folder, path)) for path in chosen]
    except NoFileError:
        return Listing([], "", truncated=False)
    files = [Listed(path, about.st_size, about.st_mtime) for path, about in found if about]
    more = len(paths) > start + limit
    return Listing(files, chosen[-1] if more else "", walk.truncated)


@dataclass
class _Walk:
    """Collects the paths of files, up to a bound."""

    paths: list[str] = field(default_factory=list)
    left: int = field(default_factory=lambda: MOST)
    truncated: bool = False

    def look(self, folder: int, prefix: str, depth: int) -> None:
        """Look at all that is in a folder, and in those in it."""
        below = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if not self.left:
                        self.truncated = True
                        break
                    self.left -= 1
                    path = f"{prefix}{entry.name}"
                    if not is_showable(entry.name):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        below.append(entry.name)
                    elif entry.is_file(follow_symlinks=False):
                        self._add(path)
        except FileNotFoundError:  # removed meanwhile
            return
        for name in below:
            self._enter(folder, name, prefix, depth)

    def _add(self, path: str) -> None:
        if len(path.encode()) > LONGEST:
            self.truncated = True
        else:
            self.paths.append(path)

    def _enter(self, folder: int, name: str, prefix: str, depth: int) -> None:
        if depth >= DEEPEST or not self.left:
            self.truncated = True
            return
        try:
            at = enter(name, folder)
        except PermissionError:
            self.truncated = True
            return
        except OSError:  # removed meanwhile, or a link now
            return
        try:
            self.look(at, f"{prefix}{name}/", depth + 1)
        finally:
            os.close(at)
