"""Which folder goes along with a script."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from devctl.client.runs.command import Kind, local_command, local_script
from devctl.client.runs.project import find_project
from devctl.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


def repository(folder: Path, *scripts: str) -> Path:
    for script in scripts:
        (folder / script).parent.mkdir(parents=True, exist_ok=True)
        (folder / script).touch()
    subprocess.run(["git", "init", "-q", folder], check=True)
    return folder


def test_a_script_anywhere_in_a_repository_takes_it_along(tmp_path: Path) -> None:
    root = repository(tmp_path / "vision", "tools/a/train.py")
    found = local_script(str(root / "tools/a/train.py"))
    assert found[:3] == ("tools/a/train.py", "vision", root)
    assert found.imports == ("",)
    found = local_script(str(root / "tools/a/train.py"), str(root / "tools"))
    assert found[:3] == ("a/train.py", "tools", root / "tools")


def test_without_a_repository_it_is_the_scripts_folder(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain/train.py").touch()
    found = local_script(str(tmp_path / "plain/train.py"))
    assert (found.name, found.folder, found.imports) == ("train.py", "plain", ())


def test_a_link_to_a_repository_keeps_its_name(tmp_path: Path) -> None:
    root = repository(tmp_path / "x1234", "scripts/train.py")
    (tmp_path / "vision").symlink_to(root)
    (tmp_path / "train").symlink_to(root / "scripts")
    found = local_script(str(tmp_path / "vision/scripts/train.py"))
    assert found[:3] == ("scripts/train.py", "vision", tmp_path / "vision")
    found = local_script(str(tmp_path / "train/train.py"))
    assert found[:3] == ("scripts/train.py", "x1234", root)


def test_a_home_that_is_a_repository_is_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    repository(tmp_path, "vision/train.py", "train.py")
    assert local_script(str(tmp_path / "vision/train.py")).local == tmp_path / "vision"
    with pytest.raises(UsageError, match="is not a project"):
        local_script(str(tmp_path / "train.py"))


def test_a_script_that_would_stay_here_is_told(tmp_path: Path) -> None:
    root = repository(tmp_path / "vision", "scratch/train.py")
    (root / ".gitignore").write_text("scratch/\n")
    with pytest.raises(UsageError, match="would stay here") as raised:
        local_script(str(root / "scratch/train.py"))
    assert "--workdir" in raised.value.fix
    found = local_script(str(root / "scratch/train.py"), str(root / "scratch"))
    assert found[:2] == ("train.py", "scratch")


@pytest.mark.parametrize(
    ("files", "imports"),
    [
        (["src/a/__init__.py"], ("src",)),
        (["src/a/b.py", "pyproject.toml"], ("src",)),
        (["src/a/b.py"], ()),
        (["src/types.py"], ()),
        (["src/__init__.py", "src/a/__init__.py", "setup.py"], ()),
        (["a/__init__.py"], ()),
    ],
)
def test_sources_are_where_an_installed_project_has_them(
    files: list[str], imports: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = repository(tmp_path / "vision", *files)
    assert find_project(root / "src" if (root / "src").is_dir() else root).imports == imports
    monkeypatch.chdir(root)
    assert local_command(Kind.MODULE, "a.b").imports == imports
    assert local_command(Kind.COMMAND, "make").imports == ()
