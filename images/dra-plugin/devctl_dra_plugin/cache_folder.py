"""What the node's cache has, as its agent has put it there."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from devctl.api.node_cache import MODELS

if TYPE_CHECKING:
    from pathlib import Path

_REVISIONS = "snapshots"


def is_there(root: Path, path: str) -> bool:
    """Whether the cache has a mirror, or a revision of a model; each appears as a whole.

    Args:
        root: The cache's folder.
        path: Of a mirror or a model in it.

    Raises:
        OSError: It cannot be looked at.
    """
    place = root / path
    if not path.startswith(f"{MODELS}/"):
        return place.is_dir()
    # A model's folder stays when its last revision goes.
    with suppress(FileNotFoundError, NotADirectoryError):
        return any((place / _REVISIONS).iterdir())
    return False
