"""What is in a file here: neither a link nor a pipe, whatever it was when it was listed."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import io
    from pathlib import Path


def open_plain(path: Path) -> io.FileIO:
    """Open a file to read it; links are not followed, and nothing is waited for."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags), "rb", buffering=0)


def file_digest(path: Path) -> str:
    """SHA-256 of a file's content, in hex; empty where it cannot be read."""
    try:
        with open_plain(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
