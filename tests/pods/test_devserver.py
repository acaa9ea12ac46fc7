"""DevServers on real pods: what only a container shows; all else about them is in tests/plane."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.servers import KEEP, TWO_RANKS, DevServer, small_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl

    from devctl.local.images import Image

pytestmark = pytest.mark.usefixtures("deployed")


@pytest.fixture
def server(kubectl: Kubectl, namespace: str, images: dict[str, Image]) -> Iterator[DevServer]:
    """A small server; it is applied by the test."""
    with small_server(kubectl, namespace, images["base"].reference) as made:
        yield made


def test_it_becomes_ready_confined_and_with_shared_memory(
    server: DevServer, kubectl: Kubectl
) -> None:
    label = "pod-security.kubernetes.io/enforce=restricted"
    kubectl("label", "namespace", server.namespace, label)
    server.apply()
    server.wait("Ready")

    script = "id -u; df --output=fstype,size -B1M /dev/shm | tail -1; ls /run/secrets 2>&1 | wc -l"
    assert server.run(script).split()[:3] == ["1000", "tmpfs", "256"]
    assert server.run("ls /run/secrets/kubernetes.io 2>/dev/null | wc -l") == "0"
    assert server.run("grep -E '^(CapEff|NoNewPrivs)' /proc/self/status").split() == [
        "CapEff:",
        "0" * 16,
        "NoNewPrivs:",
        "1",
    ]


def test_ranks_know_their_place_and_find_each_other(server: DevServer) -> None:
    settings = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_FILE": "a b'\"$(HOME) {{ 1 + 1 }}"}
    block = {"worldSize": 4, "nprocsPerNode": 2, "backend": "gloo", "ncclSettings": settings}
    server.apply(mode="distributed", distributed=block)
    server.wait("Ready")

    names = "$NODE_RANK $NNODES $WORLD_SIZE $LOCAL_WORLD_SIZE $MASTER_ADDR $MASTER_PORT"
    for rank in (0, 1):
        words = f"{names} $DEVCTL_BACKEND $NCCL_DEBUG"
        assert server.run(f"echo {words}", rank) == f"{rank} 2 4 2 lab-0.lab 29500 gloo INFO"
        assert server.run('printf %s "$NCCL_DEBUG_FILE"', rank) == settings["NCCL_DEBUG_FILE"]
    address = server.run("hostname -i")
    assert server.run("getent hosts lab-0.lab", 1).split()[0] == address


def test_files_survive_what_a_server_goes_through(server: DevServer) -> None:
    """Which claim a pod has in each case, tests/plane shows: here, that files are in it."""
    server.apply()
    server.wait("Ready")
    server.run(KEEP)

    server.wait_for_successor(0, server.kill(0))
    assert server.run("cat /home/dev/file") == "kept", "a killed pod"

    server.stop()
    server.start(**TWO_RANKS)
    assert server.run("cat /home/dev/file") == "kept", "stop, change of mode, start"
    server.run("echo two > /home/dev/file", 1)

    server.delete()
    server.start()
    files = [server.run("cat /home/dev/file", rank) for rank in (0, 1)]
    assert files == ["kept", "two"], "deletion and the same server again"
