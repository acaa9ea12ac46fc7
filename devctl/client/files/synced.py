"""What a sync is asked for, and what it has done."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from devctl.client.files.amounts import sent
from devctl.client.files.dotgit import Withheld

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

NEW, CHANGED, DELETED = "new", "changed", "deleted"


@dataclass(frozen=True)
class SyncOptions:
    """How a sync goes about it.

    Attributes:
        delete: Whether what an earlier sync has put there goes once it is gone where it came from.
        overwrite: Whether files are replaced that have changed on both sides.
        dry_run: Whether it is only told what would be done.
        secrets: Whether what looks like a secret is sent, too.
        large: Whether files of more than 1 GiB are sent, too.
        may_delete: Asked before many files here are deleted, or all that earlier syncs have left
            here; takes their names.
    """

    delete: bool = False
    overwrite: bool = False
    dry_run: bool = False
    secrets: bool = False
    large: bool = False
    may_delete: Callable[[Sequence[str]], bool] = lambda _names: False


class Change(NamedTuple):
    """What has been done with one file: `new`, `changed` or `deleted`."""

    what: str
    path: str
    size: int = 0


@dataclass(frozen=True)
class Synced:
    """What a sync has done.

    Attributes:
        target: Where: `lab-0:/home/dev/project`, or a folder here.
        changes: What was sent, and what deleted.
        secrets: Names that were left out, for they look like secrets.
        left_out: What else was not taken, each with why.
        changed: Files that changed while they were read; the next sync has them.
        dry_run: Whether nothing was done, and this is only what would have been.
        word: What was done with files: `sent`, or `brought` here.
        git: What was not taken from a pod, as it is part of git repositories.
    """

    target: str
    changes: list[Change] = field(default_factory=list)
    secrets: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    dry_run: bool = False
    word: str = "sent"
    git: Withheld = field(default_factory=Withheld)

    def summary(self) -> str:
        """One line of it.

        >>> Synced("lab-0:/home/dev/a", [Change("new", "b", 5)]).summary()
        'lab-0:/home/dev/a: 1 file, 5 B sent'
        >>> Synced("lab-0:/home/dev/a").summary()
        'lab-0:/home/dev/a: nothing has changed'
        """
        moved = [change for change in self.changes if change.what != DELETED]
        deleted = len(self.changes) - len(moved)
        size = sum(change.size for change in moved)
        done = []
        would = "would be " if self.dry_run else ""
        if moved:
            files = sent(len(moved), size).removesuffix("sent")
            done.append(f"{files}{would}{self.word}")
        if deleted:
            done.append(f"{deleted:,} {would}deleted")
        return f"{self.target}: {', '.join(done) or 'nothing has changed'}"
