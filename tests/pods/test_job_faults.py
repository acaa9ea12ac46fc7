"""What goes wrong around a job: its node dies, its input is hostile, it is taken away."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support.jobs import FAILS, SUCCEEDS, WAITS, Job, holder
from support.processes import stopped
from support.servers import wait_until

from devctl.api.ephemeral_acceleration_job import PVC_TTL_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.commands import Kubectl

    from devctl.local.images import Image
    from devctl.local.settings import ClusterSettings

pytestmark = pytest.mark.usefixtures("deployed")

NO_IMAGE = "localhost/no/such:1"
KINDS = "ephemeralaccelerationjob,pod,persistentvolumeclaim,configmap,secret,service"
NODE_LOST = 150
"""Seconds: 50 until Kubernetes misses a node, 60 in which it may come back, 10 to end, and some."""


@pytest.fixture
def make(kubectl: Kubectl, namespace: str, images: dict[str, Image]) -> Callable[..., Job]:
    """Jobs of the small image, or of another one."""

    def of(name: str, image: str = images["base"].reference, **spec: Any) -> Job:
        made = Job(kubectl, namespace, image, name)
        made.apply(**spec)
        return made

    return of


def put_on(node: str, image: str, *jobs: Job) -> None:
    """Have the volumes of suspended jobs made on a node, to which their pods then follow."""
    for job in jobs:
        first = holder(job, f"first-{job.name}")
        first["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node}
        first["spec"]["containers"][0]["image"] = image
        wait_until(lambda one=job: bool(one.get("pvc", one.claim)), "it has a claim")  # type: ignore[misc]
        job.kubectl("create", "-f", "-", input=json.dumps(first))
    for job in jobs:
        name = ("pod", f"first-{job.name}", "-n", job.namespace)
        job.kubectl("wait", *name, "--for=condition=Ready", "--timeout=60s")
        job.kubectl("delete", *name, "--wait=false")
        job.apply(suspend=False)


@pytest.mark.exclusive
def test_jobs_on_a_node_that_dies_fail_for_that_reason(
    make: Callable[..., Job], kubectl: Kubectl, cluster: ClusterSettings
) -> None:
    """Nobody is left to end their pods, which stay until the node comes back."""
    node = cluster.nodes[-1].name
    running = make("running", command=WAITS, suspend=True, pvcTTLSecondsAfterFinished=0)
    starting = make("starting", NO_IMAGE, command=WAITS, suspend=True)
    left = make("left", command=WAITS, suspend=True)
    put_on(node, running.image, running, starting, left)
    for job in (running, left):
        job.wait("Running")
    starting.wait("Pending", "ImagePullFailed")

    with stopped(cluster, node, "kubelet", "containerd"):
        running.wait("Running", "NodeNotReady", NODE_LOST)
        starting.wait("Pending", "NodeNotReady")
        kubectl("-n", left.namespace, "delete", "eaj", left.name)
        status = running.wait("Failed", "NodeLost", NODE_LOST)
        assert f"node `{node}`, on which its program ran, went away" in status["message"]
        assert status["artifactsExpireAt"] == status["finishedAt"]
        said = starting.wait("Failed", "NodeLost")["message"]
        assert f"node `{node}` went away before it said" in said
        wait_until(lambda: running.condition("ArtifactsExpired").get("reason") == "InUse", "so")
        assert running.get("pvc", running.claim), "its pod may still write there"
    for job in (running, starting, left):
        job.wait_gone("pod", job.pod, 120)
    running.wait_gone("pvc", running.claim)
    assert running.status["finishedAt"] == status["finishedAt"]
    assert left.get("pvc", left.claim)
    kubectl("wait", f"node/{node}", "--for=condition=Ready", "--timeout=60s")


def test_what_goes_in_any_phase_leaves_its_volume_and_nothing_else(
    make: Callable[..., Job],
) -> None:
    kept = {"ttlSecondsAfterFinished": 600}
    pending = make("pending", NO_IMAGE, command=SUCCEEDS)
    started = [
        make("running", command=WAITS),
        make("succeeded", command=SUCCEEDS, **kept),
        make("failed", command=FAILS, **kept),
    ]
    pending.wait("Pending", "ImagePullFailed")
    for job in started:
        job.wait(job.name.capitalize())
        with pytest.raises(pytest.fail.Exception, match="started"):
            job.apply(model="mobilenet_v3_small")
        del job.wanted["model"]
    for job in (pending, *started):
        job.apply(pvcTTLSecondsAfterFinished=7200)

    def times() -> set[str]:
        return {found["metadata"]["annotations"][PVC_TTL_SECONDS] for found in pending.get("pvc")}

    wait_until(lambda: times() == {"7200"}, "their volumes know")
    renamed = [make(f"{job.name}-renamed", command=SUCCEEDS) for job in (pending, *started)]
    for job, how in zip((pending, *started), ("background", "foreground") * 2, strict=True):
        where = ("-n", job.namespace, f"--cascade={how}", "--timeout=60s")
        job.kubectl("delete", "eaj", job.name, *where)
    for job in renamed:
        job.wait("Succeeded")
        job.kubectl("delete", "eaj", job.name, "-n", job.namespace)

    def left() -> set[str]:
        return {found["metadata"]["name"] for found in pending.get(KINDS)} - {"kube-root-ca.crt"}

    claims = {job.claim for job in (pending, *started, *renamed)}
    wait_until(lambda: left() == claims, f"only volumes are left: {left()}")
    for claim in pending.get("pvc"):
        assert "ownerReferences" not in claim["metadata"]
        ttl = claim["metadata"]["annotations"][PVC_TTL_SECONDS]
        assert ttl == ("3600" if claim["metadata"]["name"].endswith("-renamed") else "7200")


GOOD = "Image.new('RGB', (64, 64)).save('input.jpg')"
LABELS = "put('resnet50-labels.json', b'[\"a\"]')"
WEIGHTS = "put('resnet50.safetensors', head({}) + b'x')"
READY = f"{LABELS}; {WEIGHTS}"
HOSTILE: dict[str, tuple[str, dict[str, Any], str, str]] = {
    # A few hundred kilobytes that unpack to 144 MB.
    "bomb": (f"{READY}; bomb(12_000)", {}, "InputTooLarge", "million pixels"),
    "cut": (f"{READY}; {GOOD}; os.truncate('input.jpg', 500)", {}, "InputInvalid", "input.jpg"),
    "text": (
        f"{READY}; put('input.jpg', b'not an image, whatever it is called')",
        *({}, "InputInvalid", "input.jpg is not a whole image (BMP, GIF, JPEG, PNG, WEBP)"),
    ),
    "huge": (f"{READY}; {GOOD}; os.truncate('input.jpg', 65 << 20)", {}, "InputTooLarge", "64 MiB"),
    "link": (
        f"{READY}; os.symlink('/etc/passwd', 'input.jpg')",
        *({}, "InputInvalid", "/artifacts/input.jpg is outside /artifacts"),
    ),
    "pipe": (f"{READY}; os.mkfifo('input.jpg')", {}, "InputInvalid", "is not a regular file"),
    "way-out": (
        f"{READY}; {GOOD}; os.symlink('/tmp', 'out')",
        *({"output": {"path": "/artifacts/out/x.json"}}, "OutputInvalid", "is outside /artifacts"),
    ),
    "short": (
        f"{LABELS}; {GOOD}; put('resnet50.safetensors', head(ONE) + bytes(3))",
        *({}, "WeightsInvalid", "it has 3 bytes of tensors and speaks of 8: is it truncated?"),
    ),
    "shape": (
        f"{LABELS}; {GOOD}; put('resnet50.safetensors', head(ONE) + bytes(8))",
        *({}, "WeightsInvalid", "has `conv1.weight` as [2], not [64, 3, 7, 7]"),
    ),
    "pickle": (
        f"{LABELS}; {GOOD}; put('resnet50.safetensors', pickle.dumps(Evil()))",
        *({}, "WeightsInvalid", "it is not a safetensors file"),
    ),
    "pickle-too": (
        f"{GOOD}; {LABELS}; put('w.pt', pickle.dumps(Evil()))",
        {"weights": {"path": "/artifacts/w.pt", "labelsPath": "/artifacts/resnet50-labels.json"}},
        *("WeightsInvalid", "w.pt does not end in .safetensors"),
    ),
    "no-labels": (f"{WEIGHTS}; {GOOD}", {}, "WeightsMissing", "resnet50-labels.json"),
}
PREPARE = """
import json, os, pickle, zlib
from PIL import Image
ONE = {"conv1.weight": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}
class Evil:
    def __reduce__(self):
        return os.mkdir, ("/artifacts/evil",)
