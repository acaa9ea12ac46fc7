from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from devctl_runner.daemon.files import Files, fingerprint, sources, watched_roles
from devctl_runner.runs.request import Run
from devctl_runner.runs.serve import prepare

if TYPE_CHECKING:
    import pytest


def test_the_operators_watches_say_which_roles_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROLES", "/r")
    watches = tmp_path / "watches.yaml"
    entries = [
        {"kind": "A", "role": "${ROLES}/a", "finalizer": {"role": "/r/f"}},
        {"kind": "B", "playbook": "/p"},
        {"kind": "C", "role": "/r/f"},
    ]
    watches.write_text(json.dumps(entries))

    assert watched_roles(str(watches)) == [Path("/r/a"), Path("/r/f")]
    assert watched_roles(str(tmp_path / "none")) == []


def test_plugins_count_as_sources() -> None:
    environment = {
        "ANSIBLE_ACTION_PLUGINS": "/p/a:/p/b",
        "ANSIBLE_LIBRARY": "/m",
        "ANSIBLE_HOME": "/h",
        "PATH": "/bin",
    }
    found = sources("/w", [Path("/r")], environment)
    assert found == [Path("/w"), Path("/r"), Path("/p/a"), Path("/p/b"), Path("/m")]


def test_every_change_of_a_file_changes_the_fingerprint(tmp_path: Path) -> None:
    def look() -> frozenset[tuple[str, int, int]]:
        return fingerprint([tmp_path, tmp_path / "missing"])

    (tmp_path / "tasks").mkdir()
    seen = {look()}
    file = tmp_path / "tasks/main.yml"
    file.write_text("one")
    seen.add(look())
    file.write_text("three")
    seen.add(look())
    os.utime(file, ns=(1, 1))
    seen.add(look())
    file.rename(tmp_path / "tasks/other.yml")
    seen.add(look())
    assert len(seen) == 5

    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__/x.pyc").touch()
    assert look() in seen


def test_files_are_looked_at_once_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    found = Files([tmp_path])
    (tmp_path / "new").touch()

    assert not found.changed()
    now = 1.5
    assert found.changed()
    (tmp_path / "new").unlink()
    assert found.changed()  # a change is never forgotten


def test_only_the_newest_artifacts_stay(tmp_path: Path) -> None:
    for number in range(5):
        folder = tmp_path / "artifacts" / f"{number}"
        folder.mkdir(parents=True)
        os.utime(folder, ns=(number, number))
    (tmp_path / "artifacts/latest").symlink_to("0")

    prepare(Run(tmp_path, "new", keep=3))

    names = sorted(path.name for path in (tmp_path / "artifacts").iterdir())
    assert names == ["3", "4", "latest", "new"]


def test_no_limit_keeps_all(tmp_path: Path) -> None:
    for ident in "abc":
        prepare(Run(tmp_path, ident, keep=0))

    assert len(list((tmp_path / "artifacts").iterdir())) == 3
