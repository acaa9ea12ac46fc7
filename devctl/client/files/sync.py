"""A folder here and one of a server, synced either way: only what has changed is moved."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from devctl.client.files import remote
from devctl.client.files.ignore import Rules, listed
from devctl.client.files.incoming import fetch, incoming, put_folder
from devctl.client.files.local import Beneath, entry, file_digest, select
from devctl.client.files.names import Withheld, named, offered, parents, within_git
from devctl.client.files.record import Known, Record, runs_differently
from devctl.client.files.scripts import full
from devctl.client.files.transfer import amount, total
from devctl.errors import DevctlError, UsageError
from devctl.text import readable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
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
            files = total(len(moved), sum(change.size for change in moved))
            done.append(f"{files} {would}{self.word}")
        if deleted := self.deleted:
            done.append(f"{len(deleted):,} {would}deleted")
        return f"{self.target}: {', '.join(done) or 'nothing has changed'}"


@dataclass
class Plan:
    """A sync of two folders: the files on both sides, which are the same, and what is to be done.

    `here` and `there` also hold what may be deleted, if it exists. `back` is from there to here.
    """

    place: Place
    root: Path
    options: SyncOptions
    record: Record
    here: dict[str, Entry]
    there: dict[str, Found]
    done: Synced
    back: bool
    same: list[str] = field(default_factory=list)

    def _may_replace(self, name: str) -> bool:
        """Whether the target's file may be replaced: it is as the last sync left it."""
        if self.options.overwrite:
            return True
        if self.back:
            return self.record.is_here(self.here[name])
        return self.record.is_there(name, self.there[name])

    def compare(self) -> list[str]:
        """Find what is new or has changed in the source; returns what others have changed, too."""
        source, target = (self.there, self.here) if self.back else (self.here, self.there)
        known = {
            name: self.record.same(self.here[name], self.there[name])
            for name in source
            if name in target
        }
        digests = remote.digests(self.place, [name for name, same in known.items() if same is None])
        clashes = []
        for name, found in source.items():
            if name not in target:
                self.done.changes.append(Change(NEW, name, found.size))
                continue
            content = name in digests and digests[name] == file_digest(self.root / name)
            if known[name] or (content and not runs_differently(self.here[name], self.there[name])):
                self.same.append(name)
                continue
            # A link holds no data, and a program may differ in being executable alone.
            harmless = content or (not self.back and stat.S_ISLNK(self.there[name].mode))
            if not (harmless or self._may_replace(name)):
                clashes.append(name)
            self.done.changes.append(Change(CHANGED, name, found.size))
        return clashes

    def deletions(self, gone: Iterable[str]) -> Iterator[Change]:
        """What the target has yet of files that are gone from the source."""
        where, other = ("there", "here") if self.back else ("here", "there")
        for name in gone:
            if name not in (self.here if self.back else self.there):
                self.record.files.pop(name)
            elif self._may_replace(name):
                yield Change(DELETED, name)
            else:
                self.done.left_out.append(
                    f"`{readable(name)}`: it is gone {where}, but was changed {other}"
                )


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


def plan(place: Place, selection: Selection, record: Record, options: SyncOptions) -> Plan:
    """What has to be done in a place; DevctlError if it would replace what others have changed."""
    root, here = selection.root, {found.path: found for found in selection.entries}
    gone = [
        name
        for name in (record.files if options.delete else ())
        if name not in here and not os.path.lexists(root / name)
    ]
    there = remote.look(place, [*here, *gone])
    for name, found in here.items():
        if name in there and stat.S_ISDIR(found.mode) != stat.S_ISDIR(there[name].mode):
            raise DevctlError(
                f"`{place}`: `{readable(name)}` is a folder there and a file here, or vice versa;"
                " nothing was sent",
                "rename one of them",
            )
    done = Synced(str(place), secrets=selection.secrets, dry_run=options.dry_run)
    todo = Plan(place, root, options, record, here, there, done, back=False)
    if clashes := todo.compare():
        raise DevctlError(
            f"`{place}`: {named(clashes)} was changed there, and differs from yours; nothing was"
            " sent",
            "fetch it with `devctl sync --from`, or replace it there with --overwrite",
        )
    done.changes.extend(todo.deletions(gone))
    return todo


def check_room(todo: Plan) -> None:
    """Raise DevctlError unless a volume has room for all files, as they arrive beside old ones."""
    coming = sum(change.size for change in todo.done.changes)
    free = remote.room(todo.place) if coming else None
    if free is not None and free < coming:
        raise full(todo.place, f"{amount(coming)} to send, {amount(free)} free")


