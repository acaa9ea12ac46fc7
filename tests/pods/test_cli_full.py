"""A home that is full: it is said so, and what was there is as it was."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from support.command_line import CommandLine
from support.servers import TWO_RANKS, DevServer, small_server
from support.small_home import small_home

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.commands import Kubectl

    from devctl.local.paths import ClusterPaths
    from devctl.local.settings import ClusterSettings

    Leave = Callable[[int], None]

LARGE = 3 << 20
TINY = "/run/devctl"
"""A volume of 1 MiB that every pod has."""
HOME_FULL = "  fix: delete files there, or raise spec.persistentHomeSize"
FOLDER = "project"
FREE = "$(($(stat -f -c '%a * %S' .)))"
"""How many bytes there is room for in a home."""
TORCHRUN = """
mkdir -p .local/bin && cat >.local/bin/torchrun <<'END' && chmod +x .local/bin/torchrun
#!/bin/sh
until [ "$1" = --no-python ]; do shift; done
shift
exec "$@"
END
"""
"""Starts what it is to start and no more: nothing here is about training."""
PRINTS = "[ $NODE_RANK != 0 ] || head -c 500000 /dev/zero"


@pytest.fixture(scope="module")
def server(
    kubectl: Kubectl,
    cluster: ClusterSettings,
    paths: ClusterPaths,
    torch_image: str,
) -> Iterator[DevServer]:
    """A server of two ranks. The home of rank 0 has 4 MiB, that of the other one room enough."""
    namespace = f"full-{uuid4().hex[:6]}"
    kubectl("create", "namespace", namespace)
    node = paths.node(f"{cluster.name}-2")
    with (
        small_home(kubectl, node, namespace, "home-lab-0", "4m"),
        small_server(kubectl, namespace, torch_image, **TWO_RANKS) as made,
    ):
        made.apply()
        made.wait("Ready")
        for rank in (0, 1):
            made.run(TORCHRUN, rank)
        yield made
        made.delete()
        kubectl("-n", namespace, "delete", "pvc", "--all")
    kubectl("delete", "namespace", namespace, "--wait=false")


@pytest.fixture
def user(paths: ClusterPaths, server: DevServer, tmp_path: Path) -> CommandLine:
    """A shell in the server's namespace."""
    (tmp_path / "home").mkdir()
    return CommandLine(paths.kubeconfig, server.namespace, tmp_path / "home")


@pytest.fixture
def leave(server: DevServer) -> Iterator[Leave]:
    """Fills the home of rank 0 but for some bytes."""
    for rank in (0, 1):
        server.run(f"mkdir {FOLDER} && echo old >{FOLDER}/kept", rank)

    def fill(free: int) -> None:
        server.run(f"head -c $(({FREE} - {free})) /dev/zero >>filling || true")

    yield fill
    for rank in (0, 1):
        server.run(f"rm -rf {FOLDER} filling", rank)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder of the same name here, with a file that is new and one that does not fit."""
    folder = tmp_path / FOLDER
    folder.mkdir()
    (folder / "kept").write_text("newer\n")
    (folder / "large").write_bytes(os.urandom(LARGE))
    (folder / "train.sh").write_text("echo it runs\n")
    return folder


def as_it_was(server: DevServer) -> bool:
    """Whether nothing has come, and nothing is left of what was on its way."""
    look = f"cd {FOLDER} && ls -A && cat kept"
    return [server.run(look, rank).split() for rank in (0, 1)] == [["kept", "old"]] * 2


def test_what_does_not_fit_leaves_all_as_it_was(
    user: CommandLine, server: DevServer, project: Path, leave: Leave
) -> None:
    leave(1 << 20)
    large = str(project / "large")
    for line in (
        ("cp", large, f"lab:{FOLDER}/"),
        ("sync", "lab", str(project), FOLDER, "--overwrite"),
        ("run", "--overwrite", "lab", str(project / "train.sh")),
    ):
        said = user.fails(1, *line)
        error, fix = said.splitlines()[-2:]
        assert error.startswith("error: `lab-0:/home/dev")
        assert "`: the home is full: " in error
        assert error.endswith("; nothing was changed")
        assert fix == HOME_FULL
        assert as_it_was(server), line
    (project / "large").unlink()
    user.must("sync", "lab", str(project), FOLDER, "--overwrite")
    assert [server.run(f"cat {FOLDER}/kept", rank) for rank in (0, 1)] == ["newer", "newer"]


def test_another_volume_that_is_full_is_named(user: CommandLine, project: Path) -> None:
    error, fix = user.fails(1, "cp", str(project / "large"), f"lab:{TINY}/x").splitlines()[-2:]
    assert error.startswith(f"error: `lab-0:{TINY}`: the volume is full: ")
    assert fix == "  fix: delete files there, or copy to a place below /home/dev"


def test_a_run_says_that_its_home_is_full(user: CommandLine, leave: Leave) -> None:
    # What a run prints goes to the home, its complaints too.
    line = ("run", "--no-sync", "lab", "/bin/sh", "-c", PRINTS)
    leave(300_000)
    failed = user(*line)
    leave(0)
    error, fix = user.fails(1, *line).splitlines()[-2:]
    said = failed.stderr.decode()
    assert failed.returncode not in {0, 130}, said
    assert "replica 0: there is no room in its home: free space there, or raise spec" in said
    assert re.search(r"run `.*` has failed: replica 0 ended with exit code", said), said
    assert error.startswith("error: replica 0: the home is full: ")
    assert "No space left on device" in error
    assert fix == "  fix: free space in it, or raise spec.persistentHomeSize"
