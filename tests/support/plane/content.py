"""What a plane holds before any test: nodes, storage classes, and all of config/ but its pods."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import yaml
from support.plane.stages import CLASSES, PROVISIONER, SHARED

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

Thing = dict[str, Any]

NODES = ("plane-1", "plane-2")
GPUS = "nvidia.com/gpu"
# Those of the local cluster's nodes: made-up GPUs, and room for small pods.
CAPACITY = {"cpu": "2", "memory": "24Gi", "ephemeral-storage": "100Gi", "pods": "250", GPUS: "4"}
_INFORMATION = (
    *("architecture", "bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion"),
    *("machineID", "operatingSystem", "osImage", "systemUUID"),
)
_PODS = {"Deployment", "DaemonSet"}
_FIRST = ("Namespace", "CustomResourceDefinition")


def node(name: str, number: int) -> Thing:
    """A node that kwok answers for."""
    labels = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        "spec": {"podCIDR": f"10.244.{number}.0/24"},
        "status": {
            "capacity": CAPACITY,
            "allocatable": CAPACITY,
            "nodeInfo": {**dict.fromkeys(_INFORMATION, ""), "kubeletVersion": "v1.36.4"},
        },
    }


def storage_class(name: str) -> Thing:
    """One of the local cluster's classes: playbooks/roles/local_addons has them for real."""
    default = {"storageclass.kubernetes.io/is-default-class": str(name == CLASSES[0]).lower()}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, "annotations": default},
        "provisioner": PROVISIONER,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "Immediate" if name == SHARED else "WaitForFirstConsumer",
        "allowVolumeExpansion": True,
    }


def administrators() -> Thing:
    """The rights of kubeadm's admin.conf, which kubeadm gives it in a later phase."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "kubeadm:cluster-admins"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "cluster-admin",
        },
        "subjects": [
            {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "Group",
                "name": "kubeadm:cluster-admins",
            }
        ],
    }


def configuration(
    kubectl: Path, overlay: str = "local", checkout: Path = REPOSITORY
) -> list[Thing]:
    """An overlay of config/ less what would be a pod: those programs are processes here."""
    text = subprocess.run(
        [kubectl, "kustomize", checkout / "config" / overlay],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    found = [thing for thing in yaml.safe_load_all(text) if thing["kind"] not in _PODS]
    return sorted(found, key=lambda thing: thing["kind"] not in _FIRST)


def pod(name: str, namespace: str, account: str) -> Thing:
    """A pod that nobody starts: who has a token bound to it is known as that pod."""
    confined = {
        "allowPrivilegeEscalation": False,
        "runAsNonRoot": True,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    container = {"name": "main", "image": "none:1", "securityContext": confined}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "serviceAccountName": account,
            "schedulingGates": [{"name": "devctl.test/never"}],
            "containers": [container],
        },
    }


def everything(kubectl: Path, checkout: Path = REPOSITORY) -> str:
    """All of it as one list."""
    found = configuration(kubectl, checkout=checkout)
    items = [administrators(), *map(storage_class, CLASSES), *found]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
