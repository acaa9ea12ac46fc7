"""The files that a warm process has in memory, and whether they have changed since."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

_LOOK_SECONDS = 1.0
_PLUGINS = re.compile("ANSIBLE_(.*_PLUGINS|LIBRARY|MODULE_UTILS)")
"""Settings that name folders of plugins."""


class Files:
    """A snapshot of files."""

    def __init__(self, paths: Iterable[Path]) -> None:
        """Record every file below the paths."""
        self._paths = list(paths)
        self._found = fingerprint(self._paths)
        self._looked = time.monotonic()
        self._changed = False

    def changed(self) -> bool:
        """Whether a file has changed; checks at most once a second."""
        if not self._changed and time.monotonic() - self._looked > _LOOK_SECONDS:
            self._changed = fingerprint(self._paths) != self._found
            self._looked = time.monotonic()
        return self._changed


def watched_roles(watches: str) -> list[Path]:
    """The roles that the operator runs, from its watches.yaml; none if the file is missing."""
    import yaml  # noqa: PLC0415 - comes with Ansible; the package's tests have it, too

    try:
        entries = yaml.safe_load(Path(watches).read_text(encoding="utf-8")) or []
    except OSError:
        return []
    finalizers = [entry["finalizer"] for entry in entries if "finalizer" in entry]
    names = [entry["role"] for entry in [*entries, *finalizers] if entry.get("role")]
    return [Path(os.path.expandvars(name)) for name in dict.fromkeys(names)]


def sources(watches: str, roles: Iterable[Path], environment: Mapping[str, str]) -> list[Path]:
    """Every folder and file whose content a warm process may have in memory."""
    settings = [value for name, value in environment.items() if _PLUGINS.fullmatch(name)]
    plugins = [Path(path) for setting in settings for path in setting.split(":") if path]
    return [Path(watches), *roles, *plugins]


def fingerprint(paths: Iterable[Path]) -> frozenset[tuple[str, int, int]]:
    """Name, time and size of every file below the paths."""
    found = set()
    stack = [str(path) for path in paths]
    while stack:
        path = stack.pop()
        try:
            stat = os.stat(path)  # noqa: PTH116 - called very often
            if os.path.isdir(path):  # noqa: PTH112 - as above
                stack += [entry.path for entry in os.scandir(path) if entry.name != "__pycache__"]
            else:
                found.add((path, stat.st_mtime_ns, stat.st_size))
        except OSError:
            continue
    return frozenset(found)
