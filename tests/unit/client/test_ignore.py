"""Which files belong to a project; git itself says whether patterns are read as it reads them."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devctl.client.files import ignore
from devctl.client.files.ignore import INCOMING, Rules, ignored, listed, parse
from devctl.errors import DevctlError

NAMES = [
    "a",
    "b.py",
    "a/b.py",
    "a/b/c",
    "a/b/c.pyc",
    "x y",
    "[z]",
    "a/*",
    "!b",
    "#c",
    "doc/a/b",
    "-d",
]
USUAL = [
    *("*.py", "/a", "a/", "a/**", "**/b", "a/**/c", "!a/b.py", "[!a]", "[a-c]*", "\\!b", "\\#c"),
    *("x\\ y", "b.py ", "**", "doc/*/b", "a/b/", "[[:alpha:]]", "/*", "!/a", "*/", "\\", "[a"),
]
LINE = st.text("ab/*?!#[]-^\\ .cpyxz", max_size=8) | st.sampled_from(USUAL)


def git(folder: Path, *arguments: str) -> bytes:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, check=True)
    return done.stdout


def write(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(LINE, max_size=5))
def test_patterns_mean_what_they_mean_to_git(lines: list[str]) -> None:
    with tempfile.TemporaryDirectory() as above:
        root = Path(above)
        for name in NAMES:
            if name != "a":
                write(root, name)
        git(root, "init", "-q")
        (root / ".git" / "info" / "exclude").write_text("")
        (root / ".gitignore").write_text("\n".join(lines))
        said = git(root, "ls-files", "-z", "--others", "--exclude-standard")
        wanted = sorted(os.fsdecode(name) for name in said.split(b"\0") if name)
        rules = Rules(root, defaults=False)
        files = [p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file()]
        ours = sorted(n for n in files if not n.startswith(".git/") and not rules.ignores(n))
        assert ours == wanted


@given(st.text(max_size=40), st.text(max_size=20))
def test_the_last_pattern_that_matches_decides(text: str, path: str) -> None:
    found = ignored(parse(text), path, folder=False)
    assert ignored(parse(f"{text}\n# a comment\n\n"), path, folder=False) is found
    assert ignored(parse(f"{text}\n*"), path, folder=False) is True
    assert ignored(parse(f"{text}\n!*"), path, folder=False) is False


def test_outside_of_git_by_products_stay(tmp_path: Path) -> None:
    write(
        tmp_path,
        "main.py",
        "src/__pycache__/a.pyc",
        ".venv/bin/python",
        ".git/config",
        "run.log",
        "keep.log",
        "data/x.bin",
        "data/y.txt",
        f"{INCOMING}x/half",
    )
    (tmp_path / ".gitignore").write_text("*.log\n!keep.log\n")
    (tmp_path / "data" / ".gitignore").write_text("/x.bin\n")
    (tmp_path / ".devctlignore").write_text("y.txt\n")
    (tmp_path / "empty" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to("src")
    assert listed(tmp_path) == [
        ".devctlignore",
        ".gitignore",
        "data/.gitignore",
        "empty/deep",
        "keep.log",
        "link",
        "main.py",
    ]


def test_git_lists_its_work_tree(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    write(
        tmp_path, "a.py", "b.log", "gone.py", "venv/kept", "big.bin", "nested/c.py", "nested/d.log"
    )
    (tmp_path / ".gitignore").write_text("*.log\n")
    git(tmp_path, "add", "gone.py", "a.py")
    (tmp_path / "gone.py").unlink()
    git(tmp_path / "nested", "init", "-q")
    (tmp_path / "nested" / ".gitignore").write_text("d.log\n")
    (tmp_path / ".devctlignore").write_text("big.bin\n")
    write(tmp_path, "odd\nname")
    assert listed(tmp_path) == [
        ".devctlignore",
        ".gitignore",
        "a.py",
        "nested/.gitignore",
        "nested/c.py",
        "odd\nname",
        "venv/kept",
    ]
    # Of a part of it, too, and of one that is ignored as a whole: somebody has named it.
    assert listed(tmp_path / "venv") == ["kept"]
    (tmp_path / ".gitignore").write_text("/venv/\n")
    assert listed(tmp_path / "venv") == ["kept"]


def test_a_repository_cannot_have_programs_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "repository"
    root.mkdir()
    git(root, "init", "-q")
    write(root, "a.py")
    evil = tmp_path / "evil.sh"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    evil.chmod(0o755)
    for name in ("core.fsmonitor", "core.sshCommand", "core.pager", "core.askPass"):
        git(root, "config", name, str(evil))
    git(root, "config", "core.hooksPath", str(tmp_path))
    # Nor can whoever has set variables for another repository, as git does for its hooks.
    monkeypatch.setenv("GIT_DIR", "/nonexistent")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nonexistent")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    assert listed(root) == ["a.py"]
    assert not (tmp_path / "ran").exists()


def test_without_git_rules_are_read_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tmp_path, "init", "-q")
    write(tmp_path, "a.py", "b.log")
    (tmp_path / ".gitignore").write_text("*.log\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert listed(tmp_path) == [".gitignore", "a.py"]


def test_a_git_that_hangs_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "git").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(ignore, "_SECONDS", 0.1)
    with pytest.raises(DevctlError, match="git did not list"):
        listed(tmp_path)


def test_rules_that_lead_to_a_pipe_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / ".gitignore").symlink_to("pipe")
    assert listed(tmp_path) == [".gitignore", "pipe"]


def test_names_from_elsewhere_are_judged_by_the_rules_here(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("/out/\n")
    rules = Rules(tmp_path)
    for name in ("out/a", "a/.git/hooks/x", ".GIT/config", "__pycache__/a", f"a/{INCOMING}b"):
        assert rules.ignores(name), name
    assert not rules.ignores("a/out/b")
    assert not rules.ignores(".gitignore")
