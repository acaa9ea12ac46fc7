"""A checkout's remote, branch and commits, the image that fits it, and how it is shown."""

from __future__ import annotations

from subprocess import CompletedProcess
from typing import TYPE_CHECKING

import pytest
from support.vllm_checkout import commit, git, new, write

from devctl.client.checkout import repository as repository_module
from devctl.client.checkout.changes import collect
from devctl.client.checkout.detect import Options, detect, without_login
from devctl.client.checkout.summary import Summary
from devctl.client.checkout.vllm import image_of, is_vllm
from devctl.errors import DevctlError, HostError, UsageError
from unit.client.checkout_things import packed, push

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = new(tmp_path / "checkout")
    write(root, {"vllm/__init__.py": "", "pyproject.toml": '[project]\nname = "vllm"\n'})
    commit(root)
    return root


@pytest.fixture
def fork(root: Path) -> Path:
    """A fork's branch, pushed, with the project's main branch one commit further."""
    git(root, "checkout", "-q", "-b", "feature")
    write(root, {"vllm/new.py": "x"})
    commit(root)
    git(root, "checkout", "-q", "main")
    write(root, {"vllm/other.py": "x"})
    commit(root)
    push(root, "upstream")
    git(root, "remote", "add", "me/mine", "https://me:token@git.example/me/vllm.git")
    git(root, "checkout", "-q", "feature")
    git(root, "update-ref", "refs/remotes/me/mine/feature", "HEAD")
    git(root, "branch", "-q", "--set-upstream-to=me/mine/feature")
    return root


def test_a_fork_is_found_with_its_upstream(fork: Path) -> None:
    found = detect(fork / "vllm")
    first = git(fork, "rev-parse", "main~1")
    assert (found.root, found.branch, found.is_vllm) == (fork, "feature", True)
    assert found.remote == found.base_remote == "https://git.example/me/vllm.git"
    assert (found.main, found.merge_base) == ("upstream/main", first)
    assert found.commit == found.base == git(fork, "rev-parse", "feature")
    assert found.image == f"public.ecr.aws/q9t5s3a7/vllm-ci-postmerge-repo:{first}"
    assert found.unpushed == 0


def test_unpushed_commits_build_on_the_merge_base(fork: Path) -> None:
    git(fork, "update-ref", "-d", "refs/remotes/me/mine/feature")
    found = detect(fork)
    assert found.base == found.merge_base
    assert found.base_remote == "https://git.example/upstream/vllm.git"
    # The branch's upstream is gone, so its remote may be another one.
    assert found.unpushed == 1
    write(fork, {"vllm/new.py": "changed", "untracked": "x"})
    shown = str(Summary(found, collect(found), packed(fork)))
    assert f"{found.commit[:12]}; 1 commit since {found.base[:12]} travels as changes" in shown
    assert "Local changes: 2 added (1 untracked)" in shown


def test_detached_it_has_no_branch_and_origin(fork: Path) -> None:
    git(fork, "checkout", "-q", "--detach")
    git(fork, "remote", "add", "origin", "git@git.example:me/vllm.git")
    found = detect(fork)
    assert (found.branch, found.remote) == ("", "git@git.example:me/vllm.git")
    assert found.base_remote == "https://git.example/me/vllm.git"
    assert "Branch:        none (detached HEAD)" in str(Summary(found))


@pytest.mark.parametrize("branch", ["main", "master", "trunk"])
def test_the_main_branch_has_its_usual_names(root: Path, branch: str) -> None:
    head = push(root)
    if branch != "main":
        git(root, "update-ref", "-d", "refs/remotes/origin/main")
        git(root, "update-ref", f"refs/remotes/origin/{branch}", head)
        git(root, "symbolic-ref", "refs/remotes/origin/HEAD", f"refs/remotes/origin/{branch}")
    found = detect(root)
    assert (found.main, found.merge_base) == (f"origin/{branch}", head)


def test_the_main_branch_can_be_chosen(fork: Path) -> None:
    found = detect(fork, Options(main="me/mine/feature"))
    assert (found.main, found.merge_base) == ("me/mine/feature", found.commit)
    for wrong in ("me/mine/nothing", "nobody/main", "main"):
        with pytest.raises(UsageError, match="there is no branch"):
            detect(fork, Options(main=wrong))


def test_without_a_remote_there_is_no_base(root: Path) -> None:
    found = detect(root)
    assert (found.remote, found.main, found.merge_base, found.base, found.image) == ("",) * 5
    shown = str(Summary(found))
    assert "Remote:        none" in shown
    assert "which no remote has" in shown
    with pytest.raises(UsageError, match="no commit that a remote has") as it:
        collect(found)
    assert "push HEAD" in it.value.fix


def test_a_remote_that_was_never_fetched_has_no_main_branch(root: Path) -> None:
    push(root)
    git(root, "remote", "add", "upstream", "https://git.example/vllm.git")
    found = detect(root)
    assert (found.main, found.merge_base) == ("", "")
    # It was pushed all the same.
    assert found.base == found.commit


