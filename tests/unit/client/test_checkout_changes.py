"""What no capsule carries is refused with what to do, and nothing is sent."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from support.vllm_checkout import commit, git, new, write

from devctl.client.checkout import changes as changes_module
from devctl.client.checkout.changes import collect
from devctl.client.checkout.detect import detect
from devctl.client.files.local import Beneath
from devctl.errors import DevctlError, UsageError
from unit.client.checkout_things import applied, packed, push, tree

if TYPE_CHECKING:
    from pathlib import Path

TOKEN = "ghp_" + "a" * 36


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = new(tmp_path / "checkout")
    write(root, {"a": "a\n", "folder/b": "b\n"})
    commit(root)
    push(root)
    return root


@pytest.fixture
def sub(root: Path, tmp_path: Path) -> Path:
    """A submodule of the checkout, as it was pushed."""
    other = new(tmp_path / "other")
    write(other, {"inner": "x\n"})
    commit(other)
    git(root, "submodule", "--quiet", "add", str(other), "sub")
    commit(root)
    push(root)
    return root / "sub"


def test_conflicts_are_resolved_first(root: Path) -> None:
    git(root, "checkout", "-q", "-b", "other")
    write(root, {"a": "theirs\n"})
    commit(root)
    git(root, "checkout", "-q", "main")
    write(root, {"a": "ours\n"})
    commit(root)
    with pytest.raises(subprocess.CalledProcessError, match=r"'merge'.*exit status 1"):
        git(root, "merge", "-q", "other")
    with pytest.raises(UsageError, match="`a` has conflicts of an unfinished merge"):
        packed(root)
    git(root, "add", "a")
    assert packed(root).counts["modified"] == 1


def test_secrets_are_listed_and_sent_on_request_only(root: Path) -> None:
    write(root, {".env": "x", "a": f"token = '{TOKEN}'\n", "b.py": "x", "big": f"{TOKEN} " * 9999})
    (root / "folder" / "id_rsa").symlink_to("b")
    changes = collect(detect(root))
    assert changes.secrets == [".env", "a"]
    with pytest.raises(UsageError, match=r"nothing was sent: `\.env`, `a` may hold secrets"):
        packed(root)
    assert list((root.parent / "capsules").iterdir()) == []
    assert tree(applied(root, secrets=True).target) == tree(root)


def test_a_secret_that_others_have_is_not_asked_about(root: Path) -> None:
    write(root, {"a": f"token = '{TOKEN}'\n"})
    commit(root)
    push(root)
    write(root, {"folder/b": "changed"})
    assert packed(root).counts["modified"] == 1


def test_a_submodule_as_it_was_pushed_is_left_alone(sub: Path, root: Path) -> None:
    assert packed(root).counts == {"modified": 0, "deleted": 0, "added": 0}
    git(root, "submodule", "--quiet", "deinit", "sub")
    assert packed(root).counts["deleted"] == 0
    sub.rmdir()
    assert packed(root).counts["deleted"] == 0


def test_a_changed_submodule_of_a_submodule_is_refused(
    sub: Path, root: Path, tmp_path: Path
) -> None:
    innermost = new(tmp_path / "innermost")
    write(innermost, {"x": "x"})
    commit(innermost)
    git(sub, "submodule", "--quiet", "add", str(innermost), "nested")
    commit(sub)
    commit(root)
    push(root)
    assert packed(root).counts["modified"] == 0
    write(sub, {"nested/x": "changed"})
    with pytest.raises(UsageError, match="the submodule `sub` was changed"):
        packed(root)


@pytest.mark.parametrize(
    "how",
    ["commit", "edit", "new file", "staged", "remove", "replace", "link", "strange", "broken"],
)
def test_a_changed_submodule_is_refused(sub: Path, root: Path, how: str) -> None:
    if how == "commit":
        write(sub, {"inner": "changed\n"})
        commit(sub)
    elif how == "edit":
        write(sub, {"inner": "changed\n"})
    elif how == "new file":
        write(sub, {"another": "x"})
    elif how == "staged":
        write(sub, {"inner": "changed\n"})
        commit(sub)
        git(root, "add", "sub")
    elif how == "remove":
        git(root, "rm", "-q", "-f", "sub")
    elif how == "broken":
        write(root, {".git/modules/sub/HEAD": "nothing"})
    else:
        git(root, "submodule", "--quiet", "deinit", "-f", "sub")
        if how == "strange":
            write(sub, {"inner": "x\n"})
        else:
            sub.rmdir()
            (sub.write_text("x") if how == "replace" else sub.symlink_to("folder"))
    with pytest.raises(UsageError, match="the submodule `sub` was changed, and submodules do not"):
        packed(root)


def test_another_repository_in_it_is_named(root: Path) -> None:
    write(new(root / "nested"), {"x": "x"})
    commit(root / "nested")
    with pytest.raises(UsageError, match="`nested/` is a git repository of its own"):
        packed(root)
    write(root, {".devctlignore": "/nested/\n"})
    assert packed(root).counts["added"] == 1


@pytest.mark.parametrize("target", ["/etc/passwd", "../../outside", "folder/../../x"])
def test_a_link_that_leads_out_is_refused(root: Path, target: str) -> None:
    (root / "folder" / "link").symlink_to(target)
    with pytest.raises(UsageError, match=r"`folder/link`: this link leads") as it:
        packed(root)
    assert "`.devctlignore`" in it.value.fix
    git(root, "add", ".")
    commit(root)
    push(root)
    with pytest.raises(UsageError, match="`folder/link`"):
        packed(root)


def test_a_pipe_in_place_of_a_file_is_refused(root: Path) -> None:
    (root / "a").unlink()
    os.mkfifo(root / "a")
    with pytest.raises(UsageError, match="`a`: it is a pipe"):
        packed(root)


def test_a_name_that_is_gits_elsewhere_is_refused(root: Path) -> None:
    write(root, {"folder/git~1/config": "x"})
    with pytest.raises(UsageError, match="its path belongs to a git repository"):
        packed(root)


def test_large_files_are_sent_on_request_only(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes_module, "LARGE", 10_000)
    write(root, {"model": b"x" * 20_000})
    with pytest.raises(UsageError, match="`model` has 20 KB"):
        packed(root)
    assert packed(root, large=True).counts["added"] == 1


def test_a_file_behind_a_link_is_not_the_files(root: Path) -> None:
    (root / "folder/b").unlink()
    (root / "folder").rmdir()
    write(root, {"elsewhere/b": "b\n"})
    (root / "folder").symlink_to("elsewhere")
    assert tree(applied(root).target) == tree(root)


def test_a_file_that_may_not_be_read_is_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Beneath, "read", denied)
    with pytest.raises(DevctlError, match="`a` cannot be read"):
        packed(root)


def test_a_tracked_file_that_is_ignored_too_travels(root: Path) -> None:
    write(root, {".gitignore": "a\n", ".devctlignore": "b\n", "a": "changed\n"})
    write(root, {"folder/b": "changed\n"})
    done = applied(root)
    assert tree(done.target) == tree(root)
    assert done.capsule.counts["modified"] == 2


def test_a_file_that_git_no_longer_knows_and_ignores_is_gone(root: Path) -> None:
    git(root, "rm", "-q", "--cached", "a")
    write(root, {".gitignore": "a\n"})
    here = tree(root)
    del here[b"a"]
    assert tree(applied(root).target) == here


def test_a_file_where_a_sparse_checkout_has_left_out_a_folder(root: Path) -> None:
    git(root, "sparse-checkout", "set", "--no-cone", "/a")
    write(root, {"folder": "a file"})
    with pytest.raises(UsageError, match="`folder`: it is a file here, and a folder in the commit"):
        packed(root)


def test_an_object_that_is_replaced_here_is_not_replaced_elsewhere(root: Path) -> None:
    before = git(root, "rev-parse", "HEAD^{tree}")
    write(root, {"a": "changed\n"})
    commit(root)
    git(root, "replace", before, git(root, "rev-parse", "HEAD^{tree}"))
    done = applied(root)
    assert done.capsule.counts["modified"] == 1
    assert tree(done.target) == tree(root)
