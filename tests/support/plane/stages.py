"""What kwok does to nodes, pods and claims: recordings of real ones, played to others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from support.plane.recording import SIGNATURE, load, signature, steps, template
from support.plane.scenarios import SCENARIOS, choice

if TYPE_CHECKING:
    from collections.abc import Iterator

Thing = dict[str, Any]

GONE = {"jq": {"key": ".metadata.deletionTimestamp", "operator": "Exists"}}
THERE = {"jq": {"key": ".metadata.deletionTimestamp", "operator": "DoesNotExist"}}
DEADLINE = ".spec.activeDeadlineSeconds"


def stage(name: str, kind: str, selector: list[Thing], *done: Thing, **more: Any) -> Thing:
    """One stage: which objects, and what is done to them."""
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": {
            "resourceRef": {"apiGroup": "v1", "kind": kind},
            "selector": {"matchExpressions": selector},
            "steps": list(done),
            **more,
        },
    }


def is_in(expression: str, *values: str) -> Thing:
    """Holds for objects for which a jq expression gives one of some values."""
    return {"jq": {"key": expression, "operator": "In", "values": list(values)}}


def status_patch(text: str) -> Thing:
    """Makes a status what a template says."""
    return {"patch": {"subresource": "status", "root": "status", "template": text, "type": "merge"}}


def pods() -> Iterator[Thing]:
    """The recorded scenarios, and the end of every pod."""
    for scenario in SCENARIOS:
        if scenario.name == "deadline":
            yield _deadline()
            continue
        before = {""}
        for number, status in enumerate(steps(load(scenario.name))):
            here = signature(status)
            if here.startswith("terminated/"):
                # A program that ends is not always seen to run; one that waits always is.
                before |= {"running/true"}
            chosen = [is_in(choice(), scenario.name), THERE]
            if scenario.ends:
                never = '.spec.restartPolicy == "Never" | tostring'
                chosen = [is_in(never, str(not scenario.restarts).lower()), GONE]
                before = {"running/true", "running/false"}
            selector = [*chosen, is_in(SIGNATURE, *sorted(before))]
            name = f"{scenario.name}-{number}"
            if not scenario.ends or here.startswith("terminated/"):
                yield stage(name, "Pod", selector, status_patch(template(status)))
            before = {here}
    # The kubelet lets a pod go once its containers have ended.
    running = is_in(f'{SIGNATURE} | startswith("running/") | tostring', "false")
    yield stage("pod-gone", "Pod", [GONE, running], {"delete": True})


def _deadline() -> Thing:
    *_, status = steps(load("deadline"))
    seconds = {"jq": {"expression": f'({DEADLINE} | tostring) + "s"'}}
    has_one = {"jq": {"key": DEADLINE, "operator": "Exists"}}
    selector = [has_one, is_in(choice(), "wait"), is_in(SIGNATURE, "running/true"), THERE]
    done = status_patch(template(status))
    return stage("deadline", "Pod", selector, done, delay={"durationFrom": seconds})


def nodes() -> Iterator[Thing]:
    """What a kubelet tells of its node once; its lease is kwok's to renew."""
    ready = '[.status.conditions[]? | select(.type == "Ready") | .status][0] // ""'
    text = """
{{ $now := Now }}
conditions:
{{ range NodeConditions }}
- {type: {{ .type | Quote }}, status: {{ .status | Quote }}, reason: {{ .reason | Quote }},
   message: {{ .message | Quote }}, lastHeartbeatTime: {{ $now }}, lastTransitionTime: {{ $now }}}
{{ end }}
addresses:
- {type: InternalIP, address: {{ NodeIP | Quote }}}
- {type: Hostname, address: {{ NodeName | Quote }}}
"""
    yield stage("node-ready", "Node", [THERE, is_in(ready, "", "Unknown")], status_patch(text))


PROVISIONER = "rancher.io/local-path"
SELECTED = "volume.kubernetes.io/selected-node"
SHARED = "devctl-shared"
CLASSES = ("devctl-home", "longhorn", SHARED)


def volumes() -> Iterator[Thing]:
    """The local cluster's provisioner: a volume where the scheduler wants it, as it makes them."""
    waits = [is_in(".spec.storageClassName", *CLASSES), THERE]
    waits += [{"jq": {"key": ".spec.volumeName", "operator": "DoesNotExist"}}]
    placed = {"jq": {"key": f'.metadata.annotations["{SELECTED}"]', "operator": "Exists"}}
    yield stage("volume-made", "PersistentVolumeClaim", [*waits, placed], _volume())
    shared = is_in(".spec.storageClassName", SHARED)
    yield stage("shared-volume-made", "PersistentVolumeClaim", [*waits, shared], _volume())
    released = [THERE, is_in(".status.phase", "Released")]
    released += [is_in(".spec.persistentVolumeReclaimPolicy", "Delete")]
    yield stage("volume-removed", "PersistentVolume", released, {"delete": True})


def _volume() -> Thing:
    affinity = json.dumps(
        {
            "required": {
                "nodeSelectorTerms": [
                    {
                        "matchExpressions": [
                            {
                                "key": "kubernetes.io/hostname",
                                "operator": "In",
                                "values": ["NODE"],
                            }
                        ]
                    }
                ]
            }
        }
    ).replace("NODE", f'{{{{ index .metadata.annotations "{SELECTED}" }}}}')
    parts = (f"{{{{ .metadata.{field} }}}}" for field in ("uid", "namespace", "name"))
    folder = f"/srv/volumes/pvc-{'_'.join(parts)}"
    text = f"""
apiVersion: v1
kind: PersistentVolume
metadata:
  name: pvc-{{{{ .metadata.uid }}}}
  annotations:
    pv.kubernetes.io/provisioned-by: {PROVISIONER}
spec:
  accessModes: {{{{ .spec.accessModes | toJson }}}}
  capacity:
    storage: {{{{ .spec.resources.requests.storage | Quote }}}}
  claimRef:
    apiVersion: v1
    kind: PersistentVolumeClaim
    name: {{{{ .metadata.name | Quote }}}}
    namespace: {{{{ .metadata.namespace | Quote }}}}
    uid: {{{{ .metadata.uid | Quote }}}}
    resourceVersion: {{{{ .metadata.resourceVersion | Quote }}}}
  hostPath:
    path: {folder}
    type: DirectoryOrCreate
  persistentVolumeReclaimPolicy: Delete
  storageClassName: {{{{ .spec.storageClassName | Quote }}}}
  volumeMode: Filesystem
{{{{ if ne .spec.storageClassName "{SHARED}" }}}}
  nodeAffinity: {affinity}
{{{{ end }}}}
"""
    return {"apply": {"template": text}}


def document() -> str:
    """kwok's configuration."""
    return "\n---\n".join(json.dumps(each) for each in (*nodes(), *pods(), *volumes()))
