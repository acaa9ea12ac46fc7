"""One git repository, asked by a folder's path."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from devctl.client.files.git import ask
from devctl.errors import DevctlError, HostError, UsageError
from devctl.text import readable

if TYPE_CHECKING:
    from pathlib import Path

_SECONDS = 120


@dataclass(frozen=True)
class Repository:
    """The repository that a folder is in; what is asked of it neither filters nor fetches."""

    folder: Path

    def find(self, *arguments: str) -> bytes | None:
        """What a command prints, without its last line feed; None if it fails.

        Raises:
            HostError: There is no git.
            DevctlError: git does not answer in time.
        """
        done = self._run(*arguments)
        return done.stdout.removesuffix(b"\n") if done.returncode == 0 else None

    def text(self, *arguments: str) -> str:
        """The same as text, empty if it fails."""
        return os.fsdecode(self.find(*arguments) or b"")

    def fields(self, *arguments: str) -> list[bytes]:
        """The NUL-terminated fields that a command prints.

        Raises:
            DevctlError: It fails.
        """
        done = self._run(*arguments)
        if done.returncode:
            why = os.fsdecode(done.stderr.strip().rpartition(b"\n")[2])
            raise DevctlError(
                f"git cannot read `{readable(str(self.folder))}`: {readable(why)}",
                "find out why with `git status` and `git fsck` there",
            )
        return done.stdout.split(b"\0")[:-1]

    def truth(self, key: str, *, default: bool) -> bool:
        """A setting that is true or false."""
        said = self.text("config", "--type=bool", "--get", key)
        return said == "true" if said else default

    def root(self) -> Path:
        """The top folder of the checkout.

        Raises:
            UsageError: The folder is in none, or its owner is somebody else.
        """
        done = self._run("rev-parse", "--show-toplevel")
        place = readable(str(self.folder))
        if b"dubious ownership" in done.stderr:
            raise UsageError(
                f"`{place}` is a git checkout of another user",
                "clone it yourself, or add it to git's `safe.directory`",
            )
        if done.returncode:
            raise UsageError(f"`{place}` is in no git checkout", "change to a folder of one")
        root = type(self.folder)(os.fsdecode(done.stdout.removesuffix(b"\n")))
        # Otherwise, a repository's own settings could name any folder as its files.
        if not os.path.lexists(root / ".git"):
            raise UsageError(
                f"the checkout of `{place}` has its repository elsewhere (`core.worktree`)",
                "clone it, or use `git worktree`",
            )
        return root

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        try:
            return ask(self.folder, *arguments, seconds=_SECONDS)
        except FileNotFoundError as error:
            raise HostError("there is no `git` on this machine", "install it") from error
        except subprocess.TimeoutExpired as error:
            raise DevctlError(
                f"git did not answer in `{readable(str(self.folder))}` within {_SECONDS} s",
                "find out why with `git status` there",
            ) from error
