"""A git checkout with changes of several sorts, and what a pod says of the same tree."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import tarfile
from hashlib import sha256
from typing import TYPE_CHECKING

from devctl.client.checkout.capsule import pack
from devctl.client.checkout.changes import collect
from devctl.client.checkout.detect import detect

if TYPE_CHECKING:
    from pathlib import Path

SHOWS = """\
import hashlib, json, os, pathlib
found = {}
for path in pathlib.Path(".").rglob("*"):
    if path.is_symlink():
        found[str(path)] = ["link", os.readlink(path)]
    elif path.is_file():
        kind = "program" if os.access(path, os.X_OK) else "file"
        found[str(path)] = [kind, hashlib.sha256(path.read_bytes()).hexdigest()]
print(json.dumps(found, sort_keys=True))
"""
"""Prints each file and link of the folder that it starts in."""


class Checkout:
    """A git checkout with a pushed commit, and changes on it."""

    def __init__(self, root: Path) -> None:
        """Make it below a folder."""
        self.root = root / "checkout"
        self.root.mkdir()
        self.git("init", "-q", "-b", "main")
        (self.root / "folder").mkdir()
        for name in ("kept", "changed", "gone", "folder/run"):
            (self.root / name).write_text(f"{name}\n")
        (self.root / "binary").write_bytes(bytes(range(256)))
        self.base = self.commit()
        self.git("remote", "add", "origin", "https://git.example/vllm.git")
        self.git("update-ref", "refs/remotes/origin/main", "HEAD")
        self.change()

    def git(self, *words: str) -> str:
        """Run git there; its output."""
        who = ("-c", "user.name=me", "-c", "user.email=me@example.org")
        done = subprocess.run(
            ["git", *who, *words], cwd=self.root, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self) -> str:
        """Commit everything; the commit."""
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "change")
        return self.git("rev-parse", "HEAD")

    def change(self) -> None:
        """Change it without committing anything."""
        (self.root / "changed").write_text("changed here\n")
        (self.root / "gone").unlink()
        (self.root / "folder" / "run").chmod(0o755)
        (self.root / "binary").write_bytes(bytes(reversed(range(256))))
        (self.root / "new").write_text("not committed\n")
        (self.root / "link").symlink_to("folder/run")

    def capsule(self, folder: Path) -> tuple[str, bytes]:
        """The digest and the content of its changes."""
        found = pack(collect(detect(self.root)), folder)
        return found.digest, found.file.read_bytes()

    def mirror(self) -> bytes:
        """A tar of a bare repository with all of its commits."""
        bare = self.root.parent / "mirror.git"
        self.git("clone", "-q", "--bare", str(self.root), str(bare))
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            tar.add(bare, arcname=".")
        return packed.getvalue()

    def tree(self) -> dict[str, list[str]]:
        """What the program is to find."""
        found = {}
        for path in self.root.rglob("*"):
            name = str(path.relative_to(self.root))
            if name.split("/", maxsplit=1)[0] == ".git":
                continue
            if path.is_symlink():
                found[name] = ["link", os.readlink(path)]  # noqa: PTH115 - as it is written
            elif path.is_file():
                kind = "program" if path.stat().st_mode & stat.S_IXUSR else "file"
                found[name] = [kind, sha256(path.read_bytes()).hexdigest()]
        return found
