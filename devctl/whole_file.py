"""Files that are replaced as a whole: readers see the old content or the new one."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def write_file(file: Path, text: str, mode: int | None = None) -> None:
    """Replace a file atomically, or raise OSError and leave it unchanged; creates its folder.

    Symbolic links and the mode are preserved: many people keep their configuration in a repository.
    A new file has mode 0600.

    Args:
        file: The file.
        text: Its content.
        mode: The mode to have from the start, whatever it was.
    """
    file = file.resolve()
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if mode is None:
        mode = file.stat().st_mode & 0o777 if file.exists() else 0o600
    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as temporary:
            temporary.write(text.encode(errors="surrogateescape"))
            temporary.flush()
            os.fsync(temporary.fileno())
        Path(name).chmod(mode)
        Path(name).replace(file)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
