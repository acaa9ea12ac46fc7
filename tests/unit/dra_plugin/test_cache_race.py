"""The DRA plugin and the cache agent on one folder, without a lock: a promise is kept."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, cast

import pytest
from devctl_cache_agent.eviction import Limits
from devctl_cache_agent.in_use import InUse
from devctl_cache_agent.shelf import Shelf
from devctl_dra_plugin import files
from devctl_dra_plugin.cache_folder import is_there
from devctl_dra_plugin.claims import Claims

from devctl.api.node_cache import ROOT
from unit.dra_plugin.cluster import NODE, Memory, ref
from unit.dra_plugin.test_caches import DEVICES, asking, config

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from devctl_cache_agent.runtime import Runtime

MIRROR = "git/vllm"


class NoContainers:
    """A runtime whose containers are yet to be made."""

    def host_paths(self) -> set[str]:
        return set()


class Node:
    """A cache with a mirror that has to go, and a claim that wants it."""

    def __init__(self, root: Path) -> None:
        self.cache, self.folder, self.api = root / "cache", root / "cdi", Memory()
        self.folder.mkdir()
        table = root / "mountinfo"
        table.write_text(f"36 35 8:1 {ROOT} {ROOT} rw - ext4 /dev/vda1 rw\n")
        ask = InUse(
            cast("Runtime", NoContainers()),
            cache=ROOT,
            pods="/var/lib/kubelet/pods",
            mountinfo=table,
            cdi=self.folder,
            tell=lambda _errors: None,
        )
        self.steps = 0
        self.at = -1
        self.then: Callable[[], object] = self.evict
        self.shelf = Shelf(self.cache, Limits(1 << 40, 0), self._around(ask))
        (self.cache / MIRROR).mkdir()
        self.api.allocate(ref(1), 2, status=asking(config(repositories=["vllm"]))["status"])
        self.claims = Claims(
            *(NODE, self.api, root / "checkpoint.json", self.folder),
            is_there=self._around(lambda path: is_there(self.cache, path)),
        )
        self.claims.know(DEVICES)

    def prepare(self) -> bool:
        return not self.claims.prepare([ref(1)])["uid-1"].error

    def evict(self) -> None:
        self.shelf.remove(MIRROR)

    def _around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with something else done before or after it when its step has come."""

        def stepping(*arguments: Any) -> Any:
            self.step()
            found = function(*arguments)
            self.step()
            return found

        return stepping

    def step(self) -> None:
        self.steps += 1
        if self.steps == self.at:
            self.then()

    def keeps_its_word(self) -> None:
        promised = any("hostPath" in each.read_text() for each in self.folder.iterdir())
        assert not promised or (self.cache / MIRROR).is_dir()


@pytest.fixture
def node(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Node:
    caplog.set_level(logging.CRITICAL)
    return Node(tmp_path)


@pytest.mark.parametrize("at", range(1, 9))
def test_a_mirror_may_go_at_any_moment_of_preparing(
    node: Node, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    write = files.write_whole

    def writing(path: Path, text: str) -> None:
        write(path, text)
        node.step()

    monkeypatch.setattr(files, "write_whole", writing)
    node.at, node.then = at, node.evict
    node.prepare()
    node.keeps_its_word()
    # The kubelet asks until it is told that it may go on.
    assert node.prepare()
    node.keeps_its_word()


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_claim_may_come_at_any_moment_of_removing(node: Node, at: int) -> None:
    if at == 3:
        assert node.prepare()
    node.steps = 0
    node.at, node.then = at, node.prepare
    node.evict()
    node.keeps_its_word()
    assert node.prepare()
    node.keeps_its_word()


def test_a_mirror_that_nobody_wants_goes(node: Node) -> None:
    node.evict()
    assert not (node.cache / MIRROR).exists()
    assert node.prepare()
    node.keeps_its_word()
