"""Preparing and unpreparing, with everything that may die in between."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

import pytest
from devctl_dra_plugin import cdi, checkpoint, files
from devctl_dra_plugin.api import ApiError
from devctl_dra_plugin.claims import Claims
from devctl_dra_plugin.devices import made_up
from devctl_dra_plugin.messages import ClaimRef
from hypothesis import given
from hypothesis import strategies as st

from unit.dra_plugin.cluster import NODE, Memory, claim, ref

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DEVICES = made_up(NODE, 4)


class Node:
    """A node's files, and plugins that start on it."""

    def __init__(self, root: Path) -> None:
        self.api = Memory()
        self.state, self.folder = root / "checkpoint.json", root / "cdi"
        self.folder.mkdir()

    def start(self) -> Claims:
        claims = Claims(NODE, self.api, self.state, self.folder)
        claims.know(DEVICES)
        return claims

    def files(self) -> set[str]:
        return {file.name for file in self.folder.iterdir()}

    def stored(self) -> set[str]:
        return set(checkpoint.read(self.state) or {})


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def names(*numbers: int) -> set[str]:
    return {cdi.file_name(f"uid-{number}") for number in numbers}


def test_a_claim_is_prepared_once_and_for_all(node: Node) -> None:
    node.api.allocate(ref(1), 2)
    claims = node.start()
    first = claims.prepare([ref(1)])
    assert [each.device for each in first["uid-1"].devices] == ["gpu-2"]
    assert node.files() == names(1)
    node.api.is_away = True
    assert claims.prepare([ref(1)]) == first, "what is known needs no API server"
    assert node.start().prepare([ref(1)]) == first, "nor after a restart"


def test_an_error_is_its_claims_own(node: Node) -> None:
    node.api.allocate(ref(1), 0)
    node.api.allocate(ref(3), 9)
    answers = node.start().prepare([ref(1), ref(2), ref(3)])
    assert {uid: each.error for uid, each in answers.items()} == {
        "uid-1": "",
        "uid-2": "there is no such claim",
        "uid-3": "node `node-1` has no device `gpu-9`",
    }
    assert node.files() == names(1)
    assert node.stored() == {"uid-1"}


def test_while_the_api_server_is_away_new_claims_wait(node: Node) -> None:
    node.api.is_away = True
    assert node.start().prepare([ref(1)])["uid-1"].error == "the API server: away"


def test_a_claim_of_the_same_name_with_another_uid_is_refused(node: Node) -> None:
    node.api.allocate(ref(1), 0)
    claims = node.start()
    other = claims.prepare([ClaimRef("team-a", "uid-9", "claim-1")])
    assert other["uid-9"].error == "the claim of this name has another UID than uid-9"
    claims.prepare([ref(1)])
    newer = ClaimRef("team-a", "uid-2", "claim-1")
    node.api.allocate(newer, 1)
    assert "still holds its name" in claims.prepare([newer])["uid-2"].error
    assert claims.unprepare([ref(1)]) == {"uid-1": ""}
    assert claims.prepare([newer])["uid-2"].error == ""


def test_a_uid_that_is_none_becomes_no_file(node: Node) -> None:
    odd = ClaimRef("team-a", "../../x", "claim-1")
    node.api.allocate(odd, 0)
    assert "another UID" in node.start().prepare([odd])["../../x"].error


def test_what_is_unprepared_leaves_nothing(node: Node) -> None:
    node.api.allocate(ref(1), 0)
    claims = node.start()
    claims.prepare([ref(1)])
    assert claims.unprepare([ref(1), ref(2)]) == {"uid-1": "", "uid-2": ""}
    assert claims.unprepare([ref(1)]) == {"uid-1": ""}
    assert node.files() == node.stored() == set()


def test_a_gpu_is_nobody_elses_until_it_is_unprepared(node: Node) -> None:
    """A pod that was deleted by force may still run here while its claim is gone."""
    node.api.allocate(ref(1), 0)
    node.api.allocate(ref(2), 0)
    claims = node.start()
    claims.prepare([ref(1)])
    refused = "claim team-a/claim-1 (UID uid-1) still holds GPU 0 on this node"
    assert node.start().prepare([ref(2)])["uid-2"].error == refused
    claims.unprepare([ref(1)])
    assert not claims.prepare([ref(2)])["uid-2"].error


def test_files_that_were_lost_are_made_again(node: Node) -> None:
    node.api.allocate(ref(1), 0)
    claims = node.start()
    claims.prepare([ref(1)])
    (file,) = node.folder.iterdir()
    content = file.read_text()
    for repair in (lambda: node.start().is_complete, claims.repair):
        file.unlink()
        node.api.is_away = True
        repair()
        assert file.read_text() == content


