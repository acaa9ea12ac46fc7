"""The cache agent's code with a repository that only its SSH key opens."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from devctl_cache_agent.durations import FILE, Durations
from devctl_cache_agent.eviction import Limits
from devctl_cache_agent.keys import HOSTS, KEY, Keys
from devctl_cache_agent.mirrors import Mirrors, Settings
from devctl_cache_agent.plan import Item, Sort
from devctl_cache_agent.problems import CacheError
from devctl_cache_agent.shelf import Shelf
from support.ssh_process import SshProcess

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from devctl_cache_agent.status import Entry


class Private:
    """A server with a private repository, and a node's agent.

    Attributes:
        server: The SSH server.
        commit: What the repository's branch `main` has.
    """

    def __init__(self, root: Path) -> None:
        self.server = SshProcess(root / "ssh")
        self._bare, work = root / "private.git", str(root / "work")
        who = ("-c", "user.name=Alice", "-c", "user.email=alice@company.com")
        git("init", "--bare", "--initial-branch=main", str(self._bare))
        git("clone", str(self._bare), work)
        git("-C", work, *who, "commit", "--allow-empty", "--message=first")
        git("-C", work, "push", "origin", "HEAD:main")
        self.commit = git("-C", work, "rev-parse", "HEAD")
        self._secret, lent = root / "secret", root / "lent"
        lent.mkdir()
        shelf = Shelf(root / "cache", Limits(1 << 40, 0), set)
        shelf.wanted = set
        settings = Settings(ssh=Keys(self._secret, lent, None))
        self._mirrors = Mirrors(shelf, settings, os.environ, Durations(shelf.root / FILE))

    def give(self, key: bytes, hosts: bytes) -> None:
        """Set the Secret `git-ssh`."""
        self._secret.mkdir(exist_ok=True)
        (self._secret / KEY).write_bytes(key)
        (self._secret / HOSTS).write_bytes(hosts)

    def mirror(self) -> Entry:
        """Fetch the repository."""
        url = f"ssh://git@127.0.0.1:{self.server.port}{self._bare}"
        return self._mirrors.keep(Item(Sort.MIRROR, "private", url, "main"), lambda _entry: None)


@pytest.fixture
def private(tmp_path: Path) -> Iterator[Private]:
    made = Private(tmp_path)
    made.server.start()
    yield made
    made.server.stop()


def git(*command: str) -> str:
    return subprocess.run(
        ["git", *command], check=True, capture_output=True, text=True
    ).stdout.strip()


def test_a_private_repository_needs_its_key_and_a_host_that_is_believed(private: Private) -> None:
    server = private.server
    with pytest.raises(CacheError, match="Secret `git-ssh`"):
        private.mirror()
    private.give(server.key("other"), server.known_host())
    with pytest.raises(CacheError, match="Permission denied"):
        private.mirror()
    private.give(server.key("client"), server.known_host("other"))
    with pytest.raises(CacheError, match="Host key verification failed"):
        private.mirror()
    private.give(server.key("client"), server.known_host())
    assert private.mirror().message == f"at commit {private.commit[:12]}"
