"""The cache agent's code with the local cluster's own git server and model store."""

from __future__ import annotations

import os
import signal
import subprocess
from http.client import HTTPConnection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import add_model
import pytest
from devctl_cache_agent.durations import FILE, Durations
from devctl_cache_agent.eviction import Limits
from devctl_cache_agent.fetching import Web
from devctl_cache_agent.mirrors import Mirrors
from devctl_cache_agent.mirrors import Settings as GitSettings
from devctl_cache_agent.models import Models
from devctl_cache_agent.plan import Item, Sort
from devctl_cache_agent.problems import CacheError
from devctl_cache_agent.shelf import Shelf
from support.web_process import WebProcess

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from devctl_cache_agent.status import Entry

MIB = 1 << 20
REPO, TOKEN = "test/tiny", "a word of its own"
MODEL = Item(Sort.MODEL, "tiny", REPO, "main")


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    made = Shelf(tmp_path / "cache", Limits(1 << 40, 0), set)
    made.wanted = set
    return made


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WebProcess]:
    """A model store with one model of 1 MiB."""
    folder = tmp_path / "models"
    write_model(folder, 1)
    process = WebProcess("models", folder)
    process.start()
    yield process
    process.stop()


@pytest.fixture
def repositories(tmp_path: Path) -> Iterator[WebProcess]:
    """A git server with one repository, `app.git`."""
    bare, work = tmp_path / "git" / "app.git", tmp_path / "work"
    who = ("-c", "user.name=Alice", "-c", "user.email=alice@company.com")
    git("init", "--bare", "--initial-branch=main", str(bare))
    git("clone", str(bare), str(work))
    for message in ("first", "second"):
        git("-C", str(work), *who, "commit", "--allow-empty", f"--message={message}")
    git("-C", str(work), "push", "origin", "HEAD:main")
    process = WebProcess("git", tmp_path / "git")
    process.start()
    yield process
    process.stop()


def write_model(folder: Path, length: int) -> None:
    """Offer the model with so many MiB."""
    (folder / REPO).mkdir(parents=True, exist_ok=True)
    (folder / REPO / "config.json").write_text("{}")
    with (folder / REPO / "weights").open("wb") as target:
        for _ in range(length):
            target.write(os.urandom(MIB))
    add_model.add(REPO, folder)


def git(*command: str) -> str:
    return subprocess.run(
        ["git", *command], check=True, capture_output=True, text=True
    ).stdout.strip()


def ignore(_entry: Entry) -> None:
    pass


def durations(shelf: Shelf) -> Durations:
    return Durations(shelf.root / FILE)


def test_a_download_that_is_cut_off_goes_on_from_its_byte(
    store: WebProcess, shelf: Shelf, tmp_path: Path
) -> None:
    write_model(tmp_path / "models", 64)
    models = Models(shelf, Web(store.url, lambda: None), durations(shelf))

    def end_early(entry: Entry) -> None:
        if (entry.length or 0) > MIB:
            store.stop(signal.SIGKILL)

    with pytest.raises(CacheError, match="it goes on"):
        models.keep(MODEL, end_early)
    store.start()
    entry = models.keep(MODEL, ignore)
    assert (entry.status, entry.present) == ("ready", True)
    path = models.snapshot(MODEL)
    assert path
    there, here = shelf.root / path, tmp_path / "models" / REPO
    assert (there / "weights").read_bytes() == (here / "weights").read_bytes()
    (resumed,) = (line for line in store.stop().splitlines() if "/weights " in line)
    assert 'range="bytes=' in resumed
    assert "status=206" in resumed
    assert 'range="bytes=0-' not in resumed


def test_a_store_with_a_token_is_for_those_who_have_it(store: WebProcess, shelf: Shelf) -> None:
    store.token.write_text(f"{TOKEN}\n")
    shown: str | None = None
    models = Models(shelf, Web(store.url, lambda: shown), durations(shelf))
    for shown in (None, "another"):  # noqa: B007 - the store is shown it
        with pytest.raises(CacheError):
            models.keep(MODEL, ignore)
    shown = TOKEN
    assert models.keep(MODEL, ignore).status == "ready"


NOWHERE = [
    f"/.hub/{REPO}/commit",
    f"/{REPO}/weights",
    f"/{REPO}/resolve/main/none",
    f"/{REPO}/resolve/{'0' * 40}/weights",
    f"/{REPO}/resolve/main/../../../../etc/passwd",
    f"/{REPO}/resolve/main/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
    "/api/models/test/none/revision/main",
    f"/api/models/{REPO}/blame/main",
]


def test_the_store_gives_nothing_but_the_files_of_models(store: WebProcess) -> None:
    def status(path: str) -> int:
        connection = HTTPConnection(urlsplit(store.url).netloc, timeout=10)
        connection.request("GET", path)
        found = connection.getresponse().status
        connection.close()
        return found

    assert status(f"/{REPO}/resolve/main/weights") == 200
    assert {path: status(path) for path in NOWHERE} == dict.fromkeys(NOWHERE, 404)


def test_a_repository_is_mirrored_by_branch_and_commit(
    repositories: WebProcess, shelf: Shelf, tmp_path: Path
) -> None:
    work = str(tmp_path / "work")
    first, second = git("-C", work, "rev-parse", "HEAD~1"), git("-C", work, "rev-parse", "HEAD")
    plan = "https://git.example/app.git"
    settings = GitSettings(
        protocols=("http",), mirrors={"https://git.example/": f"{repositories.url}/"}
    )
    mirrors = Mirrors(shelf, settings, os.environ, durations(shelf))
    kept = mirrors.keep(Item(Sort.MIRROR, "app", plan, "main"), ignore)
    assert kept.message == f"at commit {second[:12]}"
    kept = mirrors.keep(Item(Sort.MIRROR, "old", plan, "main", first), ignore)
    assert kept.message == f"at commit {first[:12]}"


def test_nobody_pushes_to_the_git_server(repositories: WebProcess, tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as raised:
        git("-C", str(tmp_path / "work"), "push", f"{repositories.url}/app.git", "HEAD:other")
    assert "403" in raised.value.stderr
