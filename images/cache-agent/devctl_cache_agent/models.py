"""Keeps models: a folder for each revision, every file checked, whole at every moment.

The layout is that of the hub's own library, so that programs find models offline with HF_HUB_CACHE.
A download that was cut off goes on where it was, by Range.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from typing import TYPE_CHECKING

from devctl.api.node_cache import model_path
from devctl_cache_agent import hub
from devctl_cache_agent.download import Downloads
from devctl_cache_agent.problems import CacheError
from devctl_cache_agent.shelf import SNAPSHOTS, weight
from devctl_cache_agent.status import READY, Entry

if TYPE_CHECKING:
    from collections.abc import Callable

    from devctl_cache_agent.download import Gets
    from devctl_cache_agent.durations import Durations
    from devctl_cache_agent.plan import Item
    from devctl_cache_agent.shelf import Shelf

    Tell = Callable[[Entry], None]


class Models:
    """Fetches models.

    Args:
        shelf: The cache's folder.
        web: Where they come from.
        durations: How long fetches took.
        clock: The monotonic clock.
    """

    def __init__(
        self,
        shelf: Shelf,
        web: Gets,
        durations: Durations,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Have fetched nothing yet."""
        self._shelf, self._downloads = shelf, Downloads(web, clock)
        self._durations = durations

    def snapshot(self, item: Item) -> str | None:
        """The path of the revision that the node has; None if it has none."""
        model = self._shelf.root / model_path(item.source)
        try:
            commit = (model / "refs" / item.revision).read_text()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        path = f"{model_path(item.source)}/{SNAPSHOTS}/{commit}"
        return path if commit.isalnum() and (self._shelf.root / path).is_dir() else None

    def is_present(self, item: Item) -> bool:
        """Whether there is one, whatever its commit."""
        return self.snapshot(item) is not None

    def keep(self, item: Item, tell: Tell) -> Entry:
        """See which commit the revision is, and fetch that.

        Raises:
            CacheError: It could not be fetched; what was there stays, and what came is kept.
        """
        where = hub.info_path(item.source, item.revision)
        found = hub.revision(self._downloads.text(where, hub.MAX_INFO))
        path = f"{model_path(item.source)}/{SNAPSHOTS}/{found.commit}"
        key = f"{item.sort} {item.source} {found.commit}"
        if not (self._shelf.root / path).is_dir():
            with self._durations.measured(key):
                self._fetch(item, found, path, tell)
        self._point(item, found.commit)
        length, seconds = weight(self._shelf.root / path), self._durations.of(key)
        said = f"at commit {found.commit[:12]}"
        return Entry(READY, True, said, length=length, seconds=seconds)  # noqa: FBT003

    def _fetch(self, item: Item, found: hub.Revision, path: str, tell: Tell) -> None:
        mine = staging_name(item)
        # What was begun of an earlier commit is of no use any more.
        self._shelf.keep_staged(
            lambda name: not name.startswith(mine) or name == mine + found.commit
        )
        staged = self._shelf.staging(mine + found.commit, empty=False)
        tree, parts = staged / "tree", staged / "parts"
        for each in (tree, parts):
            each.mkdir(exist_ok=True)
        self._shelf.make_room(max(0, found.length - weight(staged)))
        present = self.snapshot(item) is not None
        done = 0

        def told(more: int) -> None:
            length = done + more
            percent = 100 * length // found.length if found.length else 100
            tell(Entry(present=present, message="fetching", percent=percent, length=length))

        for file in found.files:
            place = tree / file.path
            if not place.is_file():
                part = parts / hashlib.sha256(file.path.encode()).hexdigest()
                where = hub.file_path(item.source, found.commit, file.path)
                self._downloads.file(where, file, part, told)
                place.parent.mkdir(parents=True, exist_ok=True)
                part.rename(place)
            done += file.length
        self._shelf.publish(tree, path)
        self._shelf.discard(staged)

    def _point(self, item: Item, commit: str) -> None:
        """Say which commit a revision is, as the hub's library does."""
        refs = self._shelf.root / model_path(item.source) / "refs"
        target = refs / item.revision
        try:
            if target.read_text() == commit:
                return
        except OSError:
            pass
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            whole = target.with_name(f".{secrets.token_hex(8)}")
            whole.write_text(commit)
            whole.rename(target)
        except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
            raise CacheError(
                f"two revisions of {item.source} need one name for a file and a folder"
            ) from error


def staging_name(item: Item) -> str:
    """How the folder is called in which a revision is fetched, before its commit."""
    what = f"{item.source} {item.revision}"
    return f"model-{hashlib.sha256(what.encode()).hexdigest()[:32]}-"