def test_a_shallow_clone_is_told_to_complete_its_history(root: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(root, {name: name})
        commit(root)
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{root}", "shallow")
    shallow = tmp_path / "shallow"
    found = detect(shallow)
    assert found.base == found.merge_base == found.commit
    write(shallow, {"a": "changed"})
    assert packed(shallow).counts["modified"] == 1
    git(shallow, "update-ref", "-d", "refs/remotes/origin/HEAD")
    git(shallow, "update-ref", "-d", "refs/remotes/origin/main")
    with pytest.raises(UsageError, match="no commit that a remote has") as it:
        collect(detect(shallow))
    assert "git fetch --unshallow" in it.value.fix


def test_what_is_no_checkout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is in no git checkout"):
        detect(tmp_path)
    root = new(tmp_path / "empty")
    with pytest.raises(UsageError, match="has no commits yet"):
        detect(root)
    bare = tmp_path / "bare"
    bare.mkdir()
    git(bare, "init", "-q", "--bare")
    with pytest.raises(UsageError, match="is in no git checkout"):
        detect(bare)


def test_a_repository_cannot_name_other_folders_as_its_own(root: Path, tmp_path: Path) -> None:
    write(tmp_path, {"private": "x"})
    git(root, "config", "core.worktree", str(tmp_path))
    with pytest.raises(UsageError, match="has its repository elsewhere"):
        detect(root)


def test_a_checkout_of_somebody_else_says_what_to_do(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = b"fatal: detected dubious ownership in repository"

    def refused(*_: object, **_more: object) -> CompletedProcess[bytes]:
        return CompletedProcess([], 128, b"", said)

    monkeypatch.setattr(repository_module, "ask", refused)
    with pytest.raises(UsageError, match="checkout of another user") as it:
        detect(root)
    assert "safe.directory" in it.value.fix


def test_without_git_nothing_is_guessed(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError, match="there is no `git`"):
        detect(root)


def test_a_git_that_hangs_is_given_up(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "git"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(repository_module, "_SECONDS", 0.1)
    with pytest.raises(DevctlError, match="git did not answer"):
        detect(root)


def test_a_damaged_repository_is_no_empty_one(root: Path) -> None:
    push(root)
    found = detect(root)
    write(root, {".git/index": "not an index"})
    with pytest.raises(DevctlError, match="git cannot read"):
        collect(found)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"vllm/__init__.py": "", "pyproject.toml": '[project]\nname = "vllm"'}, True),
        ({"vllm/__init__.py": "", "setup.py": 'setup(\n    name="vllm",\n)'}, True),
        ({"vllm/__init__.py": "", "pyproject.toml": '[project]\nname = "mine"'}, False),
        ({"vllm/__init__.py": "", "pyproject.toml": "[broken"}, False),
        ({"vllm/__init__.py": "", "pyproject.toml": b"\xff", "setup.py": b"\xff"}, False),
        ({"vllm/__init__.py": ""}, False),
        ({"pyproject.toml": '[project]\nname = "vllm"'}, False),
    ],
)
def test_a_checkout_of_vllm_is_recognized(
    tmp_path: Path, files: dict[str, str | bytes], *, expected: bool
) -> None:
    write(tmp_path, files)
    assert is_vllm(tmp_path) == expected


def test_the_image_can_be_chosen_for_any_checkout(root: Path) -> None:
    push(root)
    found = detect(root, Options(image="registry.example/vllm:{commit}"))
    assert found.image == f"registry.example/vllm:{found.merge_base}"
    write(root, {"pyproject.toml": ""})
    assert detect(root).image == ""
    for wrong in ("registry.example/vllm", "{commit} --privileged", "", "{commit}{other}"):
        with pytest.raises(UsageError, match="no pattern of images"):
            image_of("abc", wrong)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://token@git.example/x", "https://git.example/x"),
        ("https://me:p@ss@git.example/x@y", "https://git.example/x@y"),
        ("ssh://git:pw@git.example/x", "ssh://git@git.example/x"),
        ("git@git.example:me/x.git", "git@git.example:me/x.git"),
        ("https://git.example/x", "https://git.example/x"),
        ("/some/folder", "/some/folder"),
    ],
)
def test_logins_stay_here(url: str, shown: str) -> None:
    assert without_login(url) == shown


def test_the_summary_shows_all_facts(fork: Path) -> None:
    write(fork, {"vllm/new.py": "changed", "pyproject.toml": '[project]\nname = "vllm"\n#\n'})
    (fork / "vllm/__init__.py").unlink()
    git(fork, "branch", "-q", "-m", "f\u202egpj")
    found = detect(fork)
    lines = str(Summary(found, collect(found))).splitlines()
    # It was one of vLLM's until that file went.
    assert lines == [
        "git checkout:",
        f"  Directory:     {fork}",
        "  Remote:        https://git.example/me/vllm.git",
        "  Branch:        f\\u202egpj",
        f"  Commit:        {found.commit[:12]}",
        f"  Merge base:    {found.merge_base[:12]} with upstream/main",
        "  Image:         none",
        "  Local changes: 2 modified, 1 deleted",
    ]
