"""Which paths a checkout has, and what its base commit and its index say of them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from devctl.capsule.applying.items import FILE, LINK, PROGRAM
from devctl.client.checkout.repository import Repository
from devctl.client.files.ignore import OWN_RULES, Rules
from devctl.client.files.names import named
from devctl.errors import DevctlError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

SUBMODULE = 0o160000


class Blob(NamedTuple):
    """A mode, as git has it now, and an object."""

    mode: int
    oid: str


@dataclass(frozen=True)
class Listing:
    """A checkout's paths, as git knows them; those that are ignored are in none of the fields."""

    base: dict[str, Blob]
    index: dict[str, Blob]
    unmaterialized: frozenset[str]
    """Those of the index that a sparse checkout does not have to have here."""
    untracked: frozenset[str]

    @property
    def names(self) -> list[str]:
        """All that may be here, in the order of their bytes."""
        return sorted(self.index.keys() | self.untracked, key=os.fsencode)


def listing(root: Path, base: str) -> Listing:
    """The paths of a checkout, by its top folder and a commit.

    Raises:
        UsageError: A merge is unfinished, or another repository is among the untracked files.
        DevctlError: git cannot read it.
    """
    repository = Repository(root)
    index: dict[str, Blob] = {}
    absent, unmerged = set(), set()
    for field in repository.fields("ls-files", "-z", "-v", "--stage"):
        # Such as `H 100644 <object> 0`, then a tab and the path.
        about, _, raw = field.partition(b"\t")
        tag, mode, oid, stage = about.decode().split(" ")
        name = os.fsdecode(raw)
        index[name] = Blob(_mode(int(mode, 8)), oid)
        if tag in "Ss":
            absent.add(name)
        if stage != "0":
            unmerged.add(name)
    if unmerged:
        raise UsageError(
            f"nothing was sent: {named(sorted(unmerged))} has conflicts of an unfinished merge",
            "resolve them, and `git add` the files; or abort the merge",
        )
    tree = repository.fields("ls-tree", "-r", "-z", "--full-tree", base)
    return Listing(dict(map(_of_tree, tree)), index, frozenset(absent), _untracked(repository))


def _of_tree(field: bytes) -> tuple[str, Blob]:
    about, _, raw = field.partition(b"\t")
    mode, _kind, oid = about.decode().split(" ")
    return os.fsdecode(raw), Blob(_mode(int(mode, 8)), oid)


def _mode(mode: int) -> int:
    """A mode as git writes it today; old commits have others."""
    if mode in {LINK, SUBMODULE}:
        return mode
    return PROGRAM if mode & 0o100 else FILE


def _untracked(repository: Repository) -> frozenset[str]:
    rules = Rules(repository.folder, defaults=False, files=(OWN_RULES,))
    others = repository.fields("ls-files", "-z", "--others", "--exclude-standard")
    # A slash ends the names of other repositories.
    kept = {
        name
        for name in map(os.fsdecode, others)
        if not rules.ignores(name.rstrip("/"), folder=name.endswith("/"))
    }
    if repositories := sorted(name for name in kept if name.endswith("/")):
        raise UsageError(
            f"nothing was sent: {named(repositories)} is a git repository of its own",
            f"list it in `{OWN_RULES}`, or move it out of the checkout",
        )
    return frozenset(kept)


def changed_meanwhile(names: list[str]) -> DevctlError:
    """The error for a checkout that is being worked in."""
    what = named(names) if names else "the checkout"
    return DevctlError(
        f"{what} changed while it was being read, and nothing was sent",
        f"wait until it is no longer written to, or list it in `{OWN_RULES}`",
    )