def push(todo: Plan, progress: Progress | None = None) -> Synced:
    """Do what is planned, and record it; DevctlError, and no change, if the pod cannot take it."""
    place, here, record, done = todo.place, todo.here, todo.record, todo.done
    if done.dry_run:
        return done
    waiting, deleted = [here[change.path] for change in done.moved], done.deleted
    arrived: list[Entry] = []
    if waiting or deleted:
        lists = {"delete": deleted, "rmdir": _emptied(deleted, here)} if deleted else {}
        arrived, waiting = remote.send(place, todo.root, waiting, lists, progress=progress)
    there = remote.look(place, [found.path for found in arrived])
    for found in arrived:
        now = there.get(found.path)
        kind, size = stat.S_IFMT(found.mode), found.size
        sent = now and (stat.S_ISDIR(kind) or (stat.S_IFMT(now.mode), now.size) == (kind, size))
        if not sent:
            raise DevctlError(
                f"`{place}`: `{readable(found.path)}` is not there as it was sent",
                "find out what else writes there, and repeat the command",
            )
    for name in deleted:
        record.files.pop(name, None)
    there = todo.there | there
    record.files |= {
        found.path: Known(found.size, found.mode, found.changed, there[found.path].mtime)
        for found in (*arrived, *(here[name] for name in todo.same))
        if not stat.S_ISDIR(found.mode)
    }
    record.write()
    done.changed.extend(found.path for found in waiting)
    return done


def _emptied(deleted: list[str], here: Iterable[str]) -> list[str]:
    """Folders in which nothing is left, the deepest first."""
    kept = {above for name in here for above in parents(name)}
    return sorted({above for name in deleted for above in parents(name)} - kept, reverse=True)


def pull(
    place: Place, local: Path, options: SyncOptions, progress: Progress | None = None
) -> Synced:
    """Bring what belongs to a folder of a server here, by the rules of the folder here.

    DevctlError, and no change, if files have changed on both sides, or the pod sends what no
    well-behaved one does.
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
    record, here = Record.read(root, place), _existing(root, files)
    todo = Plan(place, root, options, record, here, files, done, back=True)
    if clashes := todo.compare():
        raise DevctlError(
            f"{named(clashes)} was changed here, and differs from what is in `{place}`;"
            " nothing here was changed",
            "send yours with `devctl sync`, or replace it here with --overwrite",
        )
    # What cannot be looked into is not gone.
    if options.delete and not problems:
        present = set(names)
        gone = [name for name in record.files if name not in present]
        here |= _existing(root, gone)
        # They come first, so that people see them.
        done.changes[:0] = todo.deletions(gone)
    if not options.dry_run:
        _confirm_deletions(todo)
        _bring(todo, progress)
        _delete(todo)
        _keep(todo)
    return done


def _existing(root: Path, names: Iterable[str]) -> dict[str, Entry]:
    return {name: entry(root, name) for name in names if os.path.lexists(root / name)}


def _confirm_deletions(todo: Plan) -> None:
    """Ask before many files here are deleted, or all that are known."""
    going = todo.done.deleted
    others = todo.record.files.keys() - going
    all_go = not any(os.path.lexists(todo.root / name) for name in others)
    if going and (len(going) > _FEW or all_go) and not todo.options.may_delete(going):
        raise UsageError(
            f"{len(going):,} {'file' if len(going) == 1 else 'files'} here would be deleted:"
            f" {named(going)}; nothing here was changed",
            "repeat it with --yes if that is right, else without --delete; --dry-run shows all",
        )


def _bring(todo: Plan, progress: Progress | None) -> None:
    """Fetch what is new or has changed."""
    done = todo.done
    sizes = {change.path: change.size for change in done.moved}
    if not sizes:
        return
    todo.root.mkdir(parents=True, exist_ok=True)
    with incoming(todo.root) as arrived:
        unpacking, said = fetch(todo.place, sizes, arrived, progress)
        put_folder(
            arrived,
            todo.root,
            unpacking,
            may_replace=lambda name, now: _unchanged(todo, name, now),
            fix="it was written to meanwhile: repeat the command",
        )
    done.left_out.extend(said + unpacking.left_out)
    # It has gone, cannot be read, or was not taken.
    missing = sizes.keys() - unpacking.files
    told = "\n".join(done.left_out)
    done.left_out.extend(
        f"`{readable(name)}`: it was not sent"
        for name in sorted(missing)
        if readable(name) not in told
    )
    done.changes[:] = [each for each in done.changes if each.path not in missing]


def _delete(todo: Plan) -> None:
    """Delete what is gone there, and has not been written to since it was looked at."""
    if todo.done.deleted:
        with Beneath(todo.root) as here:
            for name in todo.done.deleted:
                now = here.stat(name)
                if now is not None and _unchanged(todo, name, now):
                    here.remove(name)


def _unchanged(todo: Plan, name: str, now: os.stat_result) -> bool:
    before = todo.here.get(name)
    state = (now.st_size, now.st_mtime_ns, now.st_mode)
    return before is not None and (before.size, before.changed, before.mode) == state


def _keep(todo: Plan) -> None:
    """Record the new state of both sides."""
    for name in todo.done.deleted:
        todo.record.files.pop(name, None)
    for name in (*(change.path for change in todo.done.moved), *todo.same):
        other = todo.there[name]
        try:
            found = entry(todo.root, name)
        except DevctlError:
            continue
        if found.size == other.size:
            todo.record.files[name] = Known(found.size, found.mode, found.changed, other.mtime)
    todo.record.write()
