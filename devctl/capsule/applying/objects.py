"""The objects of a repository, read and hashed."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from .items import FILE, LINK, PIECE, PROGRAM, Item, object_hash
from .names import problem
from .refusal import BAD_REPOSITORY, RefusedError, shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

_FOLDER, _SUBMODULE = 0o040000, 0o160000
_MOST_PATHS, _MOST_BYTES = 1_000_000, 1 << 26
_OBJECT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SETTINGS = (
    *("core.fsmonitor=false", "core.hooksPath=/dev/null", "core.sshCommand=false"),
    *("protocol.allow=never", "safe.directory=*"),
)


def command(repository: str) -> list[str]:
    """How git is called for a repository, with none of the settings of user and system."""
    place = Path(repository).absolute()
    inner = place / ".git"
    folder = inner if os.path.lexists(inner) else place
    settings = [word for setting in _SETTINGS for word in ("-c", setting)]
    return ["git", *settings, f"--git-dir={folder}"]


def environment() -> dict[str, str]:
    """All of git's environment."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
    }


class Objects:
    """The objects of a repository, none of which is trusted to be what it is called."""

    def __init__(self, repository: str) -> None:
        """Start git."""
        self._repository = repository
        try:
            self._git = subprocess.Popen(
                [*command(repository), "cat-file", "--batch"],
                env=environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except FileNotFoundError as error:
            raise RefusedError(BAD_REPOSITORY, "there is no `git` in the image") from error

    def __enter__(self) -> Self:
        """Nothing more to do."""
        return self

    def __exit__(self, *_error: object) -> None:
        """End git."""
        self._git.kill()
        for pipe in (self._git.stdin, self._git.stdout):
            # A git that has ended takes no more of what it was asked.
            with suppress(BrokenPipeError):
                if pipe:
                    pipe.close()
        self._git.wait()

    def tree(self, commit: str) -> dict[bytes, Item]:
        """All files and links of a commit; the contents of links are in them."""
        head = self._small(commit, "commit")[:80].split(b"\n")[0]
        found: dict[bytes, Item] = {}
        folders = [(b"", head.rpartition(b" ")[2].decode("ascii", "replace"))]
        while folders:
            above, oid = folders.pop()
            for mode, name, child in _entries(self._small(oid, "tree"), len(commit) // 2):
                path = above + name
                why = problem(path) or ("is there twice" if path in found else "")
                if b"/" in name or why:
                    why = why or "is no name of a file"
                    raise RefusedError(BAD_REPOSITORY, f"the commit has {shown(path)}, which {why}")
                if mode == _FOLDER:
                    folders.append((path + b"/", child))
                elif mode != _SUBMODULE:
                    found[path] = self._item(mode, child)
                if len(found) + len(folders) > _MOST_PATHS:
                    raise RefusedError(BAD_REPOSITORY, "the commit has too many files")
        return found

    def merge_base(self, commit: str) -> str:
        """Where a commit has left the repository's main branch; empty if git does not say."""
        done = subprocess.run(
            [*command(self._repository), "merge-base", commit, "HEAD"],
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        said = done.stdout.decode("ascii", "replace").strip()
        return said if _OBJECT.fullmatch(said) else ""

    def _item(self, mode: int, oid: str) -> Item:
        if mode == LINK:
            return Item(LINK, oid, target=self._small(oid, "blob"))
        return Item(PROGRAM if mode & stat.S_IXUSR else FILE, oid)

    def _small(self, oid: str, kind: str) -> bytes:
        return b"".join(self._read(oid, kind, _MOST_BYTES))

    def blob(self, oid: str) -> Iterator[bytes]:
        """A file's content."""
        return self._read(oid, "blob", sys.maxsize)

    def _read(self, oid: str, kind: str, most: int) -> Iterator[bytes]:
        if not _OBJECT.fullmatch(oid) or not self._git.stdin or not self._git.stdout:
            raise RefusedError(BAD_REPOSITORY, f"the repository has a broken {kind}")
        try:
            self._git.stdin.write(f"{oid}\n".encode())
            self._git.stdin.flush()
        except BrokenPipeError:
            pass
        said = self._git.stdout.readline(200).split()
        if len(said) != 3 or said[1] != kind.encode() or int(said[2]) > most:  # noqa: PLR2004
            raise RefusedError(BAD_REPOSITORY, f"the repository has no {kind} {oid}")
        left = int(said[2])
        seen = object_hash(oid, kind, left)
        while left:
            piece = self._git.stdout.read(min(left, PIECE))
            if not piece:
                raise RefusedError(BAD_REPOSITORY, f"the repository's {kind} {oid} is cut off")
            left -= len(piece)
            seen.update(piece)
            yield piece
        self._git.stdout.read(1)
        if seen.hexdigest() != oid:
            raise RefusedError(BAD_REPOSITORY, f"the repository's {kind} {oid} is another one")


def _entries(tree: bytes, length: int) -> Iterator[tuple[int, bytes, str]]:
    """Mode, name and object of each entry of a tree."""
    at = 0
    while at < len(tree):
        end = tree.find(b"\0", at)
        mode, _, name = tree[at : max(end, at)].partition(b" ")
        at = end + 1 + length
        if end < 0 or at > len(tree) or not re.fullmatch(rb"[0-7]{5,6}", mode):
            raise RefusedError(BAD_REPOSITORY, "the repository has a broken tree")
        yield int(mode, 8), name, tree[end + 1 : at].hex()
