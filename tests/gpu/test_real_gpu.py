"""What the DRA plugin and the node agent make of real GPUs: `make test-gpu`, where there are any.

No tier runs this. It needs root, nvidia-smi, unshare and setpriv of util-linux, and a Python with
torch for CUDA: TORCH_PYTHON, or else `python3`.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from devctl_dra_plugin import inventory
from devctl_dra_plugin.claims import Claims
from devctl_dra_plugin.messages import ClaimRef
from devctl_dra_plugin.names import DRIVER
from devctl_node_agent.gpus import Tool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devctl_dra_plugin.devices import Device

NODE = "gpu-1"
PYTHON = os.environ.get("TORCH_PYTHON") or shutil.which("python3") or ""
HARMLESS = ("null", "zero", "full", "random", "urandom", "tty")
"""The devices that every container has."""

COUNT = """
import json, os, torch
found = [str(torch.cuda.get_device_properties(i).uuid) for i in range(torch.cuda.device_count())]
if found:
    x = torch.randn(1024, 1024, device="cuda")
    assert (x @ x).isfinite().all()
print(json.dumps({"uid": os.getuid(), "gpus": found}))
"""

HOLD = """
import sys, time, torch
x = torch.randn(8192, 8192, device="cuda")
torch.cuda.synchronize()
print("up", flush=True)
while True:
    (x @ x).sum().item() if sys.argv[1] == "busy" else time.sleep(1)
"""

CONTAINER = """
set -e
mount --make-rprivate /
mount -t tmpfs none {dev}
cd {dev}
for node in {nodes}; do
  touch "${{node#/dev/}}"
  mount --bind "$node" "${{node#/dev/}}"
done
mkdir -m 1777 shm
ln -s /proc/self/fd fd
mount --rbind {dev} /dev
exec setpriv --reuid 1000 --regid 1000 --clear-groups --bounding-set=-all --inh-caps=-all \\
  --no-new-privs env {env} HOME=/nonexistent {python} -c {code}
"""


class Allocated:
    """The API server's answer about a claim that has been allocated some GPUs."""

    def __init__(self, given: list[Device]) -> None:
        self._given = given

    def get(self, _path: str) -> dict[str, Any]:
        results = [
            {"request": "gpus", "driver": DRIVER, "pool": NODE, "device": each.name}
            for each in self._given
        ]
        return {
            "metadata": {"uid": "u-1", "namespace": "dev-alice", "name": "mine"},
            "status": {"reservedFor": [{}], "allocation": {"devices": {"results": results}}},
        }


@pytest.fixture
def gpus() -> list[Device]:
    """The machine's GPUs, as the plugin sees them."""
    ask = inventory.real_gpus()
    assert ask is not None, "this machine has no nvidia-smi"
    return ask()


def edits(given: list[Device], every: list[Device], folder: Path) -> list[dict[str, Any]]:
    """What the container runtime is told for a claim with these GPUs."""
    (folder / "cdi").mkdir()
    claims = Claims(NODE, Allocated(given), folder / "state.json", folder / "cdi")  # type: ignore[arg-type]
    claims.know(every)
    answer = claims.prepare([ClaimRef("dev-alice", "u-1", "mine")])["u-1"]
    assert not answer.error
    (file,) = (folder / "cdi").iterdir()
    return [each["containerEdits"] for each in json.loads(file.read_text())["devices"]]


def inside(told: list[dict[str, Any]], folder: Path) -> dict[str, Any]:
    """What torch finds as user 1000 with these device nodes and no others, without capabilities."""
    nodes = [f"/dev/{name}" for name in HARMLESS]
    nodes += [node["path"] for each in told for node in each.get("deviceNodes", [])]
    dev = folder / "dev"
    dev.mkdir()
    script = CONTAINER.format(
        dev=shlex.quote(str(dev)),
        nodes=shlex.join(nodes),
        env=shlex.join(variable for each in told for variable in each.get("env", [])),
        python=shlex.quote(PYTHON),
        code=shlex.quote(COUNT),
    )
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert answer["uid"] == 1000
    return answer


def test_every_gpu_is_offered_as_nvidia_smi_lists_it(gpus: list[Device]) -> None:
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True).stdout
    assert gpus
    for gpu in gpus:
        assert f"GPU {gpu.index}: {gpu.model} (UUID: {gpu.uuid})" in listed
        assert gpu.memory_mib > 0
        assert not gpu.problem
        assert Path(f"/dev/nvidia{gpu.minor}").exists()


def test_a_container_computes_on_its_own_gpus_and_sees_no_others(
    gpus: list[Device], tmp_path: Path
) -> None:
    for number, given in enumerate(([gpus[0]], gpus)):
        folder = tmp_path / str(number)
        folder.mkdir()
        found = inside(edits(given, gpus, folder), folder)
        assert sorted(found["gpus"]) == sorted(each.uuid.removeprefix("GPU-") for each in given)


def test_what_all_containers_with_gpus_share_gives_access_to_none(
    gpus: list[Device], tmp_path: Path
) -> None:
    told = edits([gpus[0]], gpus, tmp_path)
    shared = [each for each in told if any(v.startswith("CANHAZGPU_DEVICES=") for v in each["env"])]
    assert shared
    assert inside(shared, tmp_path)["gpus"] == []


@contextmanager
def holding(how: str) -> Iterator[int]:
    """A process with tensors on the first GPU, by its PID."""
    process = subprocess.Popen([PYTHON, "-c", HOLD, how], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        time.sleep(8)  # nvidia-smi's utilization is an average
        yield process.pid
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(("how", "is_used"), [("idle", False), ("busy", True)])
def test_a_gpu_is_in_use_only_if_it_computes(how: str, is_used: bool) -> None:  # noqa: FBT001
    with holding(how) as pid:
        found = Tool.on_path(time.monotonic).look("/proc", [pid])
        assert found.used_by == ((pid,) if is_used else ())
        assert not found.problem


def test_without_nvidia_smi_whoever_has_a_gpu_open_uses_it() -> None:
    with holding("idle") as pid:
        found = Tool(time.monotonic, None).look("/proc", [pid, os.getpid()])
        assert found.used_by == (pid,)
