"""A folder here, sent to a server: what has changed since it was last there, and nothing else."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from devctl.client.files import remote
from devctl.client.files.amounts import amount, expect, sent
from devctl.client.files.archive import pack
from devctl.client.files.compare import doubtful, same, same_content
from devctl.client.files.failed import full
from devctl.client.files.ignore import listed
from devctl.client.files.local import entry, select
from devctl.client.files.names import named, readable
from devctl.client.files.record import Known, Record
from devctl.client.files.synced import CHANGED, DELETED, NEW, Change, Synced
from devctl.errors import DevctlError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from devctl.client.files.local import Entry, Selection
    from devctl.client.files.remote import Found, Place
    from devctl.client.files.synced import SyncOptions
    from devctl.client.files.transfer import Send

__all__ = ["Push", "amount", "choose", "plan", "push", "sent"]

_ROUNDS = 3
"""How often a file that changes while it is read is tried."""


@dataclass(frozen=True)
class Push:
    """What is to be done in one place.

    Attributes:
        place: The folder.
        record: What the last sync has left.
        selection: All that belongs to the folder here.
        changes: What of it is to be done.
        same: Files that are there as they are here.
        left_out: What stays there although it is gone here, each with why.
    """

    place: Place
    record: Record
    selection: Selection
    changes: list[Change] = field(default_factory=list)
    same: dict[str, Found] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)


def choose(
    local: Path, options: SyncOptions, known: Callable[[Entry], bool] = lambda _entry: False
) -> Selection:
    """What of a folder is sent: what git would list.

    Args:
        local: The folder.
        options: Of the sync.
        known: Whether a file has been sent as it is, so that its content need not be looked at.

    Raises:
        UsageError: It is not a folder.
        DevctlError: Something in it cannot be sent.
    """
    if not local.is_dir():
        raise UsageError(
            f"`{readable(str(local))}` is not a folder", "name a folder; `cp` sends files"
        )
    root = local.resolve()
    names = listed(root)
    return select(root, names, secrets=options.secrets, large=options.large, known=known)


def plan(place: Place, selection: Selection, record: Record, options: SyncOptions) -> Push:
    """Find out what has to be done in a place.

    Raises:
        DevctlError: Files there have been changed by somebody else, and would be replaced.
    """
    push = Push(place, record, selection)
    here = {found.path: found for found in selection.entries}
    gone = [
        name
        for name in (record.files if options.delete else ())
        if name not in here and not os.path.lexists(selection.root / name)
    ]
    there = remote.look(place, [*here, *gone])
    unclear = [
        name
        for name in here
        if name in there and doubtful(here[name], there[name], record.files.get(name))
    ]
    digests = remote.digests(place, unclear)
    clashes = []
    for name, found in here.items():
        other, known = there.get(name), record.files.get(name)
        if other is None:
            push.changes.append(Change(NEW, name, found.size))
        elif same(selection.root, found, other, known, digests):
            push.same[name] = other
        elif stat.S_ISDIR(other.mode) or stat.S_ISDIR(found.mode):
            raise DevctlError(
                f"`{place}`: `{readable(name)}` is a folder there and a file here, or the other"
                " way round; nothing was sent",
                "rename the one or the other",
            )
        else:
            ours = known is not None and known.is_there(other)
            # A link holds no data, and of a program only that it is one may be new.
            harmless = stat.S_ISLNK(other.mode) or same_content(selection.root, found, digests)
            if not (ours or harmless or options.overwrite):
                clashes.append(name)
            push.changes.append(Change(CHANGED, name, found.size))
    if clashes:
        raise DevctlError(
            f"`{place}`: {named(clashes)} was changed there, and differs from yours; nothing was"
            " sent",
            "fetch it with `devctl sync --from`, or replace it there with --overwrite",
        )
    for name in gone:
        if name not in there:
            record.files.pop(name)
        elif record.files[name].is_there(there[name]) or options.overwrite:
            push.changes.append(Change(DELETED, name))
        else:
            push.left_out.append(f"`{readable(name)}`: it is gone here, but was changed there")
    return push


def check_room(todo: Push) -> None:
    """See that a volume has room for what comes: all of it is there before it replaces anything.

    Raises:
        DevctlError: It has not.
    """
    coming = sum(change.size for change in todo.changes)
    free = remote.room(todo.place) if coming else None
    if free is not None and free < coming:
        raise full(todo.place, f"{amount(coming)} to send, {amount(free)} free")


def push(todo: Push, options: SyncOptions, progress: Callable[[int], None] | None = None) -> Synced:
    """Do it, and keep what both sides are like then.

    Raises:
        DevctlError: The pod could not take it; what was there is as it was.
    """
    place, selection, record = todo.place, todo.selection, todo.record
    done = Synced(
        str(place), todo.changes, selection.secrets, todo.left_out, dry_run=options.dry_run
    )
    if options.dry_run:
        return done
    by_name = {found.path: found for found in selection.entries}
    waiting = [by_name[change.path] for change in todo.changes if change.what != DELETED]
    deleted = [change.path for change in todo.changes if change.what == DELETED]
    arrived: list[Entry] = []
    lists = remote.lists(delete=deleted, rmdir=_emptied(deleted, by_name))
    for _ in range(_ROUNDS):
        if not waiting and not lists:
            break
        changed = _send(place, selection.root, waiting, lists, progress)
        arrived += [found for found in waiting if found.path not in changed]
        lists = {}
        waiting = [
            entry(selection.root, name)
            for name in changed
            if os.path.lexists(selection.root / name)
        ]
    there = remote.look(place, [found.path for found in arrived])
    for found in arrived:
        _see_arrived(place, found, there.get(found.path))
    for name in deleted:
        record.files.pop(name, None)
    files = [*arrived, *(by_name[name] for name in todo.same)]
    times = {name: other.mtime for name, other in (there | todo.same).items()}
    record.files |= {
        found.path: Known(found.size, found.mode, found.changed, times[found.path])
        for found in files
        if not stat.S_ISDIR(found.mode)
    }
    record.write()
    done.changed.extend(found.path for found in waiting)
    return done


def _send(
    place: Place,
    root: Path,
    entries: list[Entry],
    lists: Mapping[str, Iterable[str]],
    progress: Callable[[int], None] | None,
) -> list[str]:
    changed: list[str] = []
    expect(progress, (found.size for found in entries), packed=True)

    def feed(send: Send) -> None:
        changed.extend(pack(remote.counted(send, progress), root, entries, lists))

    remote.receive(place, feed)
    return changed


def _see_arrived(place: Place, found: Entry, there: Found | None) -> None:
    as_sent = there is not None and (
        stat.S_ISDIR(found.mode)
        or (there.size, _type(there.mode)) == (found.size, _type(found.mode))
    )
    if not as_sent:
        raise DevctlError(
            f"`{place}`: `{readable(found.path)}` is not there as it was sent",
            "see what else writes there, and repeat the command",
        )


def _type(mode: int) -> int:
    return stat.S_IFMT(mode)


def _emptied(deleted: list[str], here: Iterable[str]) -> list[str]:
    """Folders in which nothing is left, the deepest first."""
    kept = {above for name in here for above in _above(name)}
    return sorted({above for name in deleted for above in _above(name)} - kept, reverse=True)


def _above(name: str) -> list[str]:
    """The folders that a name is in.

    >>> _above("a/b/c")
    ['a', 'a/b']
    """
    return [name[:at] for at, letter in enumerate(name) if letter == "/"]
