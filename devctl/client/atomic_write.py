"""Files that hold all of a text or, if that cannot be, what they held."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

_FOLDER = 0o700
_FILE = 0o600


def write(path: Path, text: str) -> None:
    """Have a file hold a text; its folder is made where it is not there.

    A link stays one, and so does the mode: people keep their configuration in a repository.

    Raises:
        OSError: It cannot be written; it is as it was.
    """
    path = path.resolve()
    path.parent.mkdir(mode=_FOLDER, parents=True, exist_ok=True)
    mode = path.stat().st_mode & 0o777 if path.exists() else _FILE
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode(errors="surrogateescape"))
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
