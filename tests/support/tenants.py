"""Users of a cluster, and manifests that they try."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from devctl.api import ephemeral_acceleration_job
from devctl.api.kinds import GPU_WORKLOAD, VLLM_RUN
from devctl.api.labels import GROUP, MANAGED_BY, MANAGER, VERSION

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.commands import Kubectl

Manifest = dict[str, Any]
ALICE, BOB = "alice@company.com", "bob@company.com"
ADMINISTRATOR = ""
OPERATOR = "system:serviceaccount:devctl-system:devctl-operator"
OBSERVER = "system:serviceaccount:devctl-system:devctl-observer"
RESERVED = f"{GROUP}/note"
PRIMARY = "operator-sdk/primary-resource"
# What a user may write in a namespace of theirs, and more than most will get.
RESOURCES = (
    "pods,pods/status,persistentvolumeclaims,services,configmaps,secrets,"
    "statefulsets.apps,statefulsets.apps/scale,deployments.apps,controllerrevisions.apps,"
    "jobs.batch,cronjobs.batch,resourceclaims.resource.k8s.io,"
    f"devservers.{GROUP},"
    f"{ephemeral_acceleration_job.PLURAL}.{ephemeral_acceleration_job.GROUP},"
    f"{GPU_WORKLOAD.plural}.{GPU_WORKLOAD.group},"
    f"{VLLM_RUN.plural}.{VLLM_RUN.group}"
)
VERBS = "get,list,watch,create,update,patch,delete,deletecollection"
CONTAINER = {"name": "main", "image": "none:1"}
DEVICE = {"name": "gpu", "exactly": {"deviceClassName": "any"}}
TEMPLATE = {"containers": [CONTAINER], "restartPolicy": "Never"}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}


def who(user: str) -> tuple[str, ...]:
    """The options that make kubectl act as a user; none for the administrator."""
    return (f"--as={user}", "--as-group=system:authenticated") if user else ()


def allowed(kubectl: Kubectl, account: str, verb: str, what: str, *options: str) -> bool:
    """Whether an account may do something."""
    try:
        kubectl("auth", "can-i", verb, what, *options, "--quiet", *who(account))
    except pytest.fail.Exception:
        return False
    return True


def refusal(kubectl: Kubectl, account: str, *asked: str, **options: Any) -> str:
    """Why an account may not do something; empty if it may."""
    try:
        kubectl(*asked, "--dry-run=server", f"--as={account}", **options)
    except pytest.fail.Exception as error:
        return str(error)
    return ""


def user_kubeconfig(kubectl: Kubectl, administrator: Path, user: str, home: Path) -> Path:
    """A kubeconfig with which every program acts as a user, below their home."""
    options = (f"--kubeconfig={administrator}", "--flatten", "--minify", "-o", "json")
    config = json.loads(kubectl("config", "view", *options))
    config["users"][0]["user"] |= {"as": user, "as-groups": ["system:authenticated"]}
    file = home / "kubeconfig"
    file.write_text(json.dumps(config))
    return file


class Tenants:
    """Sends requests of several users to a namespace in which all of them may write."""

    def __init__(self, kubectl: Kubectl, namespace: str) -> None:
        self.kubectl, self.namespace = kubectl, namespace

    def run(self, user: str, *args: str, manifest: Manifest | None = None) -> str:
        text = None if manifest is None else json.dumps(manifest)
        return self.kubectl(*args, "-n", self.namespace, *who(user), input=text)

    def create(self, user: str, manifest: Manifest, *, keep: bool = False) -> str:
        options = () if keep else ("--dry-run=server",)
        return self.run(user, "create", "-f", "-", *options, manifest=manifest)

    def replace(self, user: str, manifest: Manifest) -> None:
        """Replace an object, whose status may be written at the same time."""
        while True:
            try:
                self.run(user, "replace", "-f", "-", manifest=manifest)
            except pytest.fail.Exception as error:
                if "(Conflict)" not in str(error):
                    raise
            else:
                return

    def refusal(self, user: str, *args: str, manifest: Manifest | None = None) -> str:
        """What the API server says against a request."""
        with pytest.raises(pytest.fail.Exception) as failure:
            self.run(user, *args, manifest=manifest)
        return str(failure.value)

    def refused(self, user: str, manifest: Manifest) -> str:
        return self.refusal(user, "create", "-f", "-", "--dry-run=server", manifest=manifest)

    def read(self, resource: str) -> Manifest:
        found: Manifest = json.loads(self.run(ADMINISTRATOR, "get", resource, "-o", "json"))
        return found


def server(metadata_name: str = "box", /, **changes: Any) -> Manifest:
    """A stopped DevServer of Alice's; labels, annotations and fields of its spec may differ."""
    metadata = {key: changes.pop(key) for key in ("labels", "annotations") if key in changes}
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "DevServer",
        "metadata": {"name": metadata_name, **metadata},
        "spec": {
            "owner": ALICE,
            "image": "none:1",
            "persistentHomeSize": "1Gi",
            "stopped": True,
            **changes,
        },
    }


