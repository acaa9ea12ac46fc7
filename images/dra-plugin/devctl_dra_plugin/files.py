"""Files that are there as a whole, or not at all, whenever the plugin or the node dies."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Replace a file's content at once, and outlive a power cut."""
    # Whoever reads the folder ignores other endings.
    temporary = path.with_name(f".{path.name}.new")
    with temporary.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    _sync_folder(path.parent)


def remove(path: Path) -> None:
    """Remove a file, which need not be there."""
    path.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