def test_after_the_nodes_restart_a_claim_that_is_gone_gives_way(node: Node) -> None:
    node.api.allocate(ref(1), 0)
    node.start().prepare([ref(1)])
    (node.folder / cdi.file_name("uid-1")).unlink()
    node.start()
    # Its second start is not the node's.
    claims = node.start()
    node.api.allocate(ref(2), 0)
    assert not claims.prepare([ref(2)])["uid-2"].error
    assert node.files() == names(2)
    assert node.stored() == {"uid-2"}


def test_files_of_claims_that_nobody_holds_are_removed_and_no_others(node: Node) -> None:
    node.start().complete()
    for name in (cdi.file_name("uid-7"), "nvidia.yaml"):
        (node.folder / name).write_text("{}")
    node.start()
    assert node.files() == {"nvidia.yaml"}


@pytest.mark.parametrize("content", [None, "", "{}", '{"version": 2, "claims": []}', "[1]"])
def test_a_lost_checkpoint_is_made_again_from_the_claims(node: Node, content: str | None) -> None:
    for number, index in ((1, 0), (2, 1)):
        node.api.allocate(ref(number), index)
    node.start().prepare([ref(1), ref(2)])
    node.api.allocate(ref(3), 0, node="node-2")
    unused = claim(ref(4), 3)["status"] | {"reservedFor": []}
    node.api.allocate(ref(4), 3, status=unused)
    node.state.unlink()
    for file in node.folder.iterdir():
        file.unlink()
    if content is not None:
        node.state.write_text(content)
    claims = node.start()
    assert not claims.is_complete
    node.api.is_away = True
    with pytest.raises(ApiError, match="away"):
        claims.complete()
    node.api.is_away = False
    claims.complete()
    assert claims.is_complete
    assert node.files() == names(1, 2)
    assert node.stored() == {"uid-1", "uid-2"}
    assert claims.unprepare([ref(1)]) == {"uid-1": ""}


def test_a_claim_that_is_gone_for_good_is_dropped_with_the_record(node: Node) -> None:
    node.api.allocate(ref(1), 0)
    node.start().prepare([ref(1)])
    node.api.objects.clear()
    node.state.unlink()
    node.start().complete()
    assert node.files() == node.stored() == set()


def test_a_file_that_cannot_be_written_is_the_claims_error(
    node: Node, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    node.api.allocate(ref(1), 0)
    claims = node.start()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "write", full)
        assert "No space left" in claims.prepare([ref(1)])["uid-1"].error
    assert not claims.prepare([ref(1)])["uid-1"].error
    with monkeypatch.context() as patch:
        patch.setattr(files, "remove", full)
        assert "No space left" in claims.unprepare([ref(1)])["uid-1"]
    assert node.stored() == {"uid-1"}


class KilledError(BaseException):
    """The process is gone."""


class Disk:
    """What is written and removed, until the process is killed before a write."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.left = 0
        patch.setattr(files, "write_whole", self.through(files.write_whole))
        patch.setattr(checkpoint, "write_whole", files.write_whole)
        patch.setattr(files, "remove", self.through(files.remove))

    def through(self, function: Callable[..., None]) -> Callable[..., None]:
        def write(*args: object) -> None:
            self.left -= 1
            if self.left == -1:
                raise KilledError
            function(*args)

        return write


def ask_until_answered(node: Node, action: str, which: ClaimRef) -> bool:
    """What the kubelet does; returns whether the claim is prepared."""
    while True:
        try:
            claims = node.start()
            if action == "prepare":
                return not claims.prepare([which])[which.uid].error
            claims.unprepare([which])
        except KilledError:
            continue
        return False


@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(["prepare", "unprepare"]),
            st.integers(1, 4),
            st.integers(0, 3),
            st.integers(0, 5),
        ),
        max_size=12,
    )
)
def test_no_gpu_is_handed_out_twice_whenever_the_plugin_dies(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int, int]]
) -> None:
    """Claims that want any GPU come and go, and the plugin dies before any of its writes."""
    node = Node(tmp_path_factory.mktemp("node"))
    using: dict[int, int] = {}
    with pytest.MonkeyPatch.context() as patch:
        disk = Disk(patch)
        for action, number, index, disk.left in steps:
            wanted = using.pop(number, index)
            node.api.allocate(ref(number), wanted)
            if ask_until_answered(node, action, ref(number)):
                using[number] = wanted
            assert len(set(using.values())) == len(using)
            for each, gpu in using.items():
                spec = json.loads((node.folder / cdi.file_name(ref(each).uid)).read_text())
                assert f"CANHAZGPU_DEVICES={gpu}" in spec["devices"][0]["containerEdits"]["env"]
