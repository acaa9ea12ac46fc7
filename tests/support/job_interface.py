"""What people who have jobs rely on: names and forms that have to go on working as they are.

Commands are put together from parts; every one has a name here, and the tests that type it ask for
it by that name. `asked_for` says in the end whether one was forgotten.
"""

from __future__ import annotations

import json
import shlex
from typing import Any

Thing = dict[str, Any]

JOBS = ("my-job", "training-job", "my-inference", "sample-inference", "my-inference-job")
SAMPLE = "sample-inference"
MANIFEST = "my-inference-job"
URL = "https://example.com/image.jpg"
TIMESTAMP, JOB, NODE = "<timestamp>", "<job-name>", "<node-name>"
"""What a person puts a name in for."""

INPUT, OUTPUT = "/artifacts/input.jpg", "/artifacts/output.json"
RESULT = ("model", "top5", "elapsed_ms", "device", "timestamp")
"""The fields of the result, in their order."""
RANKED = ("label", "probability")
"""The fields of each of its best five."""
LISTED = "ephemeralaccelerationjobs"

DEFAULTS: Thing = {
    "model": "resnet50",
    "input": {"type": "image", "path": INPUT},
    "output": {"path": OUTPUT},
    "resources": {"gpu": 1},
    "ttlSecondsAfterFinished": 0,
    "pvcTTLSecondsAfterFinished": 3600,
    "pvcSize": "1Gi",
    "image": "gpu-job-inference:latest",
}
"""What a job has that says nothing."""

STATUS: Thing = {
    "phase": "Succeeded",
    "message": "Job completed successfully",
    "startedAt": None,
    "finishedAt": None,
    "podName": "ephemeralaccelerationjob-{job}",
    "artifactPath": OUTPUT,
}
"""The status of a job that has succeeded; a value that differs from job to job is None."""


def manifest(name: str = MANIFEST) -> Thing:
    """A job as people write one, with every field that they have; Longhorn keeps its files."""
    return {
        "apiVersion": "gpu.yourdomain.io/v1alpha1",
        "kind": "EphemeralAccelerationJob",
        "metadata": {"name": name, "namespace": "default"},
        "spec": DEFAULTS | {"storageClass": "longhorn"},
    }


def _egpu(command: str, *args: str, **flags: object) -> str:
    given = [f"--{name.replace('_', '-')} {value}" for name, value in flags.items()]
    return " ".join(["egpu", command, *args, *given])


def _kubectl(*words: str) -> str:
    return " ".join(["kubectl", *words])


def _beside(pod: str, container: str, *, command: str = "") -> str:
    """A pod of a person's own on the sample's volume, from busybox."""
    mounted: Thing = {
        "name": container,
        "image": "busybox",
        "command": ["sh"],
        "volumeMounts": [{"name": "artifacts", "mountPath": "/mnt"}],
    }
    claim = {"claimName": f"artifacts-{SAMPLE}"}
    volume = {"name": "artifacts", "persistentVolumeClaim": claim}
    overrides = {"spec": {"volumes": [volume], "containers": [mounted]}}
    options = ("--rm", "-i", "--tty", "--image=busybox", "--restart=Never")
    end = f'-- sh -c "{command}"' if command else "-- sh"
    return _kubectl(
        *("run", pod, *options, f"--overrides={shlex.quote(json.dumps(overrides))}", end)
    )


def _shell_in(job: str) -> str:
    return _kubectl("exec", "-it", f"debug-{job}-{TIMESTAMP}", "-n", "default", "--", "sh")


INSIDE = {"show": f"cat /mnt/{OUTPUT.rpartition('/')[2]}", "files": "ls -la /mnt/"}
"""What is typed in a shell on the volume."""

COPY = f"wget -O /mnt/{INPUT.rpartition('/')[2]} {URL}"
"""How a file is brought there by hand."""

MAKE = ("build", "load", "install", "cli", "example", "logs", "status", "artifacts", "clean")
"""The targets of make."""

