"""Submodules do not travel: a pod gets none of their files, so none may have been changed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from devctl.client.checkout.differences import differences
from devctl.client.checkout.listing import SUBMODULE
from devctl.client.checkout.repository import Repository
from devctl.client.files.names import named
from devctl.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from devctl.client.checkout.listing import Listing


def check_submodules(root: Path, listed: Listing) -> None:
    """Raise UsageError if a submodule is not as the base commit has it."""
    paths = [name for name in {**listed.base, **listed.index} if _is_one(listed, name)]
    changed = sorted(name for name in paths if _is_changed(root, name, listed))
    if changed:
        raise UsageError(
            f"nothing was sent: the submodule {named(changed)} was changed, and submodules do not"
            " travel",
            "push HEAD if it has the change, or undo it with `git submodule update --force`",
        )


def _is_one(listed: Listing, name: str) -> bool:
    blobs = (listed.base.get(name), listed.index.get(name))
    return any(blob is not None and blob.mode == SUBMODULE for blob in blobs)


def _is_changed(root: Path, name: str, listed: Listing) -> bool:
    blob, folder = listed.index.get(name), root / name
    if blob is None or blob != listed.base.get(name):
        return True
    if folder.is_dir() and not folder.is_symlink():
        # One without a repository was not fetched, and is empty.
        has_repository = os.path.lexists(folder / ".git")
        return _differs(folder, blob.oid) if has_repository else any(folder.iterdir())
    return os.path.lexists(folder)


def _differs(folder: Path, commit: str) -> bool:
    """Whether a submodule's checkout is not exactly a commit."""
    repository = Repository(folder)
    try:
        # Where its own repository is broken, git would answer for the one above.
        own = repository.root() == folder.resolve()
        if not own or repository.text("rev-parse", "--verify", "--quiet", "HEAD") != commit:
            return True
        within = differences(folder, commit)
        check_submodules(folder, within.listing)
    except UsageError:
        return True
    return bool(within.changes)
