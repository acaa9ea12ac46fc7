"""ssh's own configuration: a file of devctl's, and one line of the person's that includes it."""

from __future__ import annotations

import difflib
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from devctl.client.ssh import paths
from devctl.client.ssh.destination import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from devctl.client.ssh.destination import Destination

HEAD = """\
# Servers of devctl, so that ssh, scp, rsync and editors find them.
# `devctl config-ssh` writes this file anew; what is changed here is lost.
"""

_SPECIAL = " \t\"'\\#"


class Change(NamedTuple):
    """A file that is to hold something else.

    Attributes:
        path: The file.
        before: What it holds; None where it is not there.
        after: What it is to hold; None where it is to go.
    """

    path: Path
    before: str | None
    after: str | None

    def diff(self) -> str:
        """The change as a person reads it, the way of `diff -u`."""
        lines = difflib.unified_diff(
            (self.before or "").splitlines(keepends=True),
            (self.after or "").splitlines(keepends=True),
            "/dev/null" if self.before is None else str(self.path),
            "/dev/null" if self.after is None else str(self.path),
        )
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def additions(like: Destination) -> list[Change]:
    """What has to change for ssh to find servers; nothing where all is as it should be.

    Args:
        like: Any server of the namespace.
    """
    text = f"{HEAD}\n{like.config()}"
    own, person = paths.config_file(), paths.users_config()
    theirs = _held(person)
    return _real(
        [
            Change(own, _held(own), text),
            Change(person, theirs, included(theirs or "")),
        ]
    )


def removals() -> list[Change]:
    """What has to change for nothing of it to be left."""
    own, person = paths.config_file(), paths.users_config()
    theirs = _held(person)
    after = None if theirs is None else excluded(theirs)
    return _real([Change(person, theirs, after), Change(own, _held(own), None)])


def carry_out(changes: Iterable[Change]) -> None:
    """Write the files, each as a whole.

    Raises:
        HostError: One cannot be written.
    """
    for change in changes:
        if change.after is not None:
            paths.replace(change.path, change.after)
            continue
        try:
            with suppress(FileNotFoundError):
                change.path.unlink()
        except OSError as error:
            raise paths.unwritable(change.path, error) from error


def knows(destination: Destination) -> bool:
    """Whether ssh finds a server as it is now."""
    return f"\n{destination.config()}" in paths.read(paths.config_file()) and is_included()


def is_included() -> bool:
    """Whether the person has let ssh know of devctl's file."""
    return _include() in paths.read(paths.users_config()).splitlines()


def included(text: str) -> str:
    """A configuration with the line, at its top: below a `Host` it would count for that alone."""
    line = _include()
    return text if line in text.splitlines() else f"{line}\n{text}"


def excluded(text: str) -> str:
    """A configuration without the line, and otherwise as it is."""
    line = _include()
    return "".join(each for each in text.splitlines(keepends=True) if each.rstrip("\r\n") != line)


def _include() -> str:
    path = str(paths.config_file())
    return f"Include {quoted(path) if set(path) & set(_SPECIAL) else path}"


def _held(path: Path) -> str | None:
    return paths.read(path) if path.exists() else None


def _real(changes: list[Change]) -> list[Change]:
    return [change for change in changes if change.before != change.after]