COMMANDS = {
    "create": _egpu("create", "my-job", project_dir="./my-code", input_path="/artifacts/image.jpg"),
    "create kept for a day": _egpu(
        "create", "training-job", project_dir="./ml-project", input_path=INPUT, pvc_ttl=86400
    ),
    "create kept for an hour": _egpu(
        *("create", "my-inference"),
        project_dir="./my-ml-project",
        input_path=INPUT,
        model="resnet50",
        pvc_ttl=3600,
    ),
    "create the sample": _egpu(
        *("create", SAMPLE),
        project_dir="./resources",
        input_path="/artifacts/sample.jpg",
        model="resnet50",
    ),
    "copy": _egpu("copy-file", "my-job", URL, target_path=INPUT),
    "copy to the sample": _egpu("copy-file", SAMPLE, URL, target_path=INPUT),
    "watch": _egpu("watch", "my-job"),
    "watch the hour's": _egpu("watch", "my-inference"),
    "watch the sample": _egpu("watch", SAMPLE),
    "get": _egpu("get", "my-job"),
    "get the hour's": _egpu("get", "my-inference"),
    "get the sample": _egpu("get", SAMPLE),
    "list": _egpu("list"),
    "cleanup": _egpu("cleanup"),
    "cleanup elsewhere": _egpu("cleanup", namespace="gpu-demo"),
    "debug": _egpu("debug", "my-job"),
    "debug the sample": _egpu("debug", SAMPLE),
    "delete": _egpu("delete", "my-job", "--delete-pvc"),
    "delete the sample": _egpu("delete", SAMPLE, "--delete-pvc"),
    "enter": _shell_in("my-job"),
    "enter the sample's": _shell_in(SAMPLE),
    "apply": _kubectl("apply", "-f", "resources/ephemeralaccelerationjob.yaml"),
    "wait for the volume": _kubectl(
        "wait", "--for=condition=Bound", f"pvc/artifacts-{SAMPLE}", "--timeout=60s"
    ),
    "pod to copy": _beside("copy-pod", "copy", command=COPY),
    "pod to look": _beside("debug-pod", "debug"),
    "watch jobs": _kubectl("get", LISTED, "-w"),
    "watch pods": _kubectl("get", "pods", "-w"),
    "logs of jobs": _kubectl("logs", "-l", "app=gpu-job", "--tail=50"),
    "logs of one": _kubectl("logs", f"ephemeralaccelerationjob-{JOB}"),
    "logs of the operator": _kubectl("logs", "-l", "app=ephemeral-gpu-image-inference-operator"),
    "describe the sample": _kubectl("describe", "ephemeralaccelerationjob", SAMPLE),
    "describe one": _kubectl("describe", "ephemeralaccelerationjob", JOB),
    "describe a pod": _kubectl("describe", "pod", f"ephemeralaccelerationjob-{JOB}"),
    "describe a node": _kubectl("describe", "node", f"{NODE} | grep nvidia.com/gpu"),
    "describe the operator": _kubectl(
        "describe", "deployment", "-l", "app=ephemeral-gpu-image-inference-operator"
    ),
    "volume of one": _kubectl("get", "pvc", f"artifacts-{JOB}"),
    "delete by kubectl": _kubectl("delete", "ephemeralaccelerationjob", SAMPLE),
    "delete the volume": _kubectl("delete", "pvc", f"artifacts-{SAMPLE}"),
    "delete the kind": _kubectl("delete", "crd", f"{LISTED}.gpu.yourdomain.io"),
    "cluster": _kubectl("cluster-info"),
    "nodes": _kubectl("get", "nodes", "-o", 'wide | grep "nvidia.com/gpu.count"'),
    "plugins": _kubectl("get", "pods", "-n", "gpu-operator"),
    "plugin": _kubectl("get", "daemonset", "-n", "kube-system | grep nvidia"),
    "storage": _kubectl("get", "storageclass"),
    "install by pip": "pip install -e .",
    "import the operator": "sudo k3s ctr images import < operator.tar",
    "import jobs": "sudo k3s ctr images import < job.tar",
    "operator by hand": "python -m operator.main",
    "uninstall": "helm uninstall gpu-operator",
    **{f"make {target}": f"make {target}" for target in MAKE},
}
"""Every command, by a name of ours."""

asked_for: set[str] = set()
"""The names of the commands that a test types."""


def command(name: str) -> str:
    """A command, which the caller types."""
    asked_for.add(name)
    return COMMANDS[name]


def flags() -> dict[str, set[str]]:
    """The flags of each command of `egpu`."""
    found: dict[str, set[str]] = {}
    for line in COMMANDS.values():
        program, *words = line.split()
        if program == "egpu":
            known = found.setdefault(words[0], set())
            known.update(word for word in words if word.startswith("--"))
    return found
