"""A folder of a server, brought here: what has changed. The pod is not trusted."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from devctl.client.files import remote
from devctl.client.files.amounts import expect
from devctl.client.files.arrive import incoming, room
from devctl.client.files.beneath import beneath
from devctl.client.files.compare import doubtful, same, same_content
from devctl.client.files.dotgit import Withheld, within_git
from devctl.client.files.ignore import Rules
from devctl.client.files.local import entry
from devctl.client.files.names import named, readable
from devctl.client.files.offered import offered
from devctl.client.files.put import put_folder
from devctl.client.files.record import Known, Record
from devctl.client.files.synced import CHANGED, DELETED, NEW, Change, Synced
from devctl.client.files.unpack import MEMBERS, Unpacking, enough
from devctl.errors import DevctlError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from devctl.client.files.local import Entry
    from devctl.client.files.remote import Found, Place
    from devctl.client.files.synced import SyncOptions

_FEW = 10
"""How many files here are deleted without a question."""


@dataclass
class _Plan:
    """What is to be done here, and what is the same already."""

    changes: list[Change] = field(default_factory=list)
    here: dict[str, Entry] = field(default_factory=dict)
    same: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    git: Withheld = field(default_factory=Withheld)


def pull(
    place: Place,
    local: Path,
    options: SyncOptions,
    progress: Callable[[int], None] | None = None,
) -> Synced:
    """Bring what belongs to a folder of a server here, by the rules of the folder here.

    Raises:
        DevctlError: Files have changed on both sides, or the pod sends what no honest one does; all
            is as it was.
    """
    if local.exists() and not local.is_dir():
        raise UsageError(f"`{readable(str(local))}` is not a folder", "name a folder, there or not")
    root = local.resolve()
    record = Record.read(root, place)
    names, problems = remote.find(place)
    plan = _Plan(left_out=problems)
    files, there = _wanted(place, root, names, plan)
    _compare(place, root, files, record, options, plan)
    if options.delete and not problems:
        _find_gone(root, there, record, options, plan)
        # First of all a person is to see what goes.
        plan.changes.sort(key=lambda change: change.what != DELETED)
    shown = readable(str(local))
    done = Synced(
        shown,
        plan.changes,
        left_out=plan.left_out,
        dry_run=options.dry_run,
        word="brought",
        git=plan.git,
    )
    if options.dry_run:
        return done
    _see_few_go(root, record, options, plan)
    _bring(place, root, files, plan, done, progress)
    _keep(root, files, done, plan, record)
    record.write()
    return done


def _wanted(
    place: Place, root: Path, names: list[str], plan: _Plan
) -> tuple[dict[str, Found], set[str]]:
    """The files and links that belong here, and all names that are there."""
    if len(names) > MEMBERS:
        raise DevctlError(f"`{place}` holds more than {MEMBERS:,} files", "name a folder in it")
    rules = Rules(root)

    def ignored(name: str) -> bool:
        if repository := within_git(name):
            # One in what is ignored, such as `.venv`, is nothing to tell of.
            return rules.ignores(repository.rpartition("/")[0], folder=True)
        return rules.ignores(name)

    offer = offered((name for name in names if not ignored(name)), root)
    plan.left_out += offer.left_out
    plan.git = offer.git
    found = remote.look(place, offer.names)
    files = {
        name: what
        for name, what in found.items()
        if stat.S_ISREG(what.mode) or stat.S_ISLNK(what.mode)
    }
    return files, set(names)


def _compare(  # noqa: PLR0913, PLR0917 - two sides, and what is known of them
    place: Place,
    root: Path,
    files: dict[str, Found],
    record: Record,
    options: SyncOptions,
    plan: _Plan,
) -> None:
    for name in files:
        if os.path.lexists(root / name):
            plan.here[name] = entry(root, name)
    unclear = [
        name
        for name, found in plan.here.items()
        if doubtful(found, files[name], record.files.get(name))
    ]
    digests = remote.digests(place, unclear)
    clashes = []
    for name, other in files.items():
        found, known = plan.here.get(name), record.files.get(name)
        if found is None:
            plan.changes.append(Change(NEW, name, other.size))
        elif same(root, found, other, known, digests):
            plan.same.append(name)
        else:
            ours = known is not None and known.is_here(found)
            if not (ours or options.overwrite or same_content(root, found, digests)):
                clashes.append(name)
            plan.changes.append(Change(CHANGED, name, other.size))
    if clashes:
        raise DevctlError(
            f"{named(clashes)} was changed here, and differs from what is in `{place}`; nothing"
            " here was changed",
            "send yours with `devctl sync`, or replace it here with --overwrite",
        )


def _find_gone(
    root: Path, there: set[str], record: Record, options: SyncOptions, plan: _Plan
) -> None:
    for name, known in list(record.files.items()):
        if name in there:
            continue
        if not os.path.lexists(root / name):
            record.files.pop(name)
        elif known.is_here(entry(root, name)) or options.overwrite:
            plan.here[name] = entry(root, name)
            plan.changes.append(Change(DELETED, name))
        else:
            plan.left_out.append(f"`{readable(name)}`: it is gone there, but was changed here")


def _see_few_go(root: Path, record: Record, options: SyncOptions, plan: _Plan) -> None:
    """See that a person has agreed where many files here are deleted, or all that are known."""
    going = [change.path for change in plan.changes if change.what == DELETED]
    if not going:
        return
    others = record.files.keys() - going
    all_go = not any(os.path.lexists(root / name) for name in others)
    if (len(going) > _FEW or all_go) and not options.may_delete(going):
        raise UsageError(
            f"{len(going):,} {'file' if len(going) == 1 else 'files'} here would be deleted:"
            f" {named(going)}; nothing here was changed",
            "repeat it with --yes if that is right, else without --delete; --dry-run shows all",
        )


def _bring(  # noqa: PLR0913, PLR0917 - from where, to where, and what
    place: Place,
    root: Path,
    files: dict[str, Found],
    plan: _Plan,
    done: Synced,
    progress: Callable[[int], None] | None,
) -> None:
    wanted = [change.path for change in plan.changes if change.what != DELETED]
    if wanted:
        root.mkdir(parents=True, exist_ok=True)
        space = room(root)
        enough(space, sum(files[name].size for name in wanted))
        expect(progress, (files[name].size for name in wanted))
        with incoming(root) as arrived:
            unpacking = Unpacking(arrived, space, frozenset(wanted), progress)
            done.left_out.extend(remote.fetch(place, wanted, unpacking.take))

            def may_replace(name: str, now: os.stat_result) -> bool:
                before = plan.here.get(name)
                return before is not None and _as(before, now)

            fix = "it was written to meanwhile: repeat the command"
            put_folder(arrived, root, unpacking, may_replace=may_replace, fix=fix)
        done.left_out.extend(unpacking.left_out)
        _drop(done, set(wanted) - set(unpacking.files))
    deleted = [change.path for change in plan.changes if change.what == DELETED]
    if deleted:
        with beneath(root) as here:
            for name in deleted:
                now = here.stat(name)
                if now is not None and _as(plan.here[name], now):
                    here.remove(name)


def _drop(done: Synced, missing: Iterable[str]) -> None:
    """Take from what was done what was not: it has gone, or cannot be read, or is not taken."""
    missing = set(missing)
    told = "\n".join(done.left_out)
    for name in sorted(missing):
        if readable(name) not in told:
            done.left_out.append(f"`{readable(name)}`: it was not sent")
    done.changes[:] = [change for change in done.changes if change.path not in missing]


def _as(before: Entry, now: os.stat_result) -> bool:
    return (before.size, before.changed, before.mode) == (now.st_size, now.st_mtime_ns, now.st_mode)


def _keep(root: Path, files: dict[str, Found], done: Synced, plan: _Plan, record: Record) -> None:
    """Write down what both sides are like now."""
    for change in done.changes:
        if change.what == DELETED:
            record.files.pop(change.path, None)
    brought = [change.path for change in done.changes if change.what != DELETED]
    for name in (*brought, *plan.same):
        other = files[name]
        try:
            found = entry(root, name)
        except DevctlError:
            continue
        if found.size == other.size:
            record.files[name] = Known(found.size, found.mode, found.changed, other.mtime)
