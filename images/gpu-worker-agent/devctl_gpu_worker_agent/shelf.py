"""Files of the agent: tokens that are mounted, and what must outlast its container's restart."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, NamedTuple

from devctl_gpu_worker_agent.bodies import Membership, restored, saved

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class Token(NamedTuple):
    """With which a node registers.

    Attributes:
        kind: What it is, for the log.
        text: The token itself, which belongs in no log.
    """

    kind: str
    text: str


def tokens(files: Iterable[tuple[str, Path]]) -> list[Token]:
    """The tokens that are there now: they rotate, and may be mounted later.

    Args:
        files: What each is, and its file.
    """
    found = []
    for kind, file in files:
        try:
            text = file.read_text().strip()
        except (OSError, UnicodeDecodeError):
            continue
        # What is no token would break the header that it is sent in.
        if text and text.isascii() and text.isprintable() and " " not in text:
            found.append(Token(kind, text))
    return found


class Shelf:
    """Where the node's key is kept: in a volume that goes with the pod.

    Args:
        file: Readable for the agent alone.
    """

    def __init__(self, file: Path) -> None:
        """Read nothing yet."""
        self._file = file

    def load(self) -> Membership | None:
        """What was kept; None if it was nothing, or no longer readable."""
        try:
            return restored(json.loads(self._file.read_text()))
        except (OSError, ValueError):
            return None

    def keep(self, member: Membership) -> None:
        """Replace what was kept.

        Raises:
            OSError: The volume is full, for instance.
        """
        new = self._file.with_suffix(".new")
        new.unlink(missing_ok=True)
        opened = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(opened, "w") as stream:
            json.dump(saved(member), stream)
        new.replace(self._file)

    def forget(self) -> None:
        """Drop what was kept."""
        self._file.unlink(missing_ok=True)
