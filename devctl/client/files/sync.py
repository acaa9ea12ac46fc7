"""A folder here and one of a server, synced either way: only what has changed is moved."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from devctl.client.files import remote
from devctl.client.files.ignore import Rules, listed
from devctl.client.files.incoming import fetch, incoming, put_folder
from devctl.client.files.local import Beneath, entry, select
from devctl.client.files.names import Withheld, named, offered, parents, within_git
from devctl.client.files.record import Known, Record, same_content
from devctl.client.files.scripts import full
from devctl.client.files.transfer import amount, sent
from devctl.errors import DevctlError, UsageError
from devctl.text import readable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from devctl.client.files.local import Entry, Selection
    from devctl.client.files.remote import Found, Place
    from devctl.client.files.transfer import Progress

NEW, CHANGED, DELETED = "new", "changed", "deleted"
_FEW = 10
"""How many files here are deleted without asking."""


@dataclass(frozen=True)
class SyncOptions:
    """How a sync is done.

    Attributes:
        delete: Whether files of earlier syncs are deleted once the source has lost them.
        overwrite: Whether files are replaced that have changed on both sides.
        dry_run: Whether changes are only reported.
        secrets: Whether files that look like secrets are sent too.
        large: Whether files of more than 1 GiB are sent too.
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
    """What was done with a file: `new`, `changed` or `deleted`."""

    what: str
    path: str
    size: int = 0


@dataclass(frozen=True)
class Synced:
    """What a sync has done, or would have in a dry run.

    Attributes:
        target: Where: `lab-0:/home/dev/project`, or a folder here.
        secrets: Names that were left out because they look like secrets.
        left_out: What else was not taken, each with the reason.
        changed: Files that changed while they were read; the next sync takes them.
        word: What was done with files: `sent`, or `brought` here.
        git: What was left in a pod because it belongs to git repositories.
    """

    target: str
    changes: list[Change] = field(default_factory=list)
    secrets: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    dry_run: bool = False
    word: str = "sent"
    git: Withheld = field(default_factory=Withheld)

    @property
    def moved(self) -> list[Change]:
        """All changes but deletions."""
        return [change for change in self.changes if change.what != DELETED]

    @property
    def deleted(self) -> list[str]:
        """Names of deleted files."""
        return [change.path for change in self.changes if change.what == DELETED]

    def summary(self) -> str:
        """A line for people.

        >>> Synced("lab-0:/home/dev/a", [Change("new", "b", 5)]).summary()
        'lab-0:/home/dev/a: 1 file, 5 B sent'
        >>> Synced("lab-0:/home/dev/a").summary()
        'lab-0:/home/dev/a: nothing has changed'
        """
        done = []
        would = "would be " if self.dry_run else ""
        if moved := self.moved:
            files = sent(len(moved), sum(change.size for change in moved)).removesuffix("sent")
            done.append(f"{files}{would}{self.word}")
        if deleted := self.deleted:
            done.append(f"{len(deleted):,} {would}deleted")
        return f"{self.target}: {', '.join(done) or 'nothing has changed'}"


def _digests(
    place: Place, here: Mapping[str, Entry], there: Mapping[str, Found], record: Record
) -> dict[str, str]:
    """The digests of files there that only their content can tell from those here."""
    both = [name for name in here if name in there]
    return remote.digests(place, [n for n in both if record.doubtful(here[n], there[n])])


@dataclass(frozen=True)
class Push:
    """What is to be done in one place, which files are the same, and what is left out, and why."""

    place: Place
    record: Record
    selection: Selection
    changes: list[Change] = field(default_factory=list)
    same: dict[str, Found] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)


def choose(
    local: Path, options: SyncOptions, known: Callable[[Entry], bool] = lambda _entry: False
) -> Selection:
    """What is sent of a folder: what git would list; contents of `known` files are not read.

    UsageError if it is not a folder, DevctlError if something in it cannot be sent.
    """
    if not local.is_dir():
        raise UsageError(
            f"`{readable(str(local))}` is not a folder", "choose a folder; `cp` sends files"
        )
    root = local.resolve()
    return select(root, listed(root), secrets=options.secrets, large=options.large, known=known)


