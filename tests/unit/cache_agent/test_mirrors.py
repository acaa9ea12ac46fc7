"""Mirrors of real repositories, honest and hostile ones."""

from __future__ import annotations

import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from devctl_cache_agent import git
from devctl_cache_agent.durations import FILE, Durations
from devctl_cache_agent.eviction import Limits
from devctl_cache_agent.mirrors import Mirrors, Settings
from devctl_cache_agent.problems import CacheError, DroppedError, NoRoomError
from devctl_cache_agent.shelf import GOING, STAGING, Shelf

from unit.cache_agent.items import mirror

if TYPE_CHECKING:
    from pathlib import Path

    from devctl_cache_agent.plan import Item
    from devctl_cache_agent.status import Entry

URL = "https://git.example/a.git"
ROOMY = Limits(1 << 40, 0)
NAMES = ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL")


class Origin:
    """A repository that somebody else has."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self("init", "--quiet", "--initial-branch=trunk")
        self.first = self.commit("a.txt", "one")

    def __call__(self, *arguments: str, text: str | None = None) -> str:
        result = subprocess.run(
            ["git", *arguments],
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"} | dict.fromkeys(NAMES, "x@y"),
            input=text,
            capture_output=True,
            text=True,
            check=True,
        )
        return result.stdout.strip()

    def commit(self, name: str, content: str) -> str:
        (self.folder / name).write_text(content)
        self("add", "-A")
        self("commit", "--quiet", "-m", name)
        return self("rev-parse", "HEAD")


@pytest.fixture
def origin(tmp_path: Path) -> Origin:
    return Origin(tmp_path / "origin")


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    shelf = Shelf(tmp_path / "cache", ROOMY, set)
    shelf.wanted = set
    return shelf


def mirrors(shelf: Shelf, origin: Origin, **more: Any) -> Mirrors:
    chosen: dict[str, Any] = {"protocols": ("file",), "mirrors": {URL: f"file://{origin.folder}"}}
    return Mirrors(shelf, Settings(**{**chosen, **more}), os.environ, Durations(shelf.root / FILE))


def keep(kept: Mirrors, item: Item) -> Entry:
    return kept.keep(item, lambda _entry: None)


def inside(shelf: Shelf, *arguments: str) -> str:
    folder = shelf.root / "git" / "repo"
    command = ["git", f"--git-dir={folder}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_the_default_branch_is_mirrored_bare_and_followed(shelf: Shelf, origin: Origin) -> None:
    kept = mirrors(shelf, origin)
    item = mirror(url=URL)
    assert not kept.is_present(item)
    entry = keep(kept, item)
    assert (entry.status, entry.present) == ("ready", True)
    assert entry.message == f"at commit {origin.first[:12]}"
    assert entry.length
    assert kept.is_present(item)
    assert inside(shelf, "symbolic-ref", "HEAD") == "refs/heads/trunk"
    assert inside(shelf, "rev-parse", "--is-bare-repository") == "true"
    second = origin.commit("b.txt", "two")
    assert keep(kept, item).message == f"at commit {second[:12]}"
    assert inside(shelf, "rev-parse", "HEAD") == second


def test_the_first_fetch_alone_is_measured_and_known_to_the_next_agent(
    shelf: Shelf, origin: Origin
) -> None:
    item = mirror(url=URL)
    ticks = iter([10.0, 52.0])
    kept = Mirrors(
        shelf,
        Settings(protocols=("file",), mirrors={URL: f"file://{origin.folder}"}),
        os.environ,
        Durations(shelf.root / FILE, lambda: next(ticks)),
    )
    assert keep(kept, item).seconds == 42
    origin.commit("b.txt", "two")
    assert keep(kept, item).seconds == 42
    assert keep(mirrors(shelf, origin), item).seconds == 42


def test_a_branch_that_was_rewritten_is_followed_as_well(shelf: Shelf, origin: Origin) -> None:
    item = mirror(url=URL, revision="trunk")
    keep(mirrors(shelf, origin), item)
    (origin.folder / "c.txt").write_text("three")
    origin("add", "-A")
    origin("commit", "--quiet", "--amend", "-m", "other")
    keep(mirrors(shelf, origin), item)
    assert inside(shelf, "rev-parse", "HEAD") == origin("rev-parse", "HEAD")


def test_a_commit_is_kept_beside_the_branch_also_one_of_no_branch(
    shelf: Shelf, origin: Origin
) -> None:
    origin("checkout", "--quiet", "-b", "side")
    lost = origin.commit("lost.txt", "lost")
    origin("checkout", "--quiet", "trunk")
    origin("branch", "--quiet", "-D", "side")
    origin("config", "uploadpack.allowAnySHA1InWant", "true")
    for commit in (origin.first, lost):
        entry = keep(mirrors(shelf, origin), mirror(url=URL, commit=commit))
        assert entry.message == f"at commit {commit[:12]}"
        assert inside(shelf, "cat-file", "-t", f"{git.COMMITS}/{commit}") == "commit"


def test_a_commit_that_is_not_there_fails_and_leaves_what_was(shelf: Shelf, origin: Origin) -> None:
    keep(mirrors(shelf, origin), mirror(url=URL))
    with pytest.raises(CacheError, match="git: "):
        keep(mirrors(shelf, origin), mirror(url=URL, commit="0" * 40))
    assert inside(shelf, "rev-parse", "HEAD") == origin.first


def test_half_a_mirror_is_seen_by_nobody(shelf: Shelf, origin: Origin) -> None:
    with pytest.raises(CacheError, match="find remote ref refs/heads/no-such-branch"):
        keep(mirrors(shelf, origin), mirror(url=URL, revision="no-such-branch"))
    assert list((shelf.root / "git").iterdir()) == []
    # The next one begins anew.
    keep(mirrors(shelf, origin), mirror(url=URL))
    assert list((shelf.root / STAGING).iterdir()) == []


def test_another_url_of_the_same_name_replaces_the_mirror(
    shelf: Shelf, origin: Origin, tmp_path: Path
) -> None:
    keep(mirrors(shelf, origin), mirror(url=URL))
    other = Origin(tmp_path / "other")
    item = mirror(url="https://git.example/b.git")
    kept = mirrors(shelf, other, mirrors={item.source: f"file://{other.folder}"})
    assert not kept.is_present(item)
    keep(kept, item)
    assert kept.is_present(item)
    assert list((shelf.root / GOING).iterdir()) == []


def test_nothing_of_the_repository_is_run(
    shelf: Shelf, origin: Origin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = tmp_path / "trapped"
    home = tmp_path / "home"
    home.mkdir()
    hook = tmp_path / "hooks" / "reference-transaction"
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\ntouch {trap}\n")
    hook.chmod(0o755)
    (home / ".gitconfig").write_text(f"[core]\n\thooksPath = {hook.parent}\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_TEMPLATE_DIR", str(hook.parent))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.hooksPath")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(hook.parent))
    (origin.folder / ".gitmodules").write_text(
        f'[submodule "a"]\n\tpath = a\n\turl = ext::touch {trap}\n\tfetchRecurseSubmodules = true\n'
    )
    origin("update-index", "--add", "--cacheinfo", f"160000,{origin.first},a")
    origin.commit("b.txt", "two")
    keep(mirrors(shelf, origin), mirror(url=URL))
    keep(mirrors(shelf, origin), mirror(url=URL))
    assert not trap.exists()
    assert not (shelf.root / "git" / "repo" / "hooks").exists()
    assert not (shelf.root / "git" / "repo" / "modules").exists()


def test_an_object_that_would_trick_a_later_checkout_is_refused(
    shelf: Shelf, origin: Origin
) -> None:
    # A tree with `.git` in it, which only fsck refuses.
    blob = origin("hash-object", "-w", "--stdin", text="[core]")
    tree = origin("mktree", text=f"100644 blob {blob}\t.git\n")
    commit = origin("commit-tree", tree, "-m", "evil")
    origin("update-ref", "refs/heads/trunk", commit)
    with pytest.raises(CacheError, match="git: "):
        keep(mirrors(shelf, origin), mirror(url=URL))
    assert list((shelf.root / "git").iterdir()) == []


@pytest.mark.parametrize("url", ["ext::sh -c id", "file:///etc", "http://127.0.0.1:1/a"])
def test_only_allowed_protocols_are_spoken(shelf: Shelf, origin: Origin, url: str) -> None:
    kept = mirrors(shelf, origin, protocols=("https", "ssh"), mirrors={URL: url})
    with pytest.raises(CacheError, match="not allowed"):
        keep(kept, mirror(url=URL))


def test_a_private_repository_needs_the_secret(shelf: Shelf, origin: Origin) -> None:
    kept = mirrors(shelf, origin, mirrors={})
    with pytest.raises(CacheError, match="the Secret `git-ssh`"):
        keep(kept, mirror(url="git@github.com:a/b.git"))


def test_a_repository_that_is_too_large_is_given_up(
    shelf: Shelf, origin: Origin, tmp_path: Path
) -> None:
    (origin.folder / "large").write_bytes(os.urandom(3 << 20))
    origin.commit("b.txt", "two")
    with pytest.raises(NoRoomError, match=r"more than the 1\.0 MiB that it may"):
        keep(mirrors(shelf, origin, most=1 << 20), mirror(url=URL))
    assert list((shelf.root / "git").iterdir()) == []
    full = Shelf(tmp_path / "full", Limits(1 << 20, 0), set)
    full.wanted = set
    with pytest.raises(NoRoomError, match=r"it needs 256\.0 MiB"):
        keep(mirrors(full, origin), mirror(url=URL))


def test_what_the_plan_drops_is_not_finished(
    shelf: Shelf, origin: Origin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("devctl_cache_agent.programs._LOOK", 0.0)

    def dropped(_entry: Entry) -> None:
        raise DroppedError("the plan does not want it any more")

    with pytest.raises(DroppedError):
        mirrors(shelf, origin).keep(mirror(url=URL), dropped)
    assert list((shelf.root / "git").iterdir()) == []


def test_what_a_killed_git_left_is_in_nobodys_way(shelf: Shelf, origin: Origin) -> None:
    keep(mirrors(shelf, origin), mirror(url=URL))
    folder = shelf.root / "git" / "repo"
    left = [
        folder / "objects/pack/tmp_pack_x",
        folder / "HEAD.lock",
        folder / "refs/heads/trunk.lock",
    ]
    for each in left:
        each.write_text("")
    second = origin.commit("b.txt", "two")
    keep(mirrors(shelf, origin), mirror(url=URL))
    assert inside(shelf, "rev-parse", "HEAD") == second
    assert not [each for each in left if each.exists()]


def test_a_mirror_that_is_broken_is_fetched_anew(shelf: Shelf, origin: Origin) -> None:
    keep(mirrors(shelf, origin), mirror(url=URL))
    for pack in (shelf.root / "git/repo/objects/pack").iterdir():
        pack.unlink()
    keep(mirrors(shelf, origin), mirror(url=URL))
    assert inside(shelf, "fsck", "--full") == ""


@pytest.mark.usefixtures("socket_enabled")
def test_a_server_cannot_send_git_on_to_another_one(shelf: Shelf, origin: Origin) -> None:
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(302)
            self.send_header("Location", f"http://{self.headers['Host']}/inner/info/refs")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    http = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, args=(0.01,))
    thread.start()
    try:
        url = f"http://127.0.0.1:{http.server_address[1]}/outer"
        with pytest.raises(CacheError, match="git: "):
            keep(mirrors(shelf, origin, protocols=("http",), mirrors={URL: url}), mirror(url=URL))
    finally:
        http.shutdown()
        thread.join()
        http.server_close()
    assert asked
    assert all(path.startswith("/outer") for path in asked)


@pytest.mark.parametrize("about", ["", "{}", "[]", '{"url": 7}', "x"])
def test_a_folder_that_is_no_mirror_of_ours_is_replaced(
    shelf: Shelf, origin: Origin, about: str
) -> None:
    folder = shelf.root / "git" / "repo"
    folder.mkdir()
    (folder / "devctl-cache.json").write_text(about)
    kept = mirrors(shelf, origin)
    assert not kept.is_present(mirror(url=URL))
    assert keep(kept, mirror(url=URL)).present
