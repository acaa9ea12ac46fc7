"""What is to be sent: files of a folder here, looked at before anything is sent."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from devctl.client.files.amounts import amount
from devctl.client.files.content import open_plain
from devctl.client.files.ignore import OWN_RULES
from devctl.client.files.names import link_problem, named, readable
from devctl.client.files.secret import MOST, secret_content, secret_name
from devctl.errors import DevctlError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

LARGE = 1 << 30
"""A file of more bytes is hardly meant."""


class Entry(NamedTuple):
    """A file, link or empty folder below a root.

    Attributes:
        path: Its name, with `/` between its parts.
        mode: Its type and permissions.
        size: Its bytes; of a link, those of where it leads.
        changed: When it was changed, in nanoseconds.
        target: Where a link leads.
    """

    path: str
    mode: int
    size: int
    changed: int
    target: str = ""

    @property
    def mtime(self) -> int:
        """When it was changed, in seconds, as an archive has it."""
        return self.changed // 1_000_000_000


@dataclass(frozen=True)
class Selection:
    """What of a folder is sent.

    Attributes:
        root: The folder.
        entries: What of it.
        secrets: Names of files that are left out, for they look like secrets.
    """

    root: Path
    entries: list[Entry]
    secrets: list[str] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Its bytes."""
        return sum(found.size for found in self.entries)


def entry(root: Path, path: str) -> Entry:
    """A file, link or folder as it is now.

    Raises:
        DevctlError: It cannot be looked at.
    """
    file = root / path
    try:
        found = file.lstat()
        if stat.S_ISDIR(found.st_mode):
            return Entry(path, found.st_mode, 0, found.st_mtime_ns)
        target = os.readlink(file) if stat.S_ISLNK(found.st_mode) else ""  # noqa: PTH115 - as text
    except OSError as error:
        raise _refused(path, f"it cannot be read: {error.strerror}") from error
    return Entry(path, found.st_mode, found.st_size, found.st_mtime_ns, target)


def select(
    root: Path,
    names: Iterable[str],
    *,
    secrets: bool = False,
    large: bool = False,
    known: Callable[[Entry], bool] = lambda _entry: False,
) -> Selection:
    """See that files can be sent, and leave out what looks like a secret.

    Args:
        root: The folder, without links in its path.
        names: Files, links and empty folders below it.
        secrets: Whether secrets are sent, too.
        large: Whether files of more than 1 GiB are sent, too.
        known: Whether a file has been sent as it is: its content is not looked at again.

    Raises:
        DevctlError: One of them cannot be sent.
    """
    entries, left_out = [], []
    for name in names:
        try:
            found = entry(root, name)
        except DevctlError:
            if os.path.lexists(root / name):
                raise
            # It has gone since it was listed, as editors' temporary files do.
            continue
        _check(root, found, large=large)
        # A link is a name only, and tells nothing.
        regular = stat.S_ISREG(found.mode)
        if not secrets and regular and not known(found) and _secret(root, found):
            left_out.append(name)
        else:
            entries.append(found)
    return Selection(root, entries, left_out)


def chosen_file(file: Path) -> Entry:
    """One file that a person has named, which is sent whatever is in it.

    Raises:
        DevctlError: It cannot be sent.
    """
    found = entry(file.parent, file.name)
    if not (stat.S_ISREG(found.mode) or stat.S_ISLNK(found.mode)):
        raise DevctlError(
            f"`{readable(str(file))}` is a pipe, a socket or a device", "name a file or a folder"
        )
    _check(file.parent, found, large=True)
    return found


def _check(root: Path, found: Entry, *, large: bool) -> None:
    if stat.S_ISLNK(found.mode):
        if why := link_problem(found.path, found.target):
            raise _refused(found.path, f"this link {why}")
    elif stat.S_ISREG(found.mode):
        if not os.access(root / found.path, os.R_OK):
            raise _refused(found.path, "you may not read it")
        if found.size > LARGE and not large:
            raise UsageError(
                f"nothing was sent: `{readable(found.path)}` has {amount(found.size)}",
                f"send it with --large, or name it in `{OWN_RULES}`",
            )
    elif not stat.S_ISDIR(found.mode):
        raise _refused(found.path, "it is a pipe, a socket or a device")


def _secret(root: Path, found: Entry) -> bool:
    if secret_name(found.path):
        return True
    if found.size > MOST:
        return False
    try:
        with open_plain(root / found.path) as file:
            return secret_content(file.read(MOST))
    except OSError as error:
        raise _refused(found.path, f"it cannot be read: {error.strerror}") from error


def _refused(path: str, why: str) -> DevctlError:
    return DevctlError(
        f"nothing was sent: {named([path])}: {why}", f"remove it, or name it in `{OWN_RULES}`"
    )
