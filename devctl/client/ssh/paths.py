"""Where devctl keeps what ssh needs: one folder of its own, which nobody else can read."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from devctl.errors import HostError

_FOLDER = 0o700
_FILE = 0o600


def folder() -> Path:
    """The folder, made if it is not there.

    Raises:
        HostError: It cannot be made.
    """
    path = Path.home() / ".ssh" / "devctl"
    try:
        path.parent.mkdir(mode=_FOLDER, parents=True, exist_ok=True)
        path.mkdir(mode=_FOLDER, exist_ok=True)
    except OSError as error:
        raise unwritable(path, error) from error
    return path


def config_file() -> Path:
    """The file in which ssh finds servers."""
    return Path.home() / ".ssh" / "devctl" / "config"


def users_config() -> Path:
    """The person's own file, which includes it."""
    return Path.home() / ".ssh" / "config"


def replace(path: Path, text: str) -> None:
    """Have a file hold a text: as a whole or, if that cannot be, as it was.

    A link stays one, and so does the mode: people keep their configuration in a repository.

    Raises:
        HostError: It cannot be written.
    """
    try:
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
    except OSError as error:
        raise unwritable(path, error) from error


def read(path: Path) -> str:
    """What a file holds; nothing where it is not there.

    Raises:
        HostError: It cannot be read.
    """
    try:
        return path.read_bytes().decode(errors="surrogateescape")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise HostError(
            f"`{path}` cannot be read: {error.strerror or error}", "give yourself the right to"
        ) from error


def unwritable(path: Path, error: OSError) -> HostError:
    """What is said where a file cannot be written."""
    return HostError(
        f"`{path}` cannot be written: {error.strerror or error}",
        "make room there, or give yourself the right to",
    )
