"""The cache's folder: what it holds, what goes, and that nobody ever sees half of anything.

What is being fetched is in `.staging`, on the same file system, and is renamed once it is whole.
What goes is renamed to `.going` first, so that no new container can mount it; then the mounts are
looked at again, and only what nobody has mounted is deleted. What turns out to be in use comes
back, since a claim may have more containers to start with it.
"""

from __future__ import annotations

import os
import secrets
import shutil
import threading
from typing import TYPE_CHECKING

from devctl.api.node_cache import MIRRORS, MODELS
from devctl_cache_agent.eviction import Held, Limits, is_used, room, victims
from devctl_cache_agent.problems import NoRoomError
from devctl_cache_agent.text import size

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

STAGING, GOING = ".staging", ".going"
SNAPSHOTS = "snapshots"
_BLOCK = 512


class Shelf:
    """The folder, and the only code that removes anything there.

    Args:
        root: The folder.
        limits: How much it may take.
        used: The paths that containers have mounted, at each call; None if that is unknown.
        free: The bytes that are free on a path's file system.
    """

    def __init__(
        self,
        root: Path,
        limits: Limits,
        used: Callable[[], Collection[str] | None],
        free: Callable[[Path], int] | None = None,
    ) -> None:
        """Make the folders."""
        self.root, self._limits, self._used = root, limits, used
        self._free = free or (lambda path: shutil.disk_usage(path).free)
        self._lock = threading.RLock()
        self.wanted: Callable[[], Collection[str]] | None = None
        """The paths that the plan wants, at each call; nothing is removed before it is known."""
        for name in (MIRRORS, MODELS, STAGING, GOING):
            (root / name).mkdir(mode=0o755, parents=True, exist_ok=True)

    def held(self) -> list[Held]:
        """All mirrors and revisions of models."""
        found = list((self.root / MIRRORS).iterdir())
        for model in (self.root / MODELS).iterdir():
            if (model / SNAPSHOTS).is_dir():
                found += (model / SNAPSHOTS).iterdir()
        return [
            Held(str(each.relative_to(self.root)), weight(each), each.stat().st_mtime)
            for each in found
            if each.is_dir()
        ]

    def room(self) -> int:
        """The bytes that may still be taken; what is being fetched counts."""
        held = sum(each.length for each in self.held())
        held += weight(self.root / STAGING) + weight(self.root / GOING)
        return room(self._limits, held, self._free(self.root))

    def make_room(self, need: int) -> None:
        """See that so many bytes may be taken.

        Raises:
            NoRoomError: They may not, and nothing is removed for nothing.
        """
        with self._lock:
            self.sweep()
            there = self.room()
            if there >= need:
                return
            used = None if self.wanted is None else self._used()
            wanted = self.wanted() if self.wanted else ()
            chosen = victims(self.held(), need - there, wanted, used)
            for each in chosen or []:
                self.remove(each.path)
            there = self.room()
            if there < need:
                raise NoRoomError(
                    f"it needs {size(need)}, and the cache may take only {size(there)} more: "
                    "what the plan wants and what pods use stays"
                )

    def publish(self, staged: Path, path: str) -> None:
        """Put what is whole in its place, instead of what is there."""
        with self._lock:
            place = self.root / path
            place.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            if place.exists():
                self._aside(path)
            staged.rename(place)
        self.sweep()

    def remove(self, path: str) -> None:
        """Remove something, unless a container has it mounted by then."""
        with self._lock:
            if (self.root / path).exists():
                self._aside(path)
                self.sweep()

    def sweep(self) -> None:
        """Delete what was set aside and nobody has mounted any more."""
        with self._lock:
            aside = sorted((self.root / GOING).iterdir())
            used = self._used() if aside else None
            if used is None:
                return
            for each in aside:
                here = f"{GOING}/{each.name}/entry"
                was = _read(each / "was")
                # Runtime and claims know the old path; the kernel shows the new one.
                if was and is_used(was, used):
                    self._back(each, was)
                elif not is_used(here, used):
                    shutil.rmtree(each, ignore_errors=True)

    def touch(self) -> None:
        """Note what is in use, for the next time that something has to go."""
        used = self._used()
        wanted = self.wanted() if self.wanted else ()
        for each in self.held():
            if each.path in wanted or (used and is_used(each.path, used)):
                os.utime(self.root / each.path)

    def staging(self, name: str, *, empty: bool) -> Path:
        """A folder to fetch something in."""
        folder = self.root / STAGING / name
        if empty:
            self.discard(folder)
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        return folder

    def keep_staged(self, keeps: Callable[[str], bool]) -> None:
        """Delete what is half fetched and is not to be kept, by its name."""
        for each in (self.root / STAGING).iterdir():
            if not keeps(each.name):
                self.discard(each)

    def discard(self, staged: Path) -> None:
        """Delete something half fetched."""
        shutil.rmtree(staged, ignore_errors=True)

    def _aside(self, path: str) -> None:
        folder = self.root / GOING / secrets.token_hex(8)
        folder.mkdir()
        # Before the rename: what was in the way of a crash is still known to be in use.
        (folder / "was").write_text(path)
        (self.root / path).rename(folder / "entry")

    def _back(self, aside: Path, was: str) -> None:
        """Put something where it was, unless something newer is there."""
        entry, place = aside / "entry", self.root / was
        if entry.exists() and not place.exists():
            place.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            entry.rename(place)
            shutil.rmtree(aside, ignore_errors=True)


def weight(folder: Path) -> int:
    """The bytes that a folder takes on the disk; what vanishes meanwhile counts nothing."""
    total = 0
    for place, _folders, files in os.walk(folder):
        for name in files:
            try:
                total += os.lstat(os.path.join(place, name)).st_blocks * _BLOCK  # noqa: PTH118 - for speed
            except FileNotFoundError:
                continue
    return total


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except FileNotFoundError:
        return ""
