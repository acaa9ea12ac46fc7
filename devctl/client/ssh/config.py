"""ssh's configuration: a file of devctl's, and a line in the person's own that includes it."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, NamedTuple

from devctl.client.ssh import keys
from devctl.client.ssh.destination import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from devctl.client.ssh.destination import Destination

HEAD = """\
# Servers of devctl, for ssh, scp, rsync and editors.
# `devctl config-ssh` overwrites this file; changes are lost.
"""

_SPECIAL = " \t\"'\\#"


class Change(NamedTuple):
    """A change to a file; None for a file that does not exist, before or after it."""

    path: Path
    before: str | None
    after: str | None

    def diff(self) -> str:
        """The change in the format of `diff -u`."""
        lines = difflib.unified_diff(
            (self.before or "").splitlines(keepends=True),
            (self.after or "").splitlines(keepends=True),
            "/dev/null" if self.before is None else str(self.path),
            "/dev/null" if self.after is None else str(self.path),
        )
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def additions(like: Destination) -> list[Change]:
    """The changes that let ssh find the servers of a namespace; `like` is any of them."""
    theirs = _held(keys.users_config())
    return _changes(f"{HEAD}\n{like.config()}", included(theirs or ""))


def removals() -> list[Change]:
    """The changes that undo this."""
    theirs = _held(keys.users_config())
    return _changes(None, None if theirs is None else excluded(theirs))[::-1]


def carry_out(changes: Iterable[Change]) -> None:
    """Write each file atomically; raises HostError if one cannot be written."""
    for change in changes:
        if change.after is not None:
            keys.replace(change.path, change.after)
            continue
        with keys.writing(change.path):
            change.path.unlink(missing_ok=True)


def is_included() -> bool:
    """Whether the person's configuration includes devctl's."""
    return _include() in keys.read(keys.users_config()).splitlines()


def included(text: str) -> str:
    """A configuration with the line at its top: below a `Host` it would apply to that alone."""
    line = _include()
    return text if line in text.splitlines() else f"{line}\n{text}"


def excluded(text: str) -> str:
    """A configuration without the line."""
    line = _include()
    return "".join(each for each in text.splitlines(keepends=True) if each.rstrip("\r\n") != line)


def _include() -> str:
    path = str(keys.config_file())
    return f"Include {quoted(path) if set(path) & set(_SPECIAL) else path}"


def _held(path: Path) -> str | None:
    return keys.read(path) if path.exists() else None


def _changes(ours: str | None, theirs: str | None) -> list[Change]:
    wanted = ((keys.config_file(), ours), (keys.users_config(), theirs))
    found = [Change(path, _held(path), after) for path, after in wanted]
    return [change for change in found if change.before != change.after]
