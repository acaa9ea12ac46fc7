"""Checkouts of vLLM that a test makes: a repository, changes of every kind, and what arrives."""

from __future__ import annotations

import os
import stat
import subprocess
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

_WHO = ("-c", "user.name=me", "-c", "user.email=me@example.org", "-c", "protocol.file.allow=always")
PROJECT = '[project]\nname = "vllm"\nversion = "0"\n'
"""The project file by which devctl knows a checkout of vLLM."""

SUBMODULE = "sub"
LISTS = """
import hashlib, os, stat, sys
top = os.fsencode(sys.argv[1])
for place, folders, names in os.walk(top):
    for name in (*names, *folders):
        path = os.path.join(place, name)
        mode = os.lstat(path).st_mode
        if stat.S_ISDIR(mode):
            continue
        link = stat.S_ISLNK(mode)
        data = os.readlink(path) if link else open(path, "rb").read()
        kind = "link" if link else "program" if mode & stat.S_IXUSR else "file"
        print(path[len(top) + 1:].hex(), kind, hashlib.sha256(data).hexdigest())
"""
"""A program for a pod's python3 that lists the files of a folder as `parsed` reads them."""


class File(NamedTuple):
    """What is at a path: a file, a program or a link, and the SHA-256 of what is in it."""

    kind: str
    digest: str


Files = dict[bytes, File]


def git(folder: Path, *arguments: str | bytes) -> str:
    """What git prints, without the last end of line."""
    command = ["git", *_WHO, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=True)
    return os.fsdecode(done.stdout).removesuffix("\n")


def commit(root: Path, message: str = "change") -> str:
    """Commit everything; the commit."""
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "-m", message)
    return git(root, "rev-parse", "HEAD")


def write(root: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files, and the folders that they are in."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def new(root: Path) -> Path:
    """An empty repository in a new folder."""
    root.mkdir(parents=True)
    git(root, "init", "-q", "-b", "main", "--template=")
    return root


def pushed(root: Path, url: str, mirror: Path) -> str:
    """Commit everything as `main` of the remote `upstream`, of which a bare copy is made.

    Args:
        root: The repository.
        url: Of the remote, which nobody asks from here.
        mirror: The copy: what the remote has.
    """
    found = commit(root)
    git(root, "remote", "add", "upstream", url)
    git(root, "update-ref", "refs/remotes/upstream/main", found)
    git(root, "clone", "-q", "--bare", str(root), str(mirror))
    # What clients ask for that speak no protocol of git's.
    git(mirror, "update-server-info")
    return found


def sources(root: Path) -> None:
    """Files for `change` to change; a submodule as well, whose own files stay here."""
    names = ("staged", "unstaged", "both", "renamed", "gone", "untold", "mode", "linked", "flat")
    write(root, {f"files/{name}": f"{name}\n" * 3 for name in names})
    write(root, {"files/binary": bytes(range(256)), "files/folder/a": "a", ".gitignore": "*.log\n"})
    (root / "files/link").symlink_to("staged")
    other = new(root.with_name(f"{root.name}-other"))
    write(other, {"inner": "x\n"})
    commit(other)
    git(root, "submodule", "--quiet", "add", str(other), SUBMODULE)


def change(root: Path) -> None:
    """Change the files of `sources` in every way that git knows, and in some that it does not."""
    files = root / "files"
    git(root, "checkout", "-q", "-b", "feature")
    write(files, {"unpushed": "in a commit that nobody else has\n"})
    commit(root)
    write(files, {"staged": "staged\n", "both": "staged\n", "added": "new\n", "empty": ""})
    git(root, "mv", "files/renamed", "files/moved")
    git(root, "rm", "-q", "files/gone")
    git(root, "add", ".")
    write(files, {"unstaged": "unstaged\n", "both": "and changed again\n"})
    write(files, {"binary": bytes(reversed(range(256))), "pack.bin": os.urandom(70_000)})
    write(files, {"untracked/new.py": "# new\n", "noise.log": "ignored\n"})
    write(files, {"Grüße 世界 'quoted'\n": "any name\n", "dos": "two\r\nlines\r\n"})
    (files / "untold").unlink()
    (files / "mode").chmod(0o755)
    (files / "linked").unlink()
    (files / "linked").symlink_to("folder")
    (files / "link").unlink()
    (files / "link").symlink_to("nowhere")
    (files / "flat").unlink()
    write(files, {"flat/x": "a folder now\n", "tool": "#!/bin/sh\n"})
    (files / "tool").chmod(0o700)


def tree(root: Path) -> Files:
    """All that a run in a checkout has of it: not what git ignores, nor files of submodules."""
    ignored = git(root, "ls-files", "-z", "--others", "--ignored", "--exclude-standard")
    left_out = {os.fsencode(name) for name in ignored.split("\0")}
    found: Files = {}
    for place, folders, names in os.walk(root):
        if Path(place) == root:
            folders[:] = [name for name in folders if name not in {".git", SUBMODULE}]
        for path in (Path(place, name) for name in (*names, *folders)):
            key = os.fsencode(path.relative_to(root))
            if key not in left_out and (path.is_symlink() or not path.is_dir()):
                found[key] = _file(path)
    return found


def link(target: str | bytes) -> File:
    """A link to somewhere."""
    return File("link", sha256(os.fsencode(target)).hexdigest())


def _file(path: Path) -> File:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        # A Path would drop a `./`.
        return link(os.readlink(os.fsencode(path)))  # noqa: PTH115
    kind = "program" if mode & stat.S_IXUSR else "file"
    return File(kind, sha256(path.read_bytes()).hexdigest())


def parsed(listed: str) -> Files:
    """What LISTS has printed.

    >>> parsed("61 file 00")
    {b'a': File(kind='file', digest='00')}
    """
    lines = (line.split() for line in listed.splitlines())
    return {bytes.fromhex(path): File(kind, digest) for path, kind, digest in lines}