def job(metadata_name: str = "box", /, **changes: Any) -> Manifest:
    """A suspended job; labels, annotations and fields of its spec may differ."""
    metadata = {key: changes.pop(key) for key in ("labels", "annotations") if key in changes}
    return {
        "apiVersion": f"{ephemeral_acceleration_job.GROUP}/{ephemeral_acceleration_job.VERSION}",
        "kind": ephemeral_acceleration_job.KIND,
        "metadata": {"name": metadata_name, **metadata},
        "spec": {"image": "none:1", "suspend": True, **changes},
    }


def flavor(**spec: Any) -> Manifest:
    resources = {"requests": {"cpu": "100m", "memory": "64Mi"}}
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "DevServerFlavor",
        "metadata": {"name": "admission"},
        "spec": {"resources": resources, **spec},
    }


def child(kind: str, name: str = "child", **metadata: Any) -> Manifest:
    """An object such as the role makes, with the metadata given."""
    specs: dict[str, tuple[str, Manifest]] = {
        "Pod": ("v1", {"spec": {"containers": [CONTAINER]}}),
        "PersistentVolumeClaim": ("v1", {"spec": CLAIM}),
        "Service": ("v1", {"spec": {"clusterIP": "None"}}),
        "ConfigMap": ("v1", {}),
        "Secret": ("v1", {}),
        "StatefulSet": ("apps/v1", {"spec": workload({})}),
        "Job": ("batch/v1", {"spec": {"template": {"spec": TEMPLATE}}}),
        "ResourceClaim": ("resource.k8s.io/v1", {"spec": {"devices": {"requests": [DEVICE]}}}),
    }
    version, rest = specs[kind]
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **metadata}, **rest}


def managed(manifest: Manifest) -> Manifest:
    """An object as a role stamps it, without which devctl's own accounts write nothing."""
    metadata = manifest["metadata"]
    labels = metadata.get("labels", {}) | {MANAGED_BY: MANAGER}
    return manifest | {"metadata": metadata | {"labels": labels}}


CHILDREN = (
    *("Pod", "PersistentVolumeClaim", "Service", "ConfigMap", "Secret"),
    *("StatefulSet", "Job"),
)


def workload(template: Manifest, claim: Manifest | None = None) -> Manifest:
    """The spec of a StatefulSet; metadata for its pods and for their claims."""
    labels = {"app": "box", **template.get("labels", {})}
    spec: Manifest = {
        "replicas": 1,
        "serviceName": "box",
        "selector": {"matchLabels": {"app": "box"}},
        "template": {
            "metadata": {**template, "labels": labels},
            "spec": {"containers": [CONTAINER]},
        },
    }
    if claim is not None:
        spec["volumeClaimTemplates"] = [{"metadata": {"name": "home", **claim}, "spec": CLAIM}]
    return spec


def until(done: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.2)
