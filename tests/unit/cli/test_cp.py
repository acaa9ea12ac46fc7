"""`devctl cp`, with pods that are folders here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from unit.cli.file_things import lab
from unit.client.pods import tree

if TYPE_CHECKING:
    from pathlib import Path

    from unit.cli.conftest import Devctl
    from unit.cli.file_things import Homes

__all__ = ["lab"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_a_file_goes_and_comes_back(devctl: Devctl, lab: Homes, here: Path) -> None:
    (here / "a.txt").write_text("x" * 34_000)
    found = devctl("cp", "a.txt", "lab.1:data/")
    assert (found.code, found.stderr) == (0, "")
    assert found.stdout == "lab-1:/home/dev/data/a.txt: 1 file, 34 KB\n"
    assert tree(lab.home(0)) == {}
    found = devctl("cp", "lab.1:data/a.txt", "b.txt")
    assert found.stdout == "b.txt: 1 file, 34 KB\n"
    assert tree(here)["b.txt"] == tree(here)["a.txt"]


def test_a_folder_with_secrets(devctl: Devctl, lab: Homes, here: Path) -> None:
    (here / "data").mkdir()
    (here / "data" / ".env").write_text("x")
    (here / "data" / "a").write_text("x")
    found = devctl("cp", "data", "lab:")
    assert found.code == 0
    assert "left out, as they look like secrets: `.env`" in found.stderr
    assert tree(lab.home(0)) == {"data/a": b"x"}
    assert devctl("cp", "data", "lab:", "--include-secrets").code == 0
    assert sorted(tree(lab.home(0))) == ["data/.env", "data/a"]


def test_names_are_never_shell_text(devctl: Devctl, lab: Homes, here: Path) -> None:
    name = "; touch evil $(touch evil) `touch evil` 'x \"y"
    (here / name).write_text("x")
    assert devctl("cp", name, f"lab:{name}").code == 0
    assert tree(lab.home(0)) == {name: b"x"}
    assert devctl("cp", f"lab:{name}", "back").code == 0
    assert sorted(tree(here)) == sorted([name, "back"])


def test_what_is_left_out_of_a_folder(devctl: Devctl, lab: Homes, here: Path) -> None:
    (lab.home(0) / "runs").mkdir()
    (lab.home(0) / "runs" / "bad\n\x1b[31m").write_text("x")
    (lab.home(0) / "runs" / "a").write_text("x")
    found = devctl("cp", "lab:runs", ".")
    assert found.code == 1
    assert found.stdout == "runs: 1 file, 1 B\n"
    assert found.stderr == ("left out: `bad\\n\\x1b[31m`: its name holds control characters\n")
    assert tree(here) == {"runs/a": b"x"}
    (here / "runs" / "a").write_text("mine")
    found = devctl("cp", "lab:runs", ".")
    assert (found.code, tree(here)) == (1, {"runs/a": b"mine"})
    assert "--overwrite" in found.stderr
    devctl("cp", "lab:runs", ".", "--overwrite")
    assert tree(here) == {"runs/a": b"x"}


def test_no_git_repository_comes(devctl: Devctl, lab: Homes, here: Path) -> None:
    hooks = lab.home(0) / "project" / ".git" / "hooks"
    hooks.mkdir(parents=True)
    (hooks / "pre-commit").write_text("evil")
    (hooks / "pre-commit").chmod(0o755)
    (hooks.parent / "HEAD").write_text("ref: refs/heads/main")
    (lab.home(0) / "project" / "a").write_text("x")
    for target in (".", "elsewhere"):
        found = devctl("cp", "lab:project", target)
        said = "left out: 2 files of git (`.git`), which could run programs here; pack it"
        assert (found.code, found.stderr) == (0, f"{said} into a tar there, and copy that\n")
    assert tree(here) == {"project/a": b"x", "elsewhere/a": b"x"}
    for source, target in (("project/.git", "."), ("project/a", ".git"), ("project", "git~1")):
        found = devctl("cp", f"lab:{source}", target)
        assert found.code == 2
        assert "would be a part of a git repository here" in found.stderr
    assert sorted(tree(here)) == ["elsewhere/a", "project/a"]


@pytest.mark.parametrize(
    ("source", "target", "code", "said"),
    [
        ("a", "b", 2, "exactly one side has to be in a server"),
        ("lab:a", "lab:b", 2, "exactly one side has to be in a server"),
        ("missing", "lab:", 3, "there is no `missing`"),
        ("lab:missing", ".", 3, "there is no `lab-0:/home/dev/missing`"),
        ("nobody:a", ".", 3, "nobody"),
        ("lab.5:a", ".", 3, "has no replica 5"),
        ("Lab:a", ".", 2, "`Lab` is not a name of a server"),
    ],
)
def test_mistakes(  # noqa: PLR0913, PLR0917 - two are fixtures
    source: str, target: str, code: int, said: str, devctl: Devctl, lab: Homes
) -> None:
    found = devctl("cp", source, target)
    assert (found.code, found.stdout) == (code, "")
    assert said in found.stderr.splitlines()[0]
    assert tree(lab.home(0)) == {}
