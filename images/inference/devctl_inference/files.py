"""Opening input files safely: only regular files inside a folder, whatever links and names say."""

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

# Do not wait for a FIFO's writer, and do not follow a link that was created after the check.
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Kind(NamedTuple):
    """The purpose of a file: its maximum size, and the reasons of its failures."""

    limit: int
    missing: Reason
    invalid: Reason
    too_large: Reason


INPUT = Kind(64 * MIB, Reason.INPUT_MISSING, Reason.INPUT_INVALID, Reason.INPUT_TOO_LARGE)
_WEIGHTS = (Reason.WEIGHTS_MISSING, Reason.WEIGHTS_INVALID, Reason.WEIGHTS_INVALID)
WEIGHTS = Kind(4096 * MIB, *_WEIGHTS)
LABELS = Kind(16 * MIB, *_WEIGHTS)


def real_path(path: str, folder: Path, invalid: Reason) -> Path:
    """The path with all links resolved.

    Raises:
        Failure: It leads out of the folder.
    """
    # A relative path would be relative to the container's working directory.
    if not path.startswith("/") or "\0" in path:
        raise Failure(invalid, f"{path} is not an absolute path in {folder}")
    real = Path(os.path.realpath(path))
    if not real.is_relative_to(os.path.realpath(folder)):
        raise Failure(invalid, f"{path} is outside {folder}")
    return real


@dataclass(frozen=True)
class File:
    """A file that is needed, whether it exists or not."""

    path: str
    folder: Path
    """The folder that it must not lead out of."""
    kind: Kind

    def look(self) -> os.stat_result | None:
        """Its current `stat`; None if it does not exist.

        Raises:
            Failure: It is not a valid file, or cannot be read.
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
        """Open it: always a regular file in the folder, neither empty nor too large.

        Raises:
            Failure: It is anything else, or missing.
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
        """Read all of it; never more than the limit, even if the file grows meanwhile.

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
        # A folder in the path may have become a link since the path was resolved.
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
        message = f"{self.path} is larger than {self.kind.limit // MIB} MiB"
        return Failure(self.kind.too_large, message)
