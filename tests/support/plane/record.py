"""Records what the kubelet writes: `python -m support.plane.record` against KUBECONFIG's cluster.

Real pods go through every scenario on a real node; tests/pods/test_recordings.py does the same and
compares.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from support.api import Api
from support.plane.recording import FOLDER, normalised, signature, steps
from support.plane.scenarios import SCENARIOS, Scenario

if TYPE_CHECKING:
    from collections.abc import Iterable

Thing = dict[str, Any]
PATIENCE = 90.0
PREFIX = "recorded-"


def manifest(scenario: Scenario, namespace: str, image: str) -> Thing:
    """A pod that goes through a scenario; confined, as every pod of ours is."""
    container: Thing = {
        "name": "main",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["/bin/sh", "-c", scenario.script],
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "20Mi"}},
        "volumeMounts": [{"name": "artifacts", "mountPath": "/artifacts"}],
        **(scenario.container or {}),
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"{PREFIX}{scenario.name}", "namespace": namespace},
        "spec": {
            "restartPolicy": "Always" if scenario.restarts else "Never",
            "terminationGracePeriodSeconds": 5,
            "securityContext": {"runAsUser": 1000, "runAsNonRoot": True, "fsGroup": 1000},
            "containers": [container],
            "volumes": [{"name": "artifacts", "emptyDir": {}}],
            **(scenario.pod or {}),
        },
    }


def is_over(scenario: Scenario, statuses: list[Thing]) -> bool:
    """Whether a pod has shown all that a scenario is about."""
    seen = [signature(status) for status in statuses]
    if scenario.ends:
        return False  # its end is the pod's
    last = {
        "serve": "running/true",
        "wait": "running/true",
        "crash": "waiting/CrashLoopBackOff",
        "out-of-memory": "waiting/CrashLoopBackOff",
        "no-image": "waiting/ImagePullBackOff",
        "never-pulled": "waiting/ErrImageNeverPull",
    }.get(scenario.name)
    return last in seen if last else has_ended(statuses[-1])


def has_ended(status: Thing) -> bool:
    """Whether a pod has ended and its kubelet has tidied up, which it tells a moment later."""
    conditions = {one["type"]: one["status"] for one in status.get("conditions", [])}
    ended = status.get("phase") in {"Succeeded", "Failed"}
    return ended and conditions.get("PodReadyToStartContainers") == "False"


def record_all(
    api: Api, image: str, scenarios: Iterable[Scenario] = SCENARIOS, patience: float = PATIENCE
) -> dict[str, list[Thing]]:
    """Have real pods go through scenarios, all at once; the statuses of each, in order.

    Raises:
        TimeoutError: One is not over within `patience` seconds; names it.
    """
    namespace = f"recording-{uuid4().hex[:6]}"
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    left = {scenario.name: scenario for scenario in scenarios}
    found: dict[str, list[Thing]] = {name: [] for name in left}
    try:
        # Without its account a new namespace takes no pods.
        api.follow("serviceaccount", "default", namespace, bool, patience)
        for scenario in left.values():
            api.create(manifest(scenario, namespace, image))
        for event, pod in api.watch("pod", namespace, patience):
            name = pod["metadata"]["name"].removeprefix(PREFIX)
            if name in left and look(api, left[name], event, pod, found[name]):
                del left[name]
            if not left:
                return {name: steps(statuses) for name, statuses in found.items()}
    finally:
        api.delete("namespace", namespace)
    seen = {name: [signature(status) for status in found[name]] for name in left}
    message = f"not over in {patience:.0f} s: {seen}"
    raise TimeoutError(message)


def look(api: Api, scenario: Scenario, event: str, pod: Thing, found: list[Thing]) -> bool:
    """Take down a pod's status if it is of interest; whether its scenario is over."""
    if event == "DELETED":
        return True
    status = normalised(pod)
    ending = "deletionTimestamp" in pod["metadata"]
    if signature(status) and ending == scenario.ends:
        found.append(status)
    if scenario.ends and not ending and signature(status) == "running/true":
        api.delete("pod", pod["metadata"]["name"], pod["metadata"]["namespace"])
    return bool(found) and is_over(scenario, found)


def main() -> None:
    """Write what was recorded over what is there."""
    image = os.environ.get("DEVCTL_TEST_IMAGE", "localhost/devctl/base:trixie")
    api = Api(Path(os.environ["KUBECONFIG"]))
    FOLDER.mkdir(exist_ok=True)
    for name, statuses in record_all(api, image).items():
        text = json.dumps({"statuses": statuses}, indent=2, sort_keys=True)
        (FOLDER / f"{name}.json").write_text(f"{text}\n")
        print(name, [signature(status) for status in statuses], file=sys.stderr)  # noqa: T201


if __name__ == "__main__":
    main()
