"""Writing the result: atomically, and only to the volume."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from devctl_inference.failure import Failure, Reason
from devctl_inference.files import real_path

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class Output:
    """The output file."""

    path: str
    folder: Path
    """The folder that it must not lead out of."""

    def check(self, inputs: Iterable[str] = ()) -> None:
        """Check early whether the file may be written.

        Args:
            inputs: Files that it must not replace.

        Raises:
            Failure: It may not.
        """
        target = self._target()
        for path in inputs:
            if target == real_path(path, self.folder, Reason.INPUT_INVALID):
                raise self._invalid("is one of the files that the job reads")

    def write(self, text: str) -> None:
        """Write the text, atomically replacing an existing file.

        Raises:
            Failure: It could not be written.
        """
        target = self._target()
        try:
            folder = self._open_folder(target.parent)
            try:
                _replace(folder, target.name, text)
            finally:
                os.close(folder)
        except OSError as error:
            message = f"{self.path} cannot be written: {error.strerror}"
            raise Failure(Reason.OUTPUT_FAILED, message) from error

    def _target(self) -> Path:
        target = real_path(self.path, self.folder, Reason.OUTPUT_INVALID)
        try:
            found = target.lstat()
        except FileNotFoundError:
            found = None
        except OSError as error:
            raise self._invalid(f"cannot be written: {error.strerror}") from error
        # Only a cycle of links is still a link here.
        if self.path.endswith("/") or (found and not stat.S_ISREG(found.st_mode)):
            raise self._invalid("is not a regular file")
        return target

    def _open_folder(self, folder: Path) -> int:
        """Open a folder step by step from the volume, so that no link can redirect the path."""
        root = os.path.realpath(self.folder)
        opened = os.open(root, _FOLDER)
        try:
            for name in folder.relative_to(root).parts:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, dir_fd=opened)
                step = os.open(name, _FOLDER, dir_fd=opened)
                os.close(opened)
                opened = step
        except BaseException:
            os.close(opened)
            raise
        return opened

    def _invalid(self, what: str) -> Failure:
        return Failure(Reason.OUTPUT_INVALID, f"{self.path} {what}")


def _replace(folder: int, name: str, text: str) -> None:
    # A short, unrelated name: with a suffix, the longest names would be too long.
    new = f".devctl-{secrets.token_hex(8)}"
    # Readable for everyone: the volume may be mounted later by another user.
    file = os.open(new, _NEW_FILE, 0o644, dir_fd=folder)
    try:
        with os.fdopen(file, "w", encoding="utf-8") as opened:
            opened.write(text)
            opened.flush()
            os.fsync(opened.fileno())
        os.rename(new, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(new, dir_fd=folder)
        raise
    os.fsync(folder)
