"""An earlier release, out of the repository's history, with operator and observer as processes."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from support.plane import content

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from support.plane.parts import ObserverProcess, OperatorProcess
    from support.plane.plane import Plane

EARLIER = "ae97d6322966346402ab1721df59f1141d9913ef"
"""The last commit before the observer had a package per kind: jobs had no owners yet."""
_ROLE = re.compile(r'role="([^"]+)"')


def check_out(commit: str, folder: Path) -> Path:
    """The files of a commit, in a folder that is made for them."""
    folder.mkdir()
    git = ["git", "-C", str(REPOSITORY)]
    known = subprocess.run([*git, "cat-file", "-e", commit], check=False, capture_output=True)
    if known.returncode:
        # A clone without its history.
        fetch = [*git, "fetch", "--quiet", "--depth=1", "origin", commit]
        subprocess.run(fetch, check=True)
    archive = subprocess.run(
        [*git, "archive", "--format=tar", commit], check=True, capture_output=True
    ).stdout
    subprocess.run(["tar", "-x", "-C", folder], check=True, input=archive)
    return folder


@contextmanager
def installed(plane: Plane, checkout: Path) -> Iterator[None]:
    """Another release is installed, and no operator runs; in the end, all is as it was.

    What this checkout has in addition is deleted first: nothing of the other release would.
    """
    program = plane.kubectl.program
    here, there = (content.configuration(program, checkout=each) for each in (REPOSITORY, checkout))
    plane.operator.stop()
    plane.observer.stop()
    if here != there:
        known = set(map(_identity, there))
        newer = [thing for thing in here if _identity(thing) not in known]
        listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": newer})
        plane.kubectl("delete", "--ignore-not-found", "-f", "-", input=listed)
        plane.install(checkout)
    yield
    if here != there:
        plane.install()
    plane.observer.start()
    plane.operator.start()


def _identity(thing: dict[str, Any]) -> tuple[str, ...]:
    meta = thing["metadata"]
    group = thing["apiVersion"].rpartition("/")[0]
    return group, thing["kind"], meta.get("namespace", ""), meta["name"]


@contextmanager
def at_work(
    operator: OperatorProcess, observer: ObserverProcess, runs: Mapping[str, int] | None = None
) -> Iterator[None]:
    """Both run, and have handled every object; they end in order.

    Args:
        operator: Starts after the observer.
        observer: Of the same release.
        runs: The number of objects of each role, which an operator runs for all of them when it
            starts.
    """
    wanted = Counter(runs or {})

    def handled() -> bool:
        figures = operator.runs()
        return _ended(figures) >= wanted and not (figures["queue"] or figures["running"])

    try:
        observer.start()
        operator.start()
        operator.runner.await_so(handled, f"all objects are handled: {dict(wanted)}", 120)
        yield
    finally:
        operator.stop()
        observer.stop()


def _ended(figures: Mapping[str, float]) -> Counter[str]:
    """The runs that have ended, by role."""
    found: Counter[str] = Counter()
    for name, count in figures.items():
        if name.startswith("runs_total{") and (role := _ROLE.search(name)):
            found[role[1]] += int(count)
    return found
