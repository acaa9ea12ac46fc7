"""This project with two kinds more, made as `make new-kind` makes them: one of either scope."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from devctl.api.labels import GROUP
from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

PARTS = ("config", "devctl", "images", "plugins", "roles", "scripts", "tests")
FILES = ("pyproject.toml", "watches.yaml", ".yamllint", ".ansible-lint")
KINDS = {"Widget": ("widgets.example.com", "Namespaced"), "WidgetPool": (GROUP, "Cluster")}
MODULES = ("widget", "widget_pool")


def make(project: Path, kind: str, group: str, scope: str = "Namespaced", plural: str = "") -> str:
    """Make a kind in a project; what the script says against it, if anything."""
    names = {"kind": kind, "group": group, "scope": scope, "version": "v1", "plural": plural}
    options = [f"--{name}={value}" for name, value in names.items()]
    command = [sys.executable, str(project / "scripts/new_kind.py"), *options]
    return subprocess.run(command, check=False, capture_output=True, text=True).stderr


def project_with_kinds(folder: Path) -> Path:
    """A copy of the project, in a folder that is made for it, with both kinds."""
    folder.mkdir()
    for part in PARTS:
        shutil.copytree(
            REPOSITORY / part, folder / part, ignore=shutil.ignore_patterns("__pycache__")
        )
    for file in FILES:
        shutil.copy(REPOSITORY / file, folder)
    for kind, (group, scope) in KINDS.items():
        said = make(folder, kind, group, scope)
        assert not said, said
    return folder


def made_files(project: Path) -> list[str]:
    """What was made, by its path in the project."""
    stems = (*MODULES, *(kind.lower() for kind in KINDS))
    found = (path.relative_to(project) for path in project.rglob("*") if path.is_file())
    return sorted(
        str(path)
        for path in found
        if any(part.removeprefix("test_").partition(".")[0] in stems for part in path.parts)
    )
