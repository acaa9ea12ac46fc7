from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.local import namespaces
from devctl.local.namespaces import enter, exist, mount_points, remove

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from devctl.local.paths import ClusterPaths, NodePaths

MOUNTINFO = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:25 / /sys/fs/cgroup rw shared:9 - tmpfs tmpfs rw,mode=755
31 22 0:4 net:[4026532] /srv/a\\040b\\011c/run/net rw - nsfs nsfs rw
"""


@pytest.fixture
def node(paths: ClusterPaths) -> NodePaths:
    return paths.node("lab-1")


def mountinfo_of(*points: str) -> str:
    """As the kernel writes it: these characters in octal."""
    escaped = ("".join(f"\\{ord(c):03o}" if c in " \t\\" else c for c in point) for point in points)
    return "".join(f"22 1 8:1 / {point} rw - ext4 /dev/sda1 rw\n" for point in escaped)


def test_mount_points_come_in_the_order_of_mounting() -> None:
    assert mount_points(MOUNTINFO) == ["/", "/sys/fs/cgroup", "/srv/a b\tc/run/net"]


@given(st.lists(st.text("a0134 \t\\/", min_size=1), max_size=4))
def test_escaped_mount_points_come_back(points: list[str]) -> None:
    assert mount_points(mountinfo_of(*points)) == points


def test_a_node_is_there_when_both_handles_are_mounted(
    node: NodePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts: list[str] = []
    monkeypatch.setattr(namespaces, "current_mounts", lambda: mounts)
    assert not exist(node)
    mounts.append(str(node.mount_namespace))
    assert not exist(node)
    mounts.append(str(node.network_namespace))
    assert exist(node)
    # The handles as bare files, which is what a reboot leaves.
    node.run.mkdir(parents=True)
    node.mount_namespace.touch()
    node.network_namespace.touch()
    mounts.clear()
    assert not exist(node)


def test_enter_names_both_handles_and_ends_the_options(node: NodePaths) -> None:
    assert enter(node) == [
        "nsenter",
        f"--mount={node.mount_namespace}",
        f"--net={node.network_namespace}",
        "--",
    ]


def test_remove_unmounts_a_nodes_own_mounts_the_last_one_first(
    paths: ClusterPaths, node: NodePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour = paths.node("lab-10")
    own = [str(node.run), str(node.mount_namespace), str(node.network_namespace)]
    mounts = ["/", *own, str(neighbour.run), str(neighbour.mount_namespace)]
    unmounted: list[str] = []

    def record(argv: Sequence[str | Path], _log: Path, *, what: str) -> None:
        assert what
        unmounted.append(str(argv[-1]))

    monkeypatch.setattr(namespaces, "current_mounts", lambda: mounts)
    monkeypatch.setattr(namespaces, "run_logged", record)
    node.run.mkdir(parents=True)
    neighbour.run.mkdir(parents=True)
    remove(node)
    assert unmounted == own[::-1]
    assert not node.run.exists()
    assert neighbour.run.is_dir()
