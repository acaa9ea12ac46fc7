"""The program: it checks the digest, makes the target, and says in a line what it did."""

from __future__ import annotations

import gzip
import hashlib
import os
import sys
import tarfile
import zlib
from pathlib import Path
from typing import IO, TYPE_CHECKING

from .content import write_content
from .files import Writer, verify
from .items import LINK, pieces
from .manifest import merge, read_manifest
from .objects import Objects
from .refusal import BAD_CAPSULE, NO_TARGET, RefusedError, bad_capsule
from .target import Target

if TYPE_CHECKING:
    from collections.abc import Callable

USAGE = "usage: python3 -I PROGRAM CAPSULE SHA256 REPOSITORY TARGET"


def main(arguments: list[str]) -> int:
    """Do it; the exit code."""
    if len(arguments) != 4:  # noqa: PLR2004 - as USAGE says
        sys.stderr.write(f"{USAGE}\n")
        return 2
    try:
        capsule, digest, repository, target = arguments
        said = apply(capsule, digest, repository, target)
    except RefusedError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.code
    sys.stdout.write(f"{said}\n")
    return 0


def apply(
    capsule: str,
    digest: str,
    repository: str,
    target: str,
    settle: Callable[[], None] = os.sync,
) -> str:
    """Make the target; what was done, in a line. `settle` has the disk keep what was written.

    Raises:
        RefusedError: Something is not as it should be, and there is no target.
    """
    wanted = Target(target)
    try:
        if wanted.is_finished(digest):
            return f"{wanted} is already what the capsule says"
        wanted.begin()
        try:
            with _opened(capsule) as file:
                _check_digest(file, digest)
                said = _fill(file, repository, wanted.incoming)
            settle()
            wanted.finish(digest)
        except BaseException:
            wanted.abandon()
            raise
    except OSError as error:
        raise RefusedError(NO_TARGET, f"{wanted} cannot be made: {error.strerror}") from error
    return f"{wanted} is {said}"


def _fill(capsule: IO[bytes], repository: str, incoming: Path) -> str:
    try:
        with (
            gzip.GzipFile(fileobj=capsule) as plain,
            tarfile.open(fileobj=plain, mode="r|") as tar,
            Objects(repository) as objects,
            Writer(incoming) as writer,
        ):
            manifest = read_manifest(tar)
            items = merge(objects.tree(manifest.base), manifest.changes)
            for path, item in items.items():
                if item.oid and item.mode != LINK:
                    writer.write(path, item.mode, objects.blob(item.oid))
            write_content(tar, items, writer)
            # Nothing is written any more that could follow them.
            for path, item in items.items():
                if item.mode == LINK:
                    writer.link(path, item.target)
            verify(writer.top, items)
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise bad_capsule(f"it cannot be read: {error}") from error
    return f"{manifest.base}, changed paths: {len(manifest.changes)}, files in all: {len(items)}"


def _opened(capsule: str) -> IO[bytes]:
    try:
        return Path(capsule).open("rb")
    except OSError as error:
        raise RefusedError(BAD_CAPSULE, f"the capsule cannot be read: {error.strerror}") from error


def _check_digest(capsule: IO[bytes], digest: str) -> None:
    seen = hashlib.sha256()
    for piece in pieces(capsule):
        seen.update(piece)
    if seen.hexdigest() != digest:
        raise bad_capsule("its digest is not the one that was given")
    capsule.seek(0)
