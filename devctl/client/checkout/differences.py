"""How a working tree differs from a commit: by bytes, whatever git's filters and index say.

A pod gets the bytes of the commit, unfiltered. So each file here is hashed as it is. One that git
calls unchanged, because a filter made it or git was told not to look, may be a change all the same.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from devctl.capsule.applying.items import FILE, LINK, PROGRAM
from devctl.capsule.applying.names import clash, link_problem, problem
from devctl.client.checkout.disk import Disk, Stamp, link_content
from devctl.client.checkout.listing import SUBMODULE, Listing, changed_meanwhile, listing
from devctl.client.checkout.repository import Repository
from devctl.client.files.ignore import OWN_RULES
from devctl.client.files.names import named
from devctl.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

Kind = Literal["file", "link", "deleted"]


class Change(NamedTuple):
    """A path that differs from the commit, as it is here."""

    path: str
    base: str | None
    """The blob that the commit has there."""
    kind: Kind = "deleted"
    mode: int = 0
    size: int = 0
    sha256: str = ""
    target: str = ""
    untracked: bool = False


@dataclass
class Differences:
    """All changes, in the order of their paths, and how everything was found."""

    listing: Listing
    changes: list[Change] = field(default_factory=list)
    stamps: dict[str, Stamp | None] = field(default_factory=dict)
    absent: int = 0
    """Files that a sparse checkout does not have here."""


def differences(root: Path, base: str) -> Differences:
    """How the checkout with this top folder differs from a commit.

    Raises:
        UsageError: It has something that no capsule can carry.
        DevctlError: A file cannot be read, or changes meanwhile.
    """
    found = Differences(listing(root, base))
    with Disk(root) as disk:
        _Comparison(root, base, disk, found).compare()
    return found


def stamped(root: Path, names: list[str]) -> dict[str, Stamp | None]:
    """How files are found now."""
    with Disk(root) as disk:
        about = {name: disk.stat(name) for name in names}
    return {name: Stamp.of(each) if each else None for name, each in about.items()}


class _Comparison:
    """Of one checkout."""

    def __init__(self, root: Path, base: str, disk: Disk, found: Differences) -> None:
        repository = Repository(root)
        self._disk, self._found, self._like = disk, found, base
        # Where file systems have no modes or links, git's index has them.
        self._has_modes = repository.truth("core.fileMode", default=True)
        self._has_links = repository.truth("core.symlinks", default=True)

    def compare(self) -> None:
        tree, listed = self._found.listing.base, self._found.listing
        names = listed.names
        for name in names:
            if why := problem(os.fsencode(name)):
                raise _refused(name, f"its path {why}")
        here = [name for name in names if listed.index.get(name, (0,))[0] != SUBMODULE]
        changes = [change for name in here if (change := self._compare(name))]
        known = {*names}
        gone = [n for n, blob in tree.items() if n not in known and blob.mode != SUBMODULE]
        changes += [Change(name, tree[name].oid) for name in gone]
        self._found.changes = sorted(changes, key=lambda change: os.fsencode(change.path))
        left = [n for n in here if self._found.stamps[n] or n in listed.unmaterialized]
        if path := clash(map(os.fsencode, left)):
            raise _refused(os.fsdecode(path), "it is a file here, and a folder in the commit")

    def _compare(self, name: str) -> Change | None:
        """How one path differs; None if it does not."""
        listed = self._found.listing
        there, indexed = listed.base.get(name), listed.index.get(name)
        about = self._disk.stat(name)
        self._found.stamps[name] = Stamp.of(about) if about else None
        if about is None and name in listed.unmaterialized:
            self._found.absent += 1
            if indexed != there:
                raise _refused(
                    name,
                    "a sparse checkout has left it out, but it was changed",
                    "check it out with `git sparse-checkout add`, or push HEAD",
                )
            return None
        # A submodule is checked on its own: devctl.client.checkout.submodules.
        base = there.oid if there and there.mode != SUBMODULE else None
        if about is None:
            return Change(name, base) if base else None
        change, oid = self._changed(name, about, base)
        return None if there and (there.mode, there.oid) == (change.mode, oid) else change

    def _changed(self, name: str, about: os.stat_result, base: str | None) -> tuple[Change, str]:
        """What is at a path as a change, and the blob that it would be."""
        indexed = self._found.listing.index.get(name)
        untracked = indexed is None
        is_link = stat.S_ISLNK(about.st_mode)
        if not is_link and not stat.S_ISREG(about.st_mode):
            raise _refused(name, "it is a pipe, a socket or a device")
        if is_link or (not self._has_links and indexed and indexed.mode == LINK):
            target = self._disk.link(name) if is_link else os.fsdecode(self._disk.head(name, 4096))
            if why := link_problem(os.fsencode(name), os.fsencode(target)):
                raise _refused(name, f"this link {why}")
            link = link_content(target, self._like)
            change = Change(name, base, "link", LINK, link.size, link.sha256, target, untracked)
            return change, link.oid
        content = self._disk.file(name, about, self._like)
        if content is None:
            raise changed_meanwhile([name])
        runs = bool(about.st_mode & stat.S_IXUSR)
        if not self._has_modes:
            runs = indexed is not None and indexed.mode == PROGRAM
        mode = PROGRAM if runs else FILE
        file = Change(name, base, "file", mode, content.size, content.sha256, "", untracked)
        return file, content.oid


def _refused(name: str, why: str, fix: str = "") -> UsageError:
    return UsageError(
        f"nothing was sent: {named([name])}: {why}",
        fix or f"remove it; if git does not track it, `{OWN_RULES}` can name it instead",
    )
