"""An optional part of the local cluster, installed in a plane but for its pods."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import yaml
from support.servers import wait_until

from devctl.local.part_manifests import COMPONENTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from support.commands import Kubectl

_PODS = {"DaemonSet", "Deployment"}


@contextmanager
def installed_part(
    kubectl: Kubectl, folder: Path, name: str, beside: Sequence[Any] = ()
) -> Iterator[None]:
    """Install a part, checked strictly, and leave nothing of it: parts may share a namespace.

    Args:
        kubectl: An administrator's.
        folder: An empty one.
        name: The part's.
        beside: Objects that its manifests are built together with.
    """
    component = os.path.relpath(COMPONENTS / name, folder.resolve())
    files = [f"{number}.json" for number in range(len(beside))]
    for file, thing in zip(files, beside, strict=True):
        (folder / file).write_text(json.dumps(thing))
    built = {"kind": "Kustomization", "resources": files, "components": [component]}
    (folder / "kustomization.yaml").write_text(json.dumps(built))
    things = list(yaml.safe_load_all(kubectl("kustomize", str(folder))))
    (space,) = (each for each in things if each["kind"] == "Namespace")
    kubectl.api.apply(space)
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": things})
    options = ("--server-side", "--validate=strict", "--warnings-as-errors")
    kubectl("apply", *options, "--dry-run=server", "-f", "-", input=listed)
    for each in things:
        if each["kind"] not in _PODS:
            kubectl.api.apply(each)
    try:
        yield
    finally:
        for each in things:
            kubectl.api.delete(
                each["kind"].lower(), each["metadata"]["name"], each["metadata"].get("namespace")
            )
        gone = f"namespace {space['metadata']['name']} is gone"
        # Nothing can be made in one that is being deleted, which the next part would try.
        wait_until(lambda: kubectl.api.get("namespace", space["metadata"]["name"]) is None, gone)
