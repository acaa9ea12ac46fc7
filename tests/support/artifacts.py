"""Folders that stand for the volume of artifacts, and what hostile programs leave in them."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

JOB, OTHER = "job-0123456789ab", "job-ba9876543210"
SECRET = b"of another job"


def fill(volume: Path) -> Path:
    """Put a job's folder with every trick beside that of another job; its path."""
    other = volume / OTHER
    other.mkdir()
    (other / "secret").write_bytes(SECRET)
    own = volume / JOB
    (own / "out/deep").mkdir(parents=True)
    (own / "out/deep/model.pt").write_bytes(b"weights")
    (own / "loss.csv").write_bytes(b"1,2\n")
    (own / "link").symlink_to(other / "secret")
    (own / "up").symlink_to(f"../{OTHER}")
    (own / "out/self").symlink_to(".")
    (own / "host").symlink_to("/etc")
    os.link(other / "secret", own / "hard")
    os.mkfifo(own / "pipe")
    if os.geteuid() == 0:
        os.mknod(own / "zero", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
    os.mknod(own / "socket", 0o600 | stat.S_IFSOCK)
    (own / "two\nlines").write_bytes(b"x")
    (own / "\u202etxt.exe").write_bytes(b"x")
    Path(os.fsdecode(os.fsencode(own) + b"/\xff\xfe")).write_bytes(b"x")
    return own


TRICKS = (
    *("link", "up/secret", "out/self/deep/model.pt", "host/passwd", "hard", "pipe", "zero"),
    *("socket", "two\nlines", "\u202etxt.exe", "out", "", ".", "..", f"../{OTHER}/secret"),
    *("/etc/passwd", "out//deep/model.pt", "./loss.csv", "loss.csv/", "loss.csv/x", "a\0b"),
    *("x" * 300, "d/" * 40 + "x", "none", "\udcff\udcfe"),
)
"""Paths that must lead nowhere in the folder that `fill` makes."""


@contextmanager
def volume_of_user() -> Iterator[Path]:
    """A folder, in which this process works as a user without privileges."""
    folder = Path(tempfile.mkdtemp())  # that user can get there, unlike to pytest's folders
    root = os.geteuid() == 0
    try:
        if root:
            os.chown(folder, 1000, 1000)
            os.seteuid(1000)
        yield folder
    finally:
        if root:
            os.seteuid(0)
        shutil.rmtree(folder)
