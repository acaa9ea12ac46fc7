"""What is in use, by runtime, kernel and claims: what nobody knows counts as used."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import pytest
from devctl_cache_agent.in_use import InUse
from devctl_cache_agent.mounts import promised
from devctl_cache_agent.problems import CacheError
from devctl_dra_plugin import cdi as dra
from devctl_dra_plugin.planning import Given, Preparation, Shared

if TYPE_CHECKING:
    from pathlib import Path

    from devctl_cache_agent.runtime import Runtime

CACHE, PODS = "/var/lib/canhazgpu/cache", "/var/lib/kubelet/pods"


class Containers:
    """What the runtime says."""

    def host_paths(self) -> set[str]:
        return {f"{CACHE}/git/mounted", "/etc"}


class Node:
    """A node's tables and files."""

    def __init__(self, root: Path) -> None:
        self.folder, self.table = root / "cdi", root / "mountinfo"
        self.folder.mkdir()
        self.table.write_text(f"36 35 8:1 {CACHE} {CACHE} rw - ext4 /dev/vda1 rw\n")
        self.told: list[str] = []
        self.used = InUse(
            cast("Runtime", Containers()),
            cache=CACHE,
            pods=PODS,
            mountinfo=self.table,
            cdi=self.folder,
            tell=self.tell,
        )

    def tell(self, errors: list[str]) -> None:
        self.told = errors

    def promise(self, uid: str, *paths: str) -> Path:
        """What the DRA plugin itself writes of a claim."""
        given = (Given("main", 0, "GPU-0", None),)
        claim = Preparation(uid, "team", "one", given, shared=(Shared("main", paths),))
        file = self.folder / dra.file_name(uid)
        file.write_text(json.dumps(dra.specification(claim)))
        return file


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_what_claims_were_promised_is_in_use_until_they_end(node: Node) -> None:
    assert node.used() == {"git/mounted"}
    file = node.promise("uid-1", "git/vllm", "models/models--gpt2")
    node.promise("uid-2")
    assert node.used() == {"git/mounted", "git/vllm", "models/models--gpt2"}
    assert node.told == []
    file.unlink()
    assert node.used() == {"git/mounted"}


def test_other_drivers_files_are_not_read(node: Node) -> None:
    for name in ("nvidia.yaml", "other.json", ".canhazgpu.com-gpu_uid-1.json.new"):
        (node.folder / name).write_text("no json")
    assert node.used() == {"git/mounted"}


@pytest.mark.parametrize("broken", ["file", "content", "folder", "table"])
def test_what_cannot_be_read_is_in_use(node: Node, broken: str) -> None:
    file = node.promise("uid-1", "git/vllm")
    if broken == "file":
        file.unlink()
        file.mkdir()
    elif broken == "content":
        file.write_text("{")
    elif broken == "folder":
        file.unlink()
        node.folder.rmdir()
    else:
        node.table.write_text("")
    assert node.used() is None
    (said,) = node.told
    assert said.startswith("what pods use is unknown, so that nothing is removed: ")


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        {},
        {"devices": 7},
        {"devices": [7]},
        {"devices": [{}]},
        {"devices": [{"containerEdits": {"mounts": [{}]}}]},
        {"devices": [{"containerEdits": {"mounts": [{"hostPath": 7}]}}]},
        {"devices": [{"containerEdits": {"mounts": [{"hostPath": []}]}}]},
    ],
)
def test_a_specification_that_is_none_is_no_empty_one(wrong: Any) -> None:
    with pytest.raises(
        CacheError, match=r"a CDI specification (cannot be read|has a path that is none)"
    ):
        promised(json.dumps(wrong))
