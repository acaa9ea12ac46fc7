"""The image that people work in: training over two nodes, and a shell over SSH without a port."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from support.commands import must
from support.servers import TWO_RANKS, DevServer, apply_flavor, wait_until

from devctl.local.paths import cache_paths
from devctl.local.status import find_kubectl

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Kubectl

    from devctl.local.paths import ClusterPaths

ALL_REDUCE = """
import torch, torch.distributed as dist
dist.init_process_group("gloo")
value = torch.tensor([float(dist.get_rank() + 1)])
dist.all_reduce(value)
print("sum", value.item(), "of", dist.get_world_size())
dist.destroy_process_group()
"""
TASTE = "import torch, torchvision, sklearn, numpy, safetensors; print(torch.ones(2).sum().item())"


@pytest.fixture(scope="module")
def server(
    kubectl: Kubectl,
    torch_image: str,
) -> Iterator[DevServer]:
    """A distributed server of two ranks with devctl's own image, in a restricted namespace."""
    namespace = "training"
    kubectl("create", "namespace", namespace)
    kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
    requests = {"cpu": "100m", "memory": "256Mi"}
    apply_flavor(kubectl, namespace, resources={"requests": requests, "limits": {"memory": "2Gi"}})
    spec = {
        "owner": "alice@company.com",
        "flavor": namespace,
        "image": torch_image,
        "persistentHomeSize": "100Mi",
    }
    made = DevServer(kubectl, namespace, spec)
    made.apply(**TWO_RANKS)
    made.wait("Ready", seconds=120)
    yield made
    made.delete()
    kubectl("delete", "devserverflavor", namespace)
    kubectl("delete", "namespace", namespace, "--wait=false")


def test_it_has_what_people_train_with(server: DevServer) -> None:
    assert server.run(f'python -c "{TASTE}"') == "2.0"
    programs = "for name in git tmux rsync torchrun; do command -v $name; done"
    said = server.run(f"id -un; {programs}; ls /usr/sbin/sshd").split()
    assert (said[0], len(said)) == ("dev", 6)
    assert ".bashrc" in server.run("ls -A /home/dev").split()


def test_an_all_reduce_over_two_nodes_is_right(server: DevServer) -> None:
    assert len({pod["spec"]["nodeName"] for pod in server.get("pods")}) == 2

    def train(rank: int) -> str:
        write = f"cat > reduce.py <<'END'\n{ALL_REDUCE}\nEND\n"
        return server.run(f"{write}/bin/sh /opt/devctl/torchrun-here reduce.py", rank)

    with ThreadPoolExecutor() as pool:
        said = list(pool.map(train, (0, 1)))
    assert said == ["sum 3.0 of 2"] * 2


@pytest.fixture(scope="module")
def ssh(server: DevServer, paths: ClusterPaths, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A client's configuration: a key of its own, and the server's from the Secret."""
    folder = tmp_path_factory.mktemp("ssh")
    for name in ("mine", "other"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        must(subprocess.run(command, capture_output=True, text=True, check=False))
    path = ("-o", r"jsonpath={.data.ssh_host_ed25519_key\.pub}")
    encoded = server.kubectl("-n", server.namespace, "get", "secret", "lab-host-key", *path)
    key = must(
        subprocess.run(["base64", "-d"], input=encoded, capture_output=True, text=True, check=False)
    )
    (folder / "known_hosts").write_text(f"lab {key}")
    proxy = folder / "proxy"
    public = (folder / "mine.pub").read_text().strip()
    proxy.write_text(
        "#!/bin/sh\n"
        f"exec {find_kubectl(cache_paths())} --kubeconfig {paths.kubeconfig} -n {server.namespace} "
        f"exec -i lab-0 -- /bin/sh /opt/devctl/sshd '{public}'\n"
    )
    proxy.chmod(0o700)
    (folder / "config").write_text(
        "Host *\n"
        "  User dev\n  HostKeyAlias lab\n  StrictHostKeyChecking yes\n  BatchMode yes\n"
        f"  UserKnownHostsFile {folder}/known_hosts\n  ProxyCommand {proxy}\n"
        "  IdentitiesOnly yes\n"
    )
    return folder


def over_ssh(folder: Path, *command: str, key: str = "mine") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["ssh", "-F", folder / "config", "-i", folder / key, "lab", *command],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )


def test_a_shell_over_ssh_needs_no_port(server: DevServer, ssh: Path) -> None:
    said = must(over_ssh(ssh, 'id -un; echo "$NODE_RANK $WORLD_SIZE $MASTER_ADDR"; pwd'))
    assert said.split("\n")[:3] == ["dev", "0 2 lab-0.lab", "/home/dev"]
    assert over_ssh(ssh, "exit 7").returncode == 7
    refused = over_ssh(ssh, "true", key="other")
    assert "Permission denied (publickey)" in refused.stderr
    listening = server.run("grep -c ' 0A ' /proc/net/tcp /proc/net/tcp6 || true")
    assert listening.split() == ["/proc/net/tcp:0", "/proc/net/tcp6:0"]


def test_another_host_key_is_refused(ssh: Path) -> None:
    known = (ssh / "known_hosts").read_text()
    other = " ".join((ssh / "other.pub").read_text().split()[:2])
    try:
        (ssh / "known_hosts").write_text(f"lab {other}\n")
        assert "Host key verification failed" in over_ssh(ssh, "true").stderr
    finally:
        (ssh / "known_hosts").write_text(known)


def test_stopping_lets_programs_write_what_they_have(server: DevServer) -> None:
    save = "trap 'sleep 2; echo saved > /home/dev/saved; exit' TERM; touch /tmp/trapped"
    server.run(f'tmux new-session -d "sh -c \\"{save}; while :; do sleep 0.1; done\\""')
    wait_until(lambda: server.run("ls /tmp/trapped || true") != "", "it is ready to save")

    server.stop()
    server.start()

    assert server.run("cat /home/dev/saved") == "saved"
