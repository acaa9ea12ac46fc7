"""Files that are read, and never anything that a link or a name leads to instead of one."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from devctl_inference.failure import Failure, Reason

if TYPE_CHECKING:
    from typing import BinaryIO

MIB = 1 << 20

# Not waiting for a FIFO's writer, and not following a link that was put there after the check.
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Kind(NamedTuple):
    """What a file is for: how large it may be, and what it is called when something is wrong."""

    limit: int
    missing: Reason
    invalid: Reason
    too_large: Reason


INPUT = Kind(64 * MIB, Reason.INPUT_MISSING, Reason.INPUT_INVALID, Reason.INPUT_TOO_LARGE)
_WEIGHTS = (Reason.WEIGHTS_MISSING, Reason.WEIGHTS_INVALID, Reason.WEIGHTS_INVALID)
WEIGHTS = Kind(4096 * MIB, *_WEIGHTS)
LABELS = Kind(16 * MIB, *_WEIGHTS)


def real_path(path: str, folder: Path, invalid: Reason) -> Path:
    """Where a path leads once its links are followed.

    Raises:
        Failure: Out of the folder.
    """
    # A relative path would be one of the container's working folder.
    if not path.startswith("/") or "\0" in path:
        raise Failure(invalid, f"{path} is not a path in {folder}")
    real = Path(os.path.realpath(path))
    if not real.is_relative_to(os.path.realpath(folder)):
        raise Failure(invalid, f"{path} is outside {folder}")
    return real


@dataclass(frozen=True)
class File:
    """A file that is wanted, there or not."""

    path: str
    folder: Path
    """What it must not lead out of."""
    kind: Kind

    def look(self) -> os.stat_result | None:
        """What is there now; None if nothing.

        Raises:
            Failure: Something that is not a file, or cannot be looked at.
        """
        try:
            found = real_path(self.path, self.folder, self.kind.invalid).lstat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._invalid(f"cannot be read: {error.strerror}") from error
        self._check(found)
        return found

    def open(self) -> BinaryIO:
        """Open it; what comes out is a regular file of the folder, neither empty nor too large.

        Raises:
            Failure: It is not.
        """
        if self.look() is None:
            raise Failure(self.kind.missing, f"{self.path} does not exist")
        real = real_path(self.path, self.folder, self.kind.invalid)
        try:
            file = os.fdopen(os.open(real, _OPEN), "rb")
        except OSError as error:
            raise self._invalid(f"cannot be read: {error.strerror}") from error
        try:
            self._check_opened(file)
        except BaseException:
            file.close()
            raise
        return file

    def read(self) -> bytes:
        """All of it; a file that grows meanwhile is read to its limit and refused.

        Raises:
            Failure: It cannot be opened, or is too large.
        """
        with self.open() as file:
            data = file.read(self.kind.limit + 1)
        if len(data) > self.kind.limit:
            raise self._too_large()
        return data

    def _check_opened(self, file: BinaryIO) -> None:
        found = os.fstat(file.fileno())
        self._check(found)
        if found.st_size == 0:
            raise self._invalid("is empty")
        # A folder on the way may have become a link since the path was resolved.
        opened = Path(f"/proc/self/fd/{file.fileno()}").readlink()
        if not opened.is_relative_to(os.path.realpath(self.folder)):
            raise self._invalid(f"is outside {self.folder}")

    def _check(self, found: os.stat_result) -> None:
        if not stat.S_ISREG(found.st_mode):
            raise self._invalid("is not a regular file")
        if found.st_size > self.kind.limit:
            raise self._too_large()

    def _invalid(self, what: str) -> Failure:
        return Failure(self.kind.invalid, f"{self.path} {what}")

    def _too_large(self) -> Failure:
        message = f"{self.path} has more than {self.kind.limit // MIB} MiB"
        return Failure(self.kind.too_large, message)
