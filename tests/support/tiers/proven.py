"""Identifies all that a deep module depends on: what has passed with the same is proven."""

from __future__ import annotations

import hashlib
import platform
import sys
from typing import TYPE_CHECKING

from support.tiers.choose import concerns_all
from support.tiers.deep import matches
from support.tiers.one import tracked

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from support.tiers.deep import Plan


class Inputs:
    """What deep modules depend on while a run goes on.

    Args:
        plan: The deep modules.
        reach: The files that each imports, itself or through its rooms.

    Attributes:
        before: A digest for each module when the run began, by its id.
    """

    def __init__(self, plan: Plan, reach: Mapping[str, AbstractSet[str]]) -> None:
        """Read all files once."""
        self._plan, self._reach = plan, reach
        self.before = self._now()

    def unchanged(self) -> dict[str, str]:
        """The digests of modules none of whose files was edited meanwhile."""
        now = self._now()
        return {name: digest for name, digest in self.before.items() if now[name] == digest}

    def _now(self) -> dict[str, str]:
        return inputs(self._plan, self._reach, contents(tracked(["."])))


def contents(paths: Iterable[str], repository: Path = REPOSITORY) -> dict[str, str]:
    """A digest of each file that exists, by its path."""
    files = ((path, repository / path) for path in paths)
    return {
        path: f"{file.stat().st_mode:o} {hashlib.sha256(file.read_bytes()).hexdigest()}"
        for path, file in files
        if file.is_file()
    }


def inputs(
    plan: Plan, reach: Mapping[str, AbstractSet[str]], files: Mapping[str, str]
) -> dict[str, str]:
    """A digest of what each deep module depends on, by its id.

    It covers each file on which the module's outcome may depend, the kernel and this Python; not
    the files of the chooser, whose change has everything run all the same.

    Args:
        plan: The deep modules.
        reach: The files that each imports, itself or through its rooms.
        files: A digest of each file, by its path.
    """
    common = {file for file in files if concerns_all(plan, reach, file)}
    rooms = {
        name: {file for file in files if matches(file, patterns)}
        for name, patterns in plan.rooms.items()
    }
    found = {}
    for module in plan.modules:
        own = common.union(reach.get(module.id, ()), *(rooms[name] for name in module.rooms))
        lines = [f"{platform.release()} {sys.version}"]
        lines += [f"{file} {files.get(file, 'missing')}" for file in sorted(own)]
        found[module.id] = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return found
