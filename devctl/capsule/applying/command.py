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

from .arguments import USAGE, read
from .building import build_tree, write_links
from .content import write_content
from .files import Writer
from .items import pieces
from .manifest import Manifest, read_manifest
from .objects import Objects
from .patience import wait_for
from .refusal import BAD_CAPSULE, NO_TARGET, RefusedError, bad_capsule
from .target import Target

if TYPE_CHECKING:
    from collections.abc import Callable


def main(arguments: list[str]) -> int:
    """Do it; the exit code."""
    asked = read(arguments)
    if asked is None:
        sys.stderr.write(f"{USAGE}\n")
        return 2
    if asked.commit:
        wait_for(asked.commit, asked.repository, asked.wait)
    try:
        if asked.capsule:
            paths = asked.capsule, asked.digest, asked.repository, asked.target
            said = apply(*paths, package=asked.package, commit=asked.commit)
        else:
            said = check_out(asked.commit, asked.repository, asked.target, package=asked.package)
    except RefusedError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.code
    sys.stdout.write(f"{said}\n")
    return 0


def apply(  # noqa: PLR0913, PLR0917 - in the program's order
    capsule: str,
    digest: str,
    repository: str,
    target: str,
    settle: Callable[[], None] = os.sync,
    package: str = "",
    commit: str = "",
) -> str:
    """Make the target; what was done, in a line. `settle` has the disk keep what was written.

    The capsule may build on any commit, unless one is given.

    Raises:
        RefusedError: Something is not as it should be, and there is no target.
    """

    def fill(incoming: Path) -> str:
        with _opened(capsule) as file:
            _check_digest(file, digest)
            return _unpack(file, repository, incoming, package, commit)

    return _make(Target(target), _mark(digest, package), fill, settle)


def check_out(
    commit: str,
    repository: str,
    target: str,
    settle: Callable[[], None] = os.sync,
    package: str = "",
) -> str:
    """Make the target of a commit alone, as `apply` does of a capsule's.

    Raises:
        RefusedError: Something is not as it should be, and there is no target.
    """

    def fill(incoming: Path) -> str:
        with Objects(repository) as objects, Writer(incoming) as writer:
            manifest = Manifest(commit, [])
            items = build_tree(manifest, objects, writer)
            return write_links(manifest, items, objects, writer, package)

    return _make(Target(target), _mark(commit, package), fill, settle)


def _mark(what: str, package: str) -> str:
    return f"{what} {package}" if package else what


def _make(
    wanted: Target, mark: str, fill: Callable[[Path], str], settle: Callable[[], None]
) -> str:
    try:
        if wanted.is_finished(mark):
            return f"{wanted} is already what was asked for"
        wanted.begin()
        try:
            said = fill(wanted.incoming)
            settle()
            wanted.finish(mark)
        except BaseException:
            wanted.abandon()
            raise
    except OSError as error:
        raise RefusedError(NO_TARGET, f"{wanted} cannot be made: {error.strerror}") from error
    return f"{wanted} is {said}"


def _unpack(capsule: IO[bytes], repository: str, incoming: Path, package: str, commit: str) -> str:
    try:
        with (
            gzip.GzipFile(fileobj=capsule) as plain,
            tarfile.open(fileobj=plain, mode="r|") as tar,
            Objects(repository) as objects,
            Writer(incoming) as writer,
        ):
            manifest = read_manifest(tar)
            if commit not in {"", manifest.base}:
                raise bad_capsule(f"it builds on {manifest.base}, and the run names {commit}")
            items = build_tree(manifest, objects, writer)
            write_content(tar, items, writer)
            return write_links(manifest, items, objects, writer, package)
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise bad_capsule(f"it cannot be read: {error}") from error


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
