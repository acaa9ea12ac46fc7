"""A capsule: the changes of a checkout as one file, named by its digest.

The same state makes the same bytes, so a capsule is stored once, and run again as it is.
devctl.capsule.applying says what is in it.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import stat
import tarfile
import tempfile
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from devctl.capsule.applying.content import CONTENT
from devctl.capsule.applying.manifest import MANIFEST, VERSION
from devctl.client.checkout.listing import changed_meanwhile
from devctl.client.files.archive import Exactly
from devctl.client.files.ignore import OWN_RULES
from devctl.client.files.local import Beneath
from devctl.client.files.names import named
from devctl.errors import DevctlError, HostError, UsageError

if TYPE_CHECKING:
    from devctl.client.checkout.changes import Changes
    from devctl.client.checkout.differences import Change

_LEVEL = 6
LARGEST = 700_000
"""Bytes of a capsule in a ConfigMap, which holds 1 MiB: a request carries them in base 64."""


@dataclass(frozen=True)
class Capsule:
    """A capsule that was written."""

    file: Path
    digest: str
    """SHA-256 of the file, which is to be given to the applying program."""
    size: int
    counts: dict[str, int]

    @property
    def name(self) -> str:
        """For an object that holds it: the same for the same state."""
        return f"capsule-{self.digest[:16]}"

    @property
    def small(self) -> bool:
        """Whether it fits in a ConfigMap."""
        return self.size <= LARGEST


def pack(changes: Changes, folder: Path) -> Capsule:
    """Write a capsule of changes into a folder.

    Raises:
        UsageError: Some look like secrets.
        DevctlError: Something has changed since the changes were found.
        HostError: It cannot be written.
    """
    if changes.secrets:
        raise UsageError(
            f"nothing was sent: {named(changes.secrets)} may hold secrets",
            f"remove them, list them in `{OWN_RULES}`, or send them all the same with"
            " --include-secrets: all who may see your runs may see them",
        )
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".capsule-", delete=False) as file:
            written = _Written(file)
            try:
                _write(changes, written)
                changes.check()
            except BaseException:
                Path(file.name).unlink()
                raise
        digest = written.seen.hexdigest()
        path = Path(file.name).replace(folder / f"{digest}.tar.gz")
    except OSError as error:
        raise HostError(
            f"cannot write to `{folder}`: {error.strerror}", "free space there, or change its mode"
        ) from error
    return Capsule(path, digest, written.size, changes.counts)


def manifest(changes: Changes) -> dict[str, Any]:
    """What a capsule says of itself."""
    checkout = changes.checkout
    return {
        "version": VERSION,
        "remote": checkout.remote,
        "branch": checkout.branch,
        "commit": checkout.commit,
        "base": checkout.base,
        "baseRemote": checkout.base_remote,
        "mergeBase": checkout.merge_base,
        "image": checkout.image,
        "counts": changes.counts,
        "changes": [_described(change) for change in changes.all],
    }


def _described(change: Change) -> dict[str, Any]:
    about: dict[str, Any] = {"path": _text(change.path), "base": change.base, "kind": change.kind}
    if change.kind == "deleted":
        return about
    about |= {"mode": f"{change.mode:o}", "size": change.size, "sha256": change.sha256}
    return about | ({"target": _text(change.target)} if change.kind == "link" else {})


def _text(name: str) -> str:
    """A name as capsules have it, whatever the encoding of names is here."""
    return os.fsencode(name).decode("utf-8", "surrogateescape")


class _Written:
    """A file that is written from beginning to end."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.seen, self.size = file, sha256(), 0

    def write(self, data: bytes) -> int:
        self.seen.update(data)
        self.size += len(data)
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()


def _write(changes: Changes, to: _Written) -> None:
    # Neither a name nor a time, by which the same state would differ.
    with (
        gzip.GzipFile("", "wb", _LEVEL, cast("IO[bytes]", to), mtime=0) as plain,
        tarfile.open(fileobj=plain, mode="w|", format=tarfile.GNU_FORMAT) as tar,
        Beneath(changes.checkout.root) as beneath,
    ):
        text = json.dumps(manifest(changes), indent=1, sort_keys=True).encode()
        tar.addfile(_member(MANIFEST, len(text)), io.BytesIO(text))
        files = {each.sha256: each for each in reversed(changes.all) if each.kind == "file"}
        for digest, change in sorted(files.items()):
            _add(tar, beneath, change, f"{CONTENT}{digest}")


def _add(tar: tarfile.TarFile, beneath: Beneath, change: Change, name: str) -> None:
    try:
        opened = beneath.read(change.path)
    except (OSError, DevctlError) as error:
        raise changed_meanwhile([change.path]) from error
    with opened as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise changed_meanwhile([change.path])
        seen = sha256()
        content = Exactly(file, change.size, seen.update)
        tar.addfile(_member(name, change.size), cast("IO[bytes]", content))
    if content.short or seen.hexdigest() != change.sha256:
        raise changed_meanwhile([change.path])


def _member(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o644
    return member
