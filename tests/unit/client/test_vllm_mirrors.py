"""Which repository of the plan a checkout builds on: one whose mirror has the commit for sure."""

from __future__ import annotations

import doctest
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.vllm_checkout import commit, git, new, write

from devctl.client.checkout.detect import detect
from devctl.client.vllm import mirrors
from devctl.client.vllm.items import Item, new_item
from devctl.client.vllm.mirrors import built_on, same_place
from devctl.errors import UsageError
from unit.client.checkout_things import push

if TYPE_CHECKING:
    from pathlib import Path

UPSTREAM, MINE = "git@git.example:upstream/vllm.git", "https://git.example/me/vllm"
PARTS = st.text("abcXYZ019-_.", min_size=1, max_size=8).filter(
    lambda part: part not in {".", ".."} and not part.endswith(".git")
)
HOSTS = st.from_regex(r"[a-z][a-z0-9]{0,8}(\.[a-z]{2,5})?", fullmatch=True)


def repo(name: str, url: str, branch: str | None = None, commit: str | None = None) -> Item:
    return new_item("gitRepo", name, {"url": url, "branch": branch, "commit": commit})


@pytest.fixture
def fork(tmp_path: Path) -> Path:
    """A branch of two commits on the project's main branch; the first is pushed to a fork."""
    root = new(tmp_path / "vllm")
    write(root, {"a": "1"})
    commit(root)
    push(root, "upstream")
    git(root, "checkout", "-q", "-b", "feature")
    write(root, {"a": "2"})
    commit(root)
    git(root, "remote", "add", "me", "ssh://git@git.example/me/vllm.git")
    git(root, "update-ref", "refs/remotes/me/feature", "HEAD")
    git(root, "update-ref", "refs/remotes/me/main", "main")
    write(root, {"a": "3"})
    commit(root)
    return root


def test_examples() -> None:
    assert doctest.testmod(mirrors).failed == 0


@given(HOSTS, st.lists(PARTS, min_size=1, max_size=3))
def test_a_repository_is_the_same_however_it_is_reached(host: str, parts: list[str]) -> None:
    path = "/".join(parts)
    ways = {
        f"https://{host}/{path}.git",
        f"https://me:secret@{host.upper()}:443/{path}/",
        f"ssh://git@{host}/{path}.git",
        f"git@{host}:{path}.git",
        f"{host}:{path}",
        f"git://{host}/{path}",
    }
    assert {same_place(way) for way in ways} == {f"{host}/{path}"}
    assert same_place(f"https://{host}:8443/{path}") == f"{host}:8443/{path}"
    assert same_place(f"https://other.{host}/{path}") != f"{host}/{path}"


@given(st.text())
def test_no_text_is_too_odd_to_be_compared(url: str) -> None:
    assert same_place(same_place(url)) == same_place(same_place(same_place(url)))


def test_the_mirror_that_has_most_of_it_is_taken(fork: Path) -> None:
    main, pushed = git(fork, "rev-parse", "main"), git(fork, "rev-parse", "HEAD~1")
    checkout = detect(fork)
    # A mirror has one branch: that of the fork's own lacks what was pushed to another.
    other = repo("other", MINE)
    for items, name, base, ahead in (
        ([repo("vllm", UPSTREAM, "main")], "vllm", main, 2),
        ([repo("vllm", UPSTREAM), repo("fork", MINE, "feature")], "fork", pushed, 1),
        ([repo("vllm", UPSTREAM), repo("pinned", MINE, "gone", pushed)], "pinned", pushed, 1),
        ([other, repo("vllm", UPSTREAM)], "other", main, 2),
        ([repo("vllm", "https://else.example/x"), other], "other", main, 2),
    ):
        built = built_on(checkout, items)
        assert (built.repo, built.checkout.base, built.checkout.unpushed) == (name, base, ahead)
    assert built.checkout.base_remote == MINE
    assert built.checkout.commit == checkout.commit


def test_one_that_was_named_is_taken_whatever_its_url(fork: Path) -> None:
    checkout = detect(fork)
    items = [repo("vllm", UPSTREAM), repo("inside", "http://git.svc/vllm.git")]
    assert built_on(checkout, items, "inside") == ("inside", checkout)
    assert built_on(checkout, [], "unknown").repo == "unknown"
    assert built_on(checkout, items, "vllm").checkout.base == git(fork, "rev-parse", "main")


def test_what_is_missing_is_a_command_to_copy(fork: Path) -> None:
    image = new_item("image", "vllm", {"ref": "x"})
    for items in ([], [image, repo("x", "https://else.example/x"), repo("y", MINE, "nowhere")]):
        with pytest.raises(UsageError, match="no repository of this checkout") as raised:
            built_on(detect(fork), items)
        line = "k8shazgpu cache add gitrepo https://git.example/upstream/vllm.git"
        assert f"`{line} --branch main --name vllm-main`" in raised.value.fix


def test_a_login_is_in_no_message(tmp_path: Path) -> None:
    root = new(tmp_path / "x")
    write(root, {"a": "1"})
    commit(root)
    git(root, "remote", "add", "origin", "https://me:token@git.example/me/x.git")
    git(root, "update-ref", "refs/remotes/origin/release/a", "HEAD")
    with pytest.raises(UsageError) as raised:
        built_on(detect(root), [])
    assert "`k8shazgpu cache add gitrepo https://git.example/me/x.git --name x`" in raised.value.fix
    assert "token" not in f"{raised.value.message} {raised.value.fix}"
