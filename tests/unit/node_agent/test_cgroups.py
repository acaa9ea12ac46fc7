from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from devctl_node_agent import cgroups
from devctl_node_agent.cgroups import MAX_PIDS, Cgroups, NoPodsError, Usage
from hypothesis import given
from hypothesis import strategies as st
from support.node_tree import OWN, Tree, uid

if TYPE_CHECKING:
    from pathlib import Path

TREES = [
    (version, systemd, parent)
    for version in (1, 2)
    for systemd in (False, True)
    for parent in ("", "devctl/e2e/node-1")
]


@pytest.fixture(params=TREES, ids=str)
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> Tree:
    version, systemd, parent = request.param
    return Tree(tmp_path, version, systemd, parent)


def test_pods_of_every_quality_are_found(tree: Tree) -> None:
    for number, quality in enumerate(("", "burstable", "besteffort")):
        tree.container(uid(number), "server", 10 + number, quality=quality)
        tree.use(uid(number), 1.5, 4096, quality)
    found = Cgroups(str(tree.cgroup), OWN)
    pods = found.pods()
    assert pods.keys() == {OWN, uid(0), uid(1), uid(2)}
    for number in range(3):
        assert found.usage(pods[uid(number)]) == Usage(1.5, 4096)
        (container,) = found.containers(pods[uid(number)])
        assert found.pids(container) == [10 + number]


def test_an_agent_without_a_quality_of_its_own_finds_the_others(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    own = uid(77)
    tree.container(own, "agent", quality="")
    tree.container(uid(1), "server", 10)
    assert uid(1) in Cgroups(str(tree.cgroup), own).pods()


def test_pods_of_another_node_of_the_machine_are_not(tmp_path: Path) -> None:
    Tree(tmp_path / "here", 1, systemd=False, parent="devctl/e2e/node-1")
    tree = Tree(tmp_path / "there", 1, systemd=False, parent="devctl/e2e/node-2")
    other = tree.cgroup / "cpuacct/devctl/e2e/node-1/kubepods/burstable" / f"pod{uid(5)}"
    other.mkdir(parents=True)
    assert Cgroups(str(tree.cgroup), OWN).pods().keys() == {OWN}


def test_controllers_that_are_mounted_together_are_found(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    (tree.cgroup / "cpuacct").rename(tree.cgroup / "cpu,cpuacct")
    assert Cgroups(str(tree.cgroup), OWN).pods().keys() == {OWN}


def test_an_agent_whose_pod_is_not_there_says_so(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    with pytest.raises(NoPodsError, match="is not below"):
        Cgroups(str(tree.cgroup), uid(9))


def test_processes_of_inner_groups_count(tree: Tree) -> None:
    path = tree.container(uid(1), "server", 10, 30)
    top = tree.cgroup if tree.version == 2 else tree.cgroup / "cpuacct"
    (top / path / "inner/deeper").mkdir(parents=True)
    (top / path / "inner/deeper/cgroup.procs").write_text("20\n0\n")
    assert Cgroups(str(tree.cgroup), OWN).pids(path) == [10, 20, 30]


def test_the_number_of_processes_is_bounded(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    path = tree.container(uid(1), "server", *range(1, 3 * MAX_PIDS))
    assert len(Cgroups(str(tree.cgroup), OWN).pids(path)) == MAX_PIDS + 1


def test_what_is_missing_is_unknown(tmp_path: Path) -> None:
    found = Cgroups(str(Tree(tmp_path).cgroup), OWN)
    assert found.usage("kubepods/gone") == Usage(None, None)
    assert found.containers("kubepods/gone") == []
    assert found.pids("kubepods/gone/server") == []
    found = Cgroups(str(Tree(tmp_path / "two", 2).cgroup), OWN)
    assert found.usage("kubepods/gone") == Usage(None, None)


@given(st.text(max_size=80))
def test_only_pods_have_uids(name: str) -> None:
    found = cgroups.pod_uid(name)
    assert found is None or found.replace("-", "_") in name.replace("-", "_")


@given(st.binary(max_size=300))
def test_no_content_is_an_error(data: bytes) -> None:
    assert all(pid > 0 for pid in cgroups.parse_pids(data))
    for parse in (cgroups.parse_cpuacct, cgroups.parse_cpu_stat):
        seconds = parse(data)
        assert seconds is None or seconds >= 0
    for parse_bytes in (cgroups.parse_blkio, cgroups.parse_io_stat):
        total = parse_bytes(data)
        assert total is None or total >= 0


def test_an_empty_io_stat_is_nothing_so_far() -> None:
    assert cgroups.parse_io_stat(b"") == 0