def plan(place: Place, selection: Selection, record: Record, options: SyncOptions) -> Push:
    """What has to be done in a place; DevctlError if it would replace what others have changed."""
    push, root = Push(place, record, selection), selection.root
    here = {found.path: found for found in selection.entries}
    gone = [
        name
        for name in (record.files if options.delete else ())
        if name not in here and not os.path.lexists(root / name)
    ]
    there = remote.look(place, [*here, *gone])
    digests = _digests(place, here, there, record)
    clashes = []
    for name, found in here.items():
        other = there.get(name)
        if other is None:
            push.changes.append(Change(NEW, name, found.size))
        elif record.same(root, found, other, digests):
            push.same[name] = other
        elif stat.S_ISDIR(other.mode) or stat.S_ISDIR(found.mode):
            raise DevctlError(
                f"`{place}`: `{readable(name)}` is a folder there and a file here, or vice versa;"
                " nothing was sent",
                "rename one of them",
            )
        else:
            # A link holds no data, and a program may differ in being executable alone.
            harmless = stat.S_ISLNK(other.mode) or same_content(root, found, digests)
            if not (options.overwrite or record.is_there(name, other) or harmless):
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
        elif record.is_there(name, there[name]) or options.overwrite:
            push.changes.append(Change(DELETED, name))
        else:
            push.left_out.append(f"`{readable(name)}`: it is gone here, but was changed there")
    return push


def check_room(todo: Push) -> None:
    """Raise DevctlError unless a volume has room for all files, as they arrive beside old ones."""
    coming = sum(change.size for change in todo.changes)
    free = remote.room(todo.place) if coming else None
    if free is not None and free < coming:
        raise full(todo.place, f"{amount(coming)} to send, {amount(free)} free")


def push(todo: Push, options: SyncOptions, progress: Progress | None = None) -> Synced:
    """Do what is planned, and record it; DevctlError, and no change, if the pod cannot take it."""
    place, selection, record = todo.place, todo.selection, todo.record
    done = Synced(
        str(place), todo.changes, selection.secrets, todo.left_out, dry_run=options.dry_run
    )
    if options.dry_run:
        return done
    here = {found.path: found for found in selection.entries}
    waiting, deleted = [here[change.path] for change in done.moved], done.deleted
    arrived: list[Entry] = []
    if waiting or deleted:
        lists = {"delete": deleted, "rmdir": _emptied(deleted, here)} if deleted else {}
        arrived, waiting = remote.send(place, selection.root, waiting, lists, progress=progress)
    there = remote.look(place, [found.path for found in arrived])
    for found in arrived:
        now = there.get(found.path)
        if now is None or not _as_sent(found, now):
            raise DevctlError(
                f"`{place}`: `{readable(found.path)}` is not there as it was sent",
                "find out what else writes there, and repeat the command",
            )
    for name in deleted:
        record.files.pop(name, None)
    times = {name: other.mtime for name, other in (there | todo.same).items()}
    record.files |= {
        found.path: Known(found.size, found.mode, found.changed, times[found.path])
        for found in (*arrived, *(here[name] for name in todo.same))
        if not stat.S_ISDIR(found.mode)
    }
    record.write()
    done.changed.extend(found.path for found in waiting)
    return done


def _as_sent(found: Entry, there: Found) -> bool:
    same_type = stat.S_IFMT(there.mode) == stat.S_IFMT(found.mode)
    return stat.S_ISDIR(found.mode) or (same_type and there.size == found.size)


def _emptied(deleted: list[str], here: Iterable[str]) -> list[str]:
    """Folders in which nothing is left, the deepest first."""
    kept = {above for name in here for above in parents(name)}
    return sorted({above for name in deleted for above in parents(name)} - kept, reverse=True)


def pull(
    place: Place, local: Path, options: SyncOptions, progress: Progress | None = None
) -> Synced:
    """Bring what belongs to a folder of a server here, by the rules of the folder here.

    Raises:
        DevctlError: Files have changed on both sides, or the pod sends what no well-behaved one
            does; nothing was changed.
    """
    root, shown = local.resolve(), readable(str(local))
    if local.exists() and not local.is_dir():
        raise UsageError(f"`{shown}` is not a folder", "choose a folder, new or existing")
    names, problems = remote.find(place)
    rules = Rules(root)

    def ignored(name: str) -> bool:
        if repository := within_git(name):
            # A repository in an ignored folder, such as `.venv`, is not worth mentioning.
            return rules.ignores(repository.rpartition("/")[0], folder=True)
        return rules.ignores(name)

    offer = offered((name for name in names if not ignored(name)), root)
    done = Synced(
        shown,
        left_out=problems + offer.left_out,
        dry_run=options.dry_run,
        word="brought",
        git=offer.git,
    )
    files = {
        name: found
        for name, found in remote.look(place, offer.names).items()
        if stat.S_ISREG(found.mode) or stat.S_ISLNK(found.mode)
    }
    todo = _Pull(place, root, options, Record.read(root, place), files, done)
    todo.compare()
    # What cannot be looked into is not gone.
    if options.delete and not problems:
        todo.find_gone(set(names))
    if not options.dry_run:
        todo.confirm_deletions()
        todo.bring(progress)
        todo.delete()
        todo.keep()
    return done


