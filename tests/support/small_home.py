"""A home that can be filled in a moment: a few megabytes of a node's memory, as a volume."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from support.commands import must

from devctl.local import namespaces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl

    from devctl.local.paths import NodePaths


def volume(name: str, namespace: str, claim: str, node: str, folder: str) -> dict[str, Any]:
    """A volume in a folder of a node, kept for a claim that somebody will make."""
    on_node = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "10Mi"},
            "claimRef": {"namespace": namespace, "name": claim},
            "hostPath": {"path": folder, "type": "Directory"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [on_node]}]}},
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": "devctl-home",
        },
    }


@contextmanager
def small_home(
    kubectl: Kubectl, node: NodePaths, namespace: str, claim: str, size: str
) -> Iterator[None]:
    """The home behind a claim has no more room than a size says, as long as a `with` block lasts.

    Args:
        kubectl: The administrator's.
        node: Where the home is.
        namespace: The claim's.
        claim: Its name; it is made in the block and gone at its end.
        size: As `mount` takes it.
    """
    folder, inside = f"/run/{namespace}", namespaces.enter(node)

    def run(*argv: str) -> None:
        done = subprocess.run([*inside, *argv], capture_output=True, text=True, check=False)
        must(done)

    run("mkdir", folder)
    run("mount", "-t", "tmpfs", "-o", f"size={size},uid=1000,gid=1000,mode=0750", "tmpfs", folder)
    try:
        kubectl.api.create(volume(namespace, namespace, claim, node.root.name, folder))
        yield
    finally:
        kubectl.api.delete("persistentvolume", namespace)
        run("umount", "--lazy", folder)
        run("rmdir", folder)
