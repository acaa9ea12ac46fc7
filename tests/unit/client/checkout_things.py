"""Real git repositories for tests of checkouts, and capsules that devctl would not make."""

from __future__ import annotations

import gzip
import io
import json
import os
import stat
import tarfile
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from support.vllm_checkout import git

from devctl.capsule.applying.command import apply
from devctl.client.checkout.capsule import Capsule, pack
from devctl.client.checkout.changes import collect
from devctl.client.checkout.detect import detect

if TYPE_CHECKING:
    from collections.abc import Mapping

WHO = ("-c", "user.name=me", "-c", "user.email=me@example.org")
Files = dict[bytes, tuple[str, bytes]]


def push(root: Path, remote: str = "origin") -> str:
    """Have a remote know HEAD as its main branch; the remote need not exist for that."""
    if remote not in git(root, "remote").splitlines():
        git(root, "remote", "add", remote, f"https://git.example/{remote}/vllm.git")
    git(root, "update-ref", f"refs/remotes/{remote}/main", "HEAD")
    return git(root, "rev-parse", "HEAD")


def tree(root: Path) -> Files:
    """Each file and link below a folder: its kind as git has it, and what is in it."""
    found: Files = {}
    for place, folders, names in os.walk(root):
        if ".git" in folders:
            folders.remove(".git")
        paths = [Path(place, name) for name in (*names, *folders)]
        for path in paths:
            if path.name != ".git" and (path.is_symlink() or not path.is_dir()):
                found[os.fsencode(path.relative_to(root))] = _kind(path)
    return found


def _kind(path: Path) -> tuple[str, bytes]:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        # A Path would drop a `./`.
        return "link", os.readlink(os.fsencode(path))  # noqa: PTH115
    return ("program" if mode & stat.S_IXUSR else "file"), path.read_bytes()


def packed(root: Path, **allow: bool) -> Capsule:
    into = root.parent / "capsules"
    into.mkdir(exist_ok=True)
    return pack(collect(detect(root), **allow), into)


class Applied(NamedTuple):
    capsule: Capsule
    target: Path
    said: str


def applied(root: Path, repository: Path | None = None, **allow: bool) -> Applied:
    """Pack a checkout, and apply it with a bare mirror of its own repository, by default."""
    capsule = packed(root, **allow)
    target = root.parent / "target"
    if repository is None:
        repository = root.parent / "mirror.git"
        git(root.parent, "clone", "-q", "--mirror", str(root), str(repository))
    said = apply(
        str(capsule.file), capsule.digest, str(repository), str(target), settle=lambda: None
    )
    return Applied(capsule, target, said)


def manifest_of(capsule: Capsule) -> dict[str, Any]:
    with tarfile.open(capsule.file) as tar:
        file = tar.extractfile("capsule.json")
        assert file
        found: dict[str, Any] = json.loads(file.read())
        return found


def forged(
    file: Path, about: object, contents: Mapping[str, bytes] | None = None, **member: Any
) -> str:
    """Write a capsule with any manifest and contents; its digest."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        text = about if isinstance(about, bytes) else json.dumps(about).encode()
        for name, data in {"capsule.json": text, **(contents or {})}.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            for key, value in member.items() if name != "capsule.json" else ():
                setattr(info, key, value)
            tar.addfile(info, io.BytesIO(data))
    data = gzip.compress(plain.getvalue())
    file.write_bytes(data)
    return sha256(data).hexdigest()


def change(path: str, content: bytes = b"new\n", **more: Any) -> dict[str, Any]:
    """A change as manifests have it: by default, of a new file."""
    about = {"path": path, "base": None, "kind": "file", "mode": "100644"}
    return about | {"size": len(content), "sha256": sha256(content).hexdigest()} | more


def link(path: str, target: str, **more: Any) -> dict[str, Any]:
    about = change(path, os.fsencode(target), kind="link", mode="120000", target=target)
    return about | more
