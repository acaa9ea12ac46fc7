"""Names of files: what is shown of them, and which may come from a pod.

Git itself says which names it refuses, and what it takes for a repository.
"""

from __future__ import annotations

import doctest
import os
import posixpath
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.client.files import names, remote, scripts, secrets, sync, transfer
from devctl.client.files.names import (
    Withheld,
    check_name,
    link_problem,
    named,
    offered,
    unshowable,
    within_git,
)
from devctl.errors import DevctlError, UsageError
from devctl.text import readable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BYTES = st.binary(max_size=40).filter(lambda name: b"\0" not in name)


@pytest.mark.parametrize("module", [names, remote, scripts, secrets, sync, transfer])
def test_examples(module: Any) -> None:
    assert doctest.testmod(module).failed == 0


@given(BYTES.map(os.fsdecode) | st.text(max_size=40))
def test_any_name_can_be_shown(name: str) -> None:
    shown = readable(name)
    assert shown.isprintable()
    shown.encode()
    if name.isprintable():
        assert shown == name


def test_what_is_shown_of_many_names() -> None:
    assert named(["a\nb"]) == "`a\\nb`"
    assert named([str(number) for number in range(7)]).endswith("`4` and 2 more")
    assert readable("\x1b]0;title\x07") == "\\x1b]0;title\\x07"
    assert readable("a\u202eb\U000e0001") == "a\\u202eb\\U000e0001"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("a\nb", "holds control characters"),
        ("a\x1b[31m", "holds control characters"),
        ("a\u202eb", "holds control characters"),
        ("\udcff", "is not UTF-8"),
        ("ü €", ""),
    ],
)
def test_names_that_nobody_can_be_shown(name: str, why: str) -> None:
    assert unshowable(name) == why


@pytest.mark.parametrize(
    "name",
    [
        "",
        "/",
        "/etc/passwd",
        "..",
        "../a",
        "a/../../b",
        "a/..",
        "a//b",
        "a/",
        "./a",
        "a/./b",
        "a\nb",
        "\udcff",
        "x" * 256,
        "x/" * 2500 + "y",
    ],
)
def test_names_that_no_honest_pod_sends(name: str) -> None:
    with pytest.raises(DevctlError) as raised:
        check_name(name)
    assert raised.value.message.isprintable()
    assert raised.value.fix


@given(st.text(max_size=40) | st.from_regex(r"(\.\.?/|/|a){0,6}", fullmatch=True))
def test_a_name_that_is_taken_stays_in_its_folder(name: str) -> None:
    try:
        check_name(name)
    except DevctlError:
        return
    found = posixpath.normpath(posixpath.join("/top", name))
    assert found == f"/top/{name}"


@given(
    st.from_regex(r"(a/){0,3}l", fullmatch=True),
    st.from_regex(r"/?((\.\.|\.|a|b)/?){0,6}", fullmatch=True),
)
def test_a_link_that_is_taken_stays_in_its_folder(name: str, target: str) -> None:
    if link_problem(name, target):
        return
    found = posixpath.normpath(posixpath.join("/top", posixpath.dirname(name), target))
    assert found == "/top" or found.startswith("/top/")


@pytest.mark.parametrize("target", ["", "/", "/etc", "..", "a/..", "a/../..", "b/../c", "a\nb"])
def test_links_that_are_not_taken(target: str) -> None:
    assert link_problem("link", target)


@given(st.text(max_size=30))
def test_a_path_in_a_server_is_absolute_and_plain(path: str) -> None:
    try:
        found = remote.absolute(path)
    except UsageError:
        return
    assert found.startswith("/")
    assert posixpath.normpath(found) == found
    assert remote.absolute(found) == found


REFUSED = [
    ".git",
    ".git/config",
    "a/.GIT/hooks/x",
    ".git.",
    ".GiT . .",
    ".git::$INDEX_ALLOCATION/config",
    "git~1",
    "a/GIT~1/hooks",
    "git~1 . ",
    ".g\u200cit",
    "\ufeff.git/config",
    ".gi\u206ft",
    "a\\.git\\config",
    ".git\\hooks",
]
TAKEN = [
    ".gitignore",
    ".github/x",
    "git",
    "git~2",
    "git~10",
    ".git-x",
    "x.git",
    ".gi t",
    "a.git/b",
    "..git",
]
BARE = ["HEAD", "objects/pack/x", "refs/heads/main", "config", "hooks/post-checkout"]


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], bool]:
    """Whether git refuses a path on every file system that it knows of."""
    folder = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    kept = ["git", "-c", "core.protectHFS=true", "-c", "core.protectNTFS=true", "update-index"]

    def ask(path: str) -> bool:
        argv = [*kept, "--add", "--cacheinfo", f"100644,{'1' * 40},{path}"]
        done = subprocess.run(argv, cwd=folder, capture_output=True, check=False)
        return done.returncode != 0

    return ask


