"""Checksums of cached files, in the format that `sha256sum --check` reads."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from devctl.errors import HostError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

SUMS = "SHA256SUMS"


def file_digest(path: Path) -> str:
    """SHA-256 of a file's content, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_sums(folder: Path) -> None:
    """Record the checksum of every file of `folder` in its SHA256SUMS."""
    files = sorted(p for p in folder.iterdir() if p.is_file() and p.name != SUMS)
    (folder / SUMS).write_text("".join(f"{file_digest(p)}  {p.name}\n" for p in files))


def read_sums(folder: Path) -> dict[str, str]:
    """The recorded checksums, by file name."""
    try:
        lines = (folder / SUMS).read_text().splitlines()
    except FileNotFoundError:
        return {}
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def verify(folder: Path, names: Iterable[str] | None = None) -> None:
    """Raise HostError unless files of a cached folder, by default all, have their checksums."""
    if not folder.is_dir():  # its name has a hash of its sources
        raise HostError(
            f"cached folder `{folder}` does not exist: its sources changed meanwhile",
            "run the command again, which builds it",
        )
    recorded = read_sums(folder)
    if not recorded:
        raise HostError(f"cached folder `{folder}` has no checksums", "remove it and run it again")
    for name in recorded if names is None else names:
        path = folder / name
        found = path.is_file()
        if not found or file_digest(path) != recorded.get(name):
            problem = "corrupt: its checksum is not the recorded one" if found else "missing"
            raise HostError(
                f"cached file `{path}` is {problem}", f"remove `{folder}` and run it again"
            )
