"""A host that cannot carry a cluster: one clear line, one way out, and nothing half-done.

What can be refused without a look at the host is in tests/unit/cli/test_main.py.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from support.commands import devctl
from support.tiers.prepare import CLUSTER

from devctl.local.lock import hold
from devctl.local.paths import cache_paths, cluster_paths, state_folder
from devctl.local.status import find_kubectl

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Kubectl

    from devctl.local.settings import ClusterSettings

pytestmark = pytest.mark.exclusive

NAME = f"{CLUSTER}-bad"


def lines(result: subprocess.CompletedProcess[str]) -> list[str]:
    """What a person reads: the error's lines, less the closing ones of a step that failed."""
    assert "Traceback" not in result.stderr
    return result.stderr.splitlines()


def unshared(what: str, first: str) -> tuple[str, ...]:
    """What stands before a command that runs in namespaces of its own, after some shell text."""
    return ("unshare", *what.split(), "sh", "-c", f'{first} && exec "$@"', "sh")


def memory(folder: Path, size: str) -> str:
    """Shell text that gives a folder so much room, of which next to nothing is used."""
    return f"mount -t tmpfs -o size={size} none {folder}"


@pytest.fixture(autouse=True)
def nothing_half_done() -> Iterator[None]:
    """No refused cluster leaves a folder."""
    yield
    assert not (cluster_paths(NAME).root / "cluster.json").exists()


def test_a_range_that_the_host_uses_names_the_interface() -> None:
    office = (
        "ip link add office type bridge && ip address add 198.18.200.9/24 dev office"
        " && ip link set office up"
    )
    result = devctl(
        *("local", "up", "--name", NAME, "--node-range", "198.18.200.0/24"),
        prefix=unshared("--net", office),
    )
    assert result.returncode == 1
    first, fix = lines(result)
    assert first == (
        "error: node range `198.18.200.0/24` is in use by interface `office` (198.18.200.0/24)"
    )
    assert fix == "  fix: give another `--node-range`"


def test_a_corrupt_cached_program_is_named(cluster: ClusterSettings, tmp_path: Path) -> None:
    kubectl = find_kubectl(cache_paths())
    assert kubectl is not None
    program, corrupt = kubectl.with_name("kubeadm"), tmp_path / "kubeadm"
    corrupt.write_bytes(program.read_bytes()[:-1] + b"!")
    # Others use the cache meanwhile.
    prefix = unshared("--mount", f"mount --bind {corrupt} {program}")
    result = devctl("local", "up", "--name", cluster.name, prefix=prefix)
    assert result.returncode == 1
    assert lines(result)[0] == (
        f"error: cached file `{program}` is corrupt: its checksum is not the recorded one"
    )
    assert lines(result)[1] == f"  fix: remove `{program.parent}` and run it again"


def test_no_network_for_a_needed_package(tmp_path: Path) -> None:
    # The disk may have no room for a second cluster.
    room = f"ip link set lo up && {memory(tmp_path, '64g')}"
    result = devctl(
        *("local", "up", "--name", NAME),
        prefix=unshared("--net --mount", room),
        env={"DEVCTL_STATE_DIR": str(tmp_path)},
    )
    assert result.returncode == 1
    first = lines(result)[0]
    assert first.startswith("error: cannot ")
    assert ": no network: " in first


def test_anothers_cluster_of_the_same_name_is_left_alone(
    cluster: ClusterSettings, kubectl: Kubectl, tmp_path: Path
) -> None:
    name, folder = cluster.name, state_folder()
    result = devctl(
        *("local", "up", "--name", name),
        prefix=unshared("--mount", memory(tmp_path, "64g")),
        env={"DEVCTL_STATE_DIR": str(tmp_path)},
    )
    assert result.returncode == 1
    what, fix = lines(result)
    assert what == (
        f"error: another cluster `{name}` is up on this machine, from the state folder `{folder}`"
    )
    assert f"`DEVCTL_STATE_DIR={folder} devctl local down --name {name}`" in fix
    assert "Ready" in kubectl("get", "nodes")


def test_too_little_disk_says_how_much_is_missing(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    result = devctl(
        *("local", "up", "--name", NAME),
        prefix=unshared("--mount", memory(small, "64m")),
        env={"DEVCTL_STATE_DIR": str(small)},
    )
    assert result.returncode == 1
    assert lines(result)[0].startswith(f"error: 0.1 GiB are free under `{small}`, ")
    assert lines(result)[0].endswith(" are needed")


def test_a_user_who_is_not_root_is_told_so(tmp_path: Path) -> None:
    result = devctl(
        *("local", "up", "--name", NAME),
        # Root without its name is what a user namespace gives: the checkout stays readable.
        prefix=("unshare", "--user", "--map-user=1000"),
        env={"DEVCTL_STATE_DIR": str(tmp_path)},
    )
    assert result.returncode == 1
    assert lines(result) == [
        "error: the local cluster needs root: it makes namespaces and mounts",
        "  fix: run it with sudo",
    ]


def test_a_second_up_names_the_first_ones_pid(cluster: ClusterSettings) -> None:
    with hold(cluster_paths(cluster.name).lock, "the tests' cluster"):
        result = devctl("local", "up", "--name", cluster.name)
    assert result.returncode == 1
    assert (
        f"cluster `{cluster.name}` is being changed by another devctl (pid {os.getpid()})"
        in result.stderr
    )