def put(name, data):
    open(name, "wb").write(data)
def head(found):
    text = json.dumps(found).encode()
    return len(text).to_bytes(8, "little") + text
def chunk(kind, data):
    crc = zlib.crc32(kind + data).to_bytes(4, "big")
    return len(data).to_bytes(4, "big") + kind + data + crc
def bomb(side):
    squeeze, row = zlib.compressobj(1), bytes(1 + side)
    rows = b"".join(squeeze.compress(row) for _ in range(side)) + squeeze.flush()
    size = side.to_bytes(4, "big") * 2 + bytes([8, 0, 0, 0, 0])
    body = chunk(b"IHDR", size) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    put("input.jpg", bytes.fromhex("89504e470d0a1a0a") + body)
"""
GO = "os.execvp('python3', ['python3', '-P', '-m', 'devctl_inference'])"


def test_hostile_input_fails_clearly_in_bounded_memory_and_time(
    make: Callable[..., Job], inference_image: str
) -> None:
    """The image's own program, after a script that fills the volume."""
    given: dict[str, Any] = {
        "resources": {"gpu": 0, "cpu": "100m", "memory": "1Gi"},
        "input": {"waitSeconds": 0},
        "activeDeadlineSeconds": 240,
        "pvcTTLSecondsAfterFinished": 0,
    }
    jobs = {}
    for name, (script, spec, _, _) in HOSTILE.items():
        command = ["python3", "-P", "-c", f"{PREPARE}\n{script}\n{GO}"]
        jobs[name] = make(name, inference_image, command=command, **given | spec)
    for name, (_, _, reason, said) in HOSTILE.items():
        status = jobs[name].wait("Failed", seconds=270)
        assert (status["reason"], status["exitCode"]) == (reason, 1), (name, status)
        assert said in status["message"], name
    for path in ("/artifacts/../etc/passwd", "/etc/passwd", "../x", "/artifacts//x"):
        with pytest.raises(pytest.fail.Exception, match="a path is below /artifacts"):
            make("path", inference_image, input={"path": path})
