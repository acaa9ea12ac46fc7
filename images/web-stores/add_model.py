"""Writes down what the hub's protocol says about a model's files, so that models.lua can serve it.

usage: add_model.py ORG/NAME [FOLDER]

The files are in FOLDER/ORG/NAME; what is hidden there is left out. Once they change, run it again:
the commit is a hash of all of them, and the store knows the last one only.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path("/srv/models")
LARGE = 1 << 20
"""From so many bytes on, the hub identifies a file by its SHA-256, as Git LFS does."""
_REPO = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,95}/[A-Za-z0-9_][A-Za-z0-9._-]{0,95}")
_PIECE = 1 << 20


class File(NamedTuple):
    """A file of a model.

    Attributes:
        path: Where it is in the model's folder.
        length: Its bytes.
        sha256: The hash of its content.
        blob: The hash that git has for it.
    """

    path: str
    length: int
    sha256: str
    blob: str

    @property
    def tag(self) -> str:
        """What identifies its content for the hub's library."""
        return self.sha256 if self.length >= LARGE else self.blob


def look(root: Path, path: str) -> File:
    """Read a file and compute its hashes."""
    length = (root / path).stat().st_size
    sha256 = hashlib.sha256()
    blob = hashlib.sha1(f"blob {length}\0".encode(), usedforsecurity=False)
    with (root / path).open("rb") as source:
        while piece := source.read(_PIECE):
            sha256.update(piece)
            blob.update(piece)
    return File(path, length, sha256.hexdigest(), blob.hexdigest())


def files(root: Path) -> list[File]:
    """The regular files of a model that are not hidden, by path."""
    found = (each for each in root.rglob("*") if each.is_file() and not each.is_symlink())
    paths = sorted(each.relative_to(root) for each in found)
    return [look(root, str(each)) for each in paths if not any(p[0] == "." for p in each.parts)]


def commit(found: list[File]) -> str:
    """The name of a revision, which changes with each of its files."""
    text = json.dumps([(each.path, each.sha256) for each in found])
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def info(repo: str, found: list[File]) -> dict[str, Any]:
    """What the hub answers about a model."""
    return {
        "id": repo,
        "modelId": repo,
        "sha": commit(found),
        "private": False,
        "tags": [],
        "siblings": [_sibling(each) for each in found],
    }


def tree(found: list[File]) -> list[dict[str, Any]]:
    """The same files as the hub lists them for its own library."""
    return [_entry(each) for each in found]


def _entry(file: File) -> dict[str, Any]:
    found = {"type": "file", "path": file.path, "size": file.length, "oid": file.blob}
    if file.length < LARGE:
        return found
    return {**found, "lfs": {"oid": file.sha256, "size": file.length, "pointerSize": 134}}


def _sibling(file: File) -> dict[str, Any]:
    found = {"rfilename": file.path, "size": file.length, "blobId": file.blob}
    if file.length < LARGE:
        return found
    return {**found, "lfs": {"sha256": file.sha256, "size": file.length, "pointerSize": 134}}


def add(repo: str, folder: Path) -> str:
    """Offer a model as its files are now; its commit.

    Raises:
        ValueError: There is no such model.
    """
    if not _REPO.fullmatch(repo):
        raise ValueError(f"`{repo}` is not a name such as `facebook/opt-125m`")
    found = files(folder / repo)
    if not found:
        raise ValueError(f"`{folder / repo}` has no files: copy the model there first")
    about = folder / ".hub" / repo
    # Until the new commit is there, the store has no such model.
    (about / "commit").unlink(missing_ok=True)
    shutil.rmtree(about / "tags", ignore_errors=True)
    for each in found:
        tag = about / "tags" / each.path
        tag.parent.mkdir(parents=True, exist_ok=True)
        tag.write_text(each.tag)
    (about / "info.json").write_text(json.dumps(info(repo, found)))
    (about / "tree.json").write_text(json.dumps(tree(found)))
    (about / "commit").write_text(commit(found))
    return commit(found)


def main(arguments: list[str]) -> int:
    """Add a model; 2 if that is not possible."""
    if len(arguments) not in {1, 2}:
        print("usage: add_model.py ORG/NAME [FOLDER]", file=sys.stderr)
        return 2
    try:
        print(add(arguments[0], Path(arguments[1]) if arguments[1:] else FOLDER))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
