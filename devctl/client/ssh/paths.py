"""Where devctl keeps what ssh needs: one folder of its own, which nobody else can read."""

from __future__ import annotations

from pathlib import Path

from devctl.client import atomic_write
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
    """Have a file hold a text; see devctl.client.atomic_write.

    Raises:
        HostError: It cannot be written.
    """
    try:
        atomic_write.write(path, text)
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
