from __future__ import annotations

import os
import signal
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from devctl.errors import HostError
from devctl.local import cgroups
from devctl.local.cgroups import create, hierarchies, path_of, process_files, processes, remove

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def v1(tmp_path: Path) -> Path:
    root = tmp_path / "v1"
    for name in ("cpu,cpuacct", "cpuset", "memory", "unified"):
        (root / name).mkdir(parents=True)
        (root / name / "cgroup.procs").touch()
    (root / "cpu").symlink_to("cpu,cpuacct")
    (root / "cpuset" / "cpuset.cpus").write_text("0-3\n")
    (root / "cpuset" / "cpuset.mems").write_text("0\n")
    # What a hybrid host also mounts: runc makes groups there too.
    (root / "unified" / "cgroup.controllers").touch()
    # Not a hierarchy at all.
    (root / "other").mkdir()
    return root


@pytest.fixture
def v2(tmp_path: Path) -> Path:
    """The kernel fills a new group with files; here they must be there before."""
    root = tmp_path / "v2"
    for folder in (root, root / "devctl", root / "devctl" / "lab"):
        folder.mkdir()
        (folder / "cgroup.procs").touch()
        (folder / "cgroup.controllers").write_text("cpuset cpu memory pids\n")
        (folder / "cgroup.subtree_control").touch()
    return root


@pytest.fixture
def stopped_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look at the clock is a second later, and nobody sleeps."""
    ticks = iter(range(1000))
    clock = SimpleNamespace(monotonic=lambda: float(next(ticks)), sleep=lambda _: None)
    monkeypatch.setattr(cgroups, "time", clock)


def test_v1_has_a_hierarchy_for_each_controller_and_links_are_none(v1: Path) -> None:
    assert [h.name for h in hierarchies(v1)] == ["cpu,cpuacct", "cpuset", "memory", "unified"]


def test_v2_has_one(v2: Path) -> None:
    assert hierarchies(v2) == [v2]


def test_a_host_without_control_groups_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="no control groups"):
        hierarchies(tmp_path)


@pytest.mark.parametrize(
    ("names", "path"), [(("lab",), "devctl/lab"), (("lab", "lab-1"), "devctl/lab/lab-1")]
)
def test_a_group_is_named_after_cluster_and_node(names: tuple[str, ...], path: str) -> None:
    assert path_of(*names).strip("/") == path


def test_create_copies_the_cpuset_all_the_way_down_on_v1(v1: Path) -> None:
    create("/devctl/lab/lab-1", v1)
    for hierarchy in hierarchies(v1):
        assert (hierarchy / "devctl" / "lab" / "lab-1").is_dir()
    for part in ("devctl", "devctl/lab", "devctl/lab/lab-1"):
        assert (v1 / "cpuset" / part / "cpuset.cpus").read_text() == "0-3\n"
        assert (v1 / "cpuset" / part / "cpuset.mems").read_text() == "0\n"
    assert list((v1 / "memory" / "devctl").iterdir()) == [v1 / "memory" / "devctl" / "lab"]


def test_create_hands_every_controller_down_on_v2(v2: Path) -> None:
    create("/devctl/lab/lab-1", v2)
    for folder in (v2, v2 / "devctl", v2 / "devctl" / "lab"):
        assert (folder / "cgroup.subtree_control").read_text() == "+cpuset +cpu +memory +pids"
    # Processes go here, so it must hand nothing down.
    assert list((v2 / "devctl" / "lab" / "lab-1").iterdir()) == []


def test_create_again_changes_nothing(v1: Path) -> None:
    create("/devctl/lab", v1)
    before = sorted(v1.rglob("*"))
    create("/devctl/lab", v1)
    assert sorted(v1.rglob("*")) == before


def test_a_process_enters_the_group_in_every_hierarchy(v1: Path, v2: Path) -> None:
    assert process_files("/devctl/lab", v2) == [v2 / "devctl" / "lab" / "cgroup.procs"]
    assert process_files("/devctl/lab", v1) == [
        hierarchy / "devctl" / "lab" / "cgroup.procs" for hierarchy in hierarchies(v1)
    ]


def test_processes_of_all_children_count_once(v1: Path) -> None:
    for hierarchy, group, pids in [
        ("memory", "devctl/lab", ""),
        ("memory", "devctl/lab/lab-1/system", "11\n12\n"),
        ("cpuset", "devctl/lab/lab-1/kubepods/pod1", "12\n13\n"),
        ("cpuset", "devctl/labor", "99\n"),
    ]:
        (v1 / hierarchy / group).mkdir(parents=True)
        (v1 / hierarchy / group / "cgroup.procs").write_text(pids)
    assert processes("/devctl/lab", v1) == {11, 12, 13}
    assert processes("/devctl/nobody", v1) == set()


@pytest.mark.usefixtures("stopped_clock")
def test_kill_goes_on_until_nobody_is_left(v2: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = v2 / "devctl" / "lab" / "cgroup.procs"
    file.write_text("11\n12\n")
    killed: list[tuple[int, int]] = []

    def die(pid: int, number: int) -> None:
        killed.append((pid, number))
        left = set(file.read_text().split()) - {str(pid)}
        # One had just forked, and one is gone when its turn comes.
        file.write_text("\n".join(left | ({"13"} if pid == 11 else set())))
        if pid == 12:
            raise ProcessLookupError

    monkeypatch.setattr(cgroups, "os", SimpleNamespace(kill=die, walk=os.walk))
    cgroups.kill("/devctl/lab", root=v2)
    assert sorted(killed) == [(pid, signal.SIGKILL) for pid in (11, 12, 13)]


@pytest.mark.usefixtures("stopped_clock")
def test_processes_that_do_not_end_are_named(v2: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (v2 / "devctl" / "lab" / "cgroup.procs").write_text("12\n11\n")
    system = SimpleNamespace(kill=lambda _pid, _signal: None, walk=os.walk)
    monkeypatch.setattr(cgroups, "os", system)
    with pytest.raises(HostError, match=r"^2 processes of `/devctl/lab` .* \(first pid 11\)$"):
        cgroups.kill("/devctl/lab", root=v2)


def test_remove_takes_everything_below_and_the_parent_when_it_is_empty(v1: Path) -> None:
    for hierarchy in hierarchies(v1):
        (hierarchy / "devctl" / "lab" / "lab-1" / "kubepods").mkdir(parents=True)
    (v1 / "memory" / "devctl" / "other").mkdir()
    remove("/devctl/lab", v1)
    assert not (v1 / "cpuset" / "devctl").exists()
    assert list((v1 / "memory" / "devctl").iterdir()) == [v1 / "memory" / "devctl" / "other"]
    remove("/devctl/lab", v1)


@pytest.mark.usefixtures("stopped_clock")
def test_a_busy_group_is_named(v2: Path) -> None:
    # A folder with files in it cannot be removed, as a group with processes cannot.
    with pytest.raises(HostError, match="cannot remove control group") as raised:
        remove("/devctl/lab", v2)
    assert str(v2 / "devctl" / "lab") in raised.value.message