@dataclass
class _Pull:
    """A pull under way: `files` are those there that belong here, `done` takes the changes."""

    place: Place
    root: Path
    options: SyncOptions
    record: Record
    files: dict[str, Found]
    done: Synced
    here: dict[str, Entry] = field(default_factory=dict)
    same: list[str] = field(default_factory=list)

    def compare(self) -> None:
        """Find what is new or has changed."""
        for name in self.files:
            if os.path.lexists(self.root / name):
                self.here[name] = entry(self.root, name)
        digests = _digests(self.place, self.here, self.files, self.record)
        clashes = []
        for name, other in self.files.items():
            found = self.here.get(name)
            if found is None:
                self.done.changes.append(Change(NEW, name, other.size))
            elif self.record.same(self.root, found, other, digests):
                self.same.append(name)
            else:
                ours = self.options.overwrite or self.record.is_here(found)
                if not (ours or same_content(self.root, found, digests)):
                    clashes.append(name)
                self.done.changes.append(Change(CHANGED, name, other.size))
        if clashes:
            raise DevctlError(
                f"{named(clashes)} was changed here, and differs from what is in `{self.place}`;"
                " nothing here was changed",
                "send yours with `devctl sync`, or replace it here with --overwrite",
            )

    def find_gone(self, there: set[str]) -> None:
        """Find what is gone there; deletions come first, so that people see them."""
        deletions = []
        for name in [name for name in self.record.files if name not in there]:
            if not os.path.lexists(self.root / name):
                self.record.files.pop(name)
                continue
            found = entry(self.root, name)
            if self.record.is_here(found) or self.options.overwrite:
                self.here[name] = found
                deletions.append(Change(DELETED, name))
            else:
                self.done.left_out.append(
                    f"`{readable(name)}`: it is gone there, but was changed here"
                )
        self.done.changes[:0] = deletions

    def confirm_deletions(self) -> None:
        """Ask before many files here are deleted, or all that are known."""
        going = self.done.deleted
        if not going:
            return
        others = self.record.files.keys() - going
        all_go = not any(os.path.lexists(self.root / name) for name in others)
        if (len(going) > _FEW or all_go) and not self.options.may_delete(going):
            raise UsageError(
                f"{len(going):,} {'file' if len(going) == 1 else 'files'} here would be deleted:"
                f" {named(going)}; nothing here was changed",
                "repeat it with --yes if that is right, else without --delete; --dry-run shows all",
            )

    def bring(self, progress: Progress | None) -> None:
        """Fetch what is new or has changed."""
        sizes = {change.path: self.files[change.path].size for change in self.done.moved}
        if not sizes:
            return
        self.root.mkdir(parents=True, exist_ok=True)
        with incoming(self.root) as arrived:
            unpacking, said = fetch(self.place, sizes, arrived, progress)
            put_folder(
                arrived,
                self.root,
                unpacking,
                may_replace=self._unchanged,
                fix="it was written to meanwhile: repeat the command",
            )
        self.done.left_out.extend(said + unpacking.left_out)
        # It has gone, cannot be read, or was not taken.
        missing = sizes.keys() - unpacking.files
        told = "\n".join(self.done.left_out)
        self.done.left_out.extend(
            f"`{readable(name)}`: it was not sent"
            for name in sorted(missing)
            if readable(name) not in told
        )
        self.done.changes[:] = [each for each in self.done.changes if each.path not in missing]

    def delete(self) -> None:
        """Delete what is gone there, and has not been written to since it was looked at."""
        if not self.done.deleted:
            return
        with Beneath(self.root) as here:
            for name in self.done.deleted:
                now = here.stat(name)
                if now is not None and self._unchanged(name, now):
                    here.remove(name)

    def _unchanged(self, name: str, now: os.stat_result) -> bool:
        before = self.here.get(name)
        state = (now.st_size, now.st_mtime_ns, now.st_mode)
        return before is not None and (before.size, before.changed, before.mode) == state

    def keep(self) -> None:
        """Record the new state of both sides."""
        for name in self.done.deleted:
            self.record.files.pop(name, None)
        for name in (*(change.path for change in self.done.moved), *self.same):
            other = self.files[name]
            try:
                found = entry(self.root, name)
            except DevctlError:
                continue
            if found.size == other.size:
                self.record.files[name] = Known(found.size, found.mode, found.changed, other.mtime)
        self.record.write()