@pytest.mark.parametrize("name", REFUSED)
def test_what_git_refuses_is_refused(name: str, refused: Callable[[str], bool]) -> None:
    assert refused(name)
    assert within_git(name)


@pytest.mark.parametrize("name", TAKEN)
def test_what_git_takes_is_taken(name: str, refused: Callable[[str], bool]) -> None:
    assert not refused(name)
    assert within_git(name) == ""


def test_what_is_in_git_stays_there(here: Path) -> None:
    names = ["a.py", "p", "p/.git", "p/.git/HEAD", "p/.git/hooks/x", "q/.GIT"]
    found = offered(names, here)
    assert found.names == ["a.py", "p"]
    assert found.git == Withheld(3, ("p/.git", "q/.GIT"))


@pytest.mark.parametrize(
    "names",
    [
        BARE,
        ["head", *BARE[1:]],
        ["HEAD", "commondir", "config"],
        ["HEAD", "objects", "refs"],
    ],
)
def test_a_bare_repository_stays_there_whatever_it_is_called(names: list[str], here: Path) -> None:
    found = offered(["a", *(f"deep/data/{name}" for name in names), "deep/b"], here)
    assert found.names == ["a", "deep/b"]
    assert found.git.repositories == ("deep/data",)
    with pytest.raises(UsageError, match="would be a git repository"):
        offered(names, here)


@pytest.mark.parametrize("first", [["HEAD"], ["objects/x", "refs/y"], BARE])
def test_none_comes_in_two_parts(first: list[str], here: Path) -> None:
    for name in first:
        (here / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        (here / "data" / name).touch()
    for second in (BARE, ["HEAD", "objects/x", "refs/y", "hooks/x"]):
        assert offered([f"data/{name}" for name in second], here).names == []
    assert offered(["data/objects/x", "x"], here).names[-1:] == ["x"]


@pytest.mark.parametrize("folder", ["...", ".../x", "a/. ./x", ":", "\u200c/x"])
def test_folders_of_odd_names_are_looked_into_as_well(folder: str, here: Path) -> None:
    assert offered(["a", *(f"{folder}/{name}" for name in BARE)], here).names == ["a"]


def test_spellings_that_a_file_system_takes_for_one(here: Path) -> None:
    names = ["Data/HEAD", "data/objects/x", "DATA/refs/y", "é/HEAD", "e\u0301/objects", "é/refs"]
    assert offered(names, here).names == []


def test_folders_that_only_resemble_one_are_taken(here: Path) -> None:
    names = [
        "a/HEAD",
        "b/objects/x",
        "b/refs/y",
        "models/refs/main",
        "c/head.py",
        "d/HEAD",
        "d/refs",
    ]
    assert offered(names, here) == (names, [], Withheld())


def test_the_folder_itself_is_none(here: Path) -> None:
    (here / "git").symlink_to(".git")
    for name in (".git", "GIT~1", "git"):
        with pytest.raises(UsageError, match="a part of a git repository"):
            offered(["a"], here / name)
    subprocess.run(["git", "init", "-q", "--bare"], cwd=here, check=True)
    for target in (here, here / "new", here / "hooks"):
        with pytest.raises(UsageError, match="git repository"):
            offered(["a"], target)


def test_what_git_takes_for_a_repository_is_seen(tmp_path: Path) -> None:
    """The marks that are looked for are those that git looks for."""
    bare = tmp_path / "bare"
    subprocess.run(["git", "init", "-q", "--bare", str(bare)], check=True)
    env = {"PATH": "/usr/bin:/bin", "GIT_CEILING_DIRECTORIES": str(tmp_path)}

    def taken() -> bool:
        argv = ["git", "rev-parse", "--git-dir"]
        done = subprocess.run(argv, cwd=bare, env=env, capture_output=True, check=False)
        return done.returncode == 0

    names = [file.relative_to(bare).as_posix() for file in bare.rglob("*")]
    assert taken()
    with pytest.raises(UsageError, match="would be a git repository of the pod's"):
        offered(names, tmp_path / "new")
    for mark in ("HEAD", "objects", "refs"):
        away = bare.rename(tmp_path / "x") / mark
        away.rename(tmp_path / mark)
        (tmp_path / "x").rename(bare)
        assert not taken()
        left = [name for name in names if name.split("/")[0] != mark]
        assert offered(left, tmp_path / "new").names == left
        (tmp_path / mark).rename(bare / mark)


def test_names_that_lead_out_end_it_all_the_same(here: Path) -> None:
    with pytest.raises(DevctlError, match="leads out of the folder"):
        offered(["p/.git/x", "../a"], here)
