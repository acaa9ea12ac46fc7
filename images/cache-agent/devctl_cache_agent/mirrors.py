"""Keeps mirrors of git repositories: bare, one folder each, whole at every moment."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, NamedTuple

from devctl.api.node_cache import mirror_path
from devctl_cache_agent import git, programs
from devctl_cache_agent.problems import CacheError, NoRoomError
from devctl_cache_agent.shelf import weight
from devctl_cache_agent.status import READY, Entry
from devctl_cache_agent.text import size

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from devctl_cache_agent.durations import Durations
    from devctl_cache_agent.plan import Item
    from devctl_cache_agent.shelf import Shelf

    Tell = Callable[[Entry], None]
    """Told how far a fetch is; raises DroppedError if it is not wanted any more."""

_SECONDS = 6 * 3600.0
_QUICK = 120.0
_FIRST_NEED = 256 << 20
"""Bytes that a repository of unknown size is given at first."""
_NEXT_NEED = 1 << 20
"""Bytes for what is new, which is little as a rule."""
_ABOUT = "devctl-cache.json"


class Settings(NamedTuple):
    """How repositories are reached."""

    protocols: tuple[str, ...] = ("https", "ssh")
    mirrors: Mapping[str, str] = {}
    """What to fetch from instead, by the beginning of URLs."""
    ssh: Callable[[], git.Ssh | None] = lambda: None
    """The key for private repositories, at each call."""
    user: int | None = None
    """Who runs git: somebody without the agent's rights on the node."""
    most: int = 64 << 30
    """Bytes of one repository."""


class Mirrors:
    """Fetches repositories.

    Args:
        shelf: The cache's folder.
        settings: How repositories are reached.
        base: The agent's environment.
        durations: How long first fetches took.
    """

    def __init__(
        self, shelf: Shelf, settings: Settings, base: Mapping[str, str], durations: Durations
    ) -> None:
        """Have fetched nothing yet."""
        self._durations = durations
        self._shelf, self._settings, self._base = shelf, settings, base
        self._needs: dict[str, int] = {}

    def is_present(self, item: Item) -> bool:
        """Whether there is a mirror of that repository, whatever its age."""
        about = _about(self._shelf.root / mirror_path(item.name))
        return about == item.source

    def keep(self, item: Item, tell: Tell) -> Entry:
        """Fetch what is new.

        Raises:
            CacheError: It could not be fetched; what was there stays as it was.
        """
        place, key = self._shelf.root / mirror_path(item.name), f"{item.sort} {item.source}"
        # Of what a crash of the node has broken, nothing is left to update.
        if self.is_present(item) and self._has(place, "HEAD"):
            tidy(place)
            sha = self._fetch(item, place, tell)
        else:
            staged = self._shelf.staging(f"git-{item.name}", empty=True)
            self._own(staged)
            self._git(git.init(staged))
            # What is fetched later is little, and says nothing about the whole.
            with self._durations.measured(key):
                sha = self._fetch(item, staged, tell)
            (staged / _ABOUT).write_text(json.dumps({"url": item.source}))
            self._shelf.publish(staged, mirror_path(item.name))
        length, seconds = weight(place), self._durations.of(key)
        return Entry(READY, True, f"at commit {sha[:12]}", length=length, seconds=seconds)  # noqa: FBT003

    def _fetch(self, item: Item, folder: Path, tell: Tell) -> str:
        url = git.rewritten(item.source, self._settings.mirrors)
        if git.is_ssh(url) and self._settings.ssh() is None:
            raise CacheError("it needs the Secret `git-ssh`, with an SSH key and `known_hosts`")
        branch = item.revision or self._default(folder, url)
        self._get(item, folder, url, f"+refs/heads/{branch}:refs/heads/{branch}", tell)
        self._git(git.command(folder, "symbolic-ref", "HEAD", f"refs/heads/{branch}"))
        if item.commit:
            name = f"{git.COMMITS}/{item.commit}"
            if not self._has(folder, item.commit):
                self._get(item, folder, url, f"{item.commit}:{name}", tell)
            self._git(git.command(folder, "update-ref", name, item.commit))
        wanted = item.commit or f"refs/heads/{branch}"
        found = self._git(git.command(folder, "rev-parse", "--verify", f"{wanted}^{{commit}}"))
        return found.decode("ascii", "replace").strip()

    def _get(self, item: Item, folder: Path, url: str, refspec: str, tell: Tell) -> None:
        before, present = weight(folder), self.is_present(item)
        need = self._needs.get(item.name, _NEXT_NEED if present else _FIRST_NEED)
        self._shelf.make_room(need)
        most = min(self._settings.most, before + self._shelf.room())

        def look(said: bytes) -> None:
            length = weight(folder)
            if length > most:
                raise NoRoomError("it takes too much")
            percent = git.percent(said)
            tell(Entry(present=present, message="fetching", percent=percent, length=length))

        try:
            self._git(git.fetch(folder, url, [refspec], most), _SECONDS, look)
        except CacheError as error:
            if not (isinstance(error, NoRoomError) or _is_cut_off(folder, most)):
                raise
            # Next time, as much as it could have is made free first, twice.
            self._needs[item.name] = min(self._settings.most, 2 * max(need, most - before))
            raise NoRoomError(f"it takes more than the {size(most)} that it may") from error
        self._needs.pop(item.name, None)

    def _default(self, folder: Path, url: str) -> str:
        answer = self._git(git.ask_default(folder, url))
        branch = git.default_branch(answer.decode("utf-8", "replace"))
        if branch is None:
            raise CacheError("the repository names no default branch; name one in the plan")
        return branch

    def _has(self, folder: Path, commit: str) -> bool:
        argv = git.command(folder, "cat-file", "-e", f"{commit}^{{commit}}")
        return self._run(argv, _QUICK).code == 0

    def _git(
        self, argv: list[str], seconds: float = _QUICK, look: Callable[[bytes], None] | None = None
    ) -> bytes:
        result = self._run(argv, seconds, look)
        if result.code:
            raise CacheError(f"git: {git.reason(result.said)}")
        return result.output

    def _run(
        self, argv: list[str], seconds: float, look: Callable[[bytes], None] | None = None
    ) -> programs.Result:
        chosen = self._settings
        return programs.run(
            argv,
            git.environment(self._base, "/nonexistent", chosen.protocols, chosen.ssh()),
            seconds=seconds,
            user=chosen.user,
            look=look or (lambda _said: None),
        )

    def _own(self, folder: Path) -> None:
        if self._settings.user is not None:
            os.chown(folder, self._settings.user, self._settings.user)


def tidy(folder: Path) -> None:
    """Remove what a git that was killed has left in a mirror; no other one works there."""
    for left in (*folder.glob("objects/pack/tmp_*"), *folder.glob("*.lock")):
        left.unlink(missing_ok=True)
    for left in folder.glob("refs/**/*.lock"):
        left.unlink(missing_ok=True)


def _is_cut_off(folder: Path, most: int) -> bool:
    """Whether a file is as large as it may be: the kernel ended git, which does not say so."""
    return any(each.stat().st_size >= most for each in folder.glob("objects/pack/tmp_*"))


def _about(folder: Path) -> str | None:
    """The URL that a mirror is of."""
    try:
        found = json.loads((folder / _ABOUT).read_text())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    url = found.get("url") if isinstance(found, dict) else None
    return url if isinstance(url, str) else None
