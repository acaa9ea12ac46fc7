"""Installing optional parts in a cluster, and removing them.

Each installed part has a folder in the cluster's own one, with the manifest as it was applied and
what its removal takes: another checkout, which may not know the part, can remove it.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import yaml

from devctl.errors import HostError
from devctl.local import node_registry
from devctl.local.certificates import ensure_certificate
from devctl.local.commands import capture
from devctl.local.namespaces import enter
from devctl.local.part_manifests import (
    base_of,
    certificate_secret,
    components_of,
    kustomization,
    password_secret,
    relative,
    values,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from devctl.local.parts import Part
    from devctl.local.paths import ClusterPaths
    from devctl.local.settings import ClusterSettings

_TIMEOUT = "120s"


@dataclass(frozen=True)
class Cluster:
    """A running cluster, and the programs and images that its parts can use."""

    settings: ClusterSettings
    paths: ClusterPaths
    programs: Mapping[str, Path]
    """Program group to its folder."""
    images: Mapping[str, str]
    """Image name to its reference."""

    @property
    def kubectl_program(self) -> Path:
        """The cluster's own kubectl."""
        return self.programs["kubernetes"] / "kubectl"

    def kubectl(self, *args: str | Path, what: str) -> str:
        """Run kubectl as the administrator; raises StepError if it fails."""
        command = [self.kubectl_program, "--kubeconfig", self.paths.kubeconfig, *args]
        return capture(command, what=what)


def install(cluster: Cluster, part: Part) -> bool:
    """Apply a part's objects; returns whether the manifest is new.

    Raises:
        StepError: kubectl failed.
    """
    folder = cluster.paths.parts / part.name
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # see certificate_of
    files: dict[str, Any] = {"values.json": values(cluster.settings)}
    if part.certificate:
        found = certificate_of(cluster.settings, cluster.paths, part)
        files["certificate.json"] = certificate_secret(found)
    if part.password:
        files["password.json"] = password_secret(folder)
    if part.objects:
        made = import_module(f"devctl.local.{part.objects}")
        listed = made.objects(cluster.settings, cluster.paths, folder)
        files["objects.json"] = {"apiVersion": "v1", "kind": "List", "items": listed}
    if part.registry:
        node_registry.introduce(cluster.settings, cluster.paths, part.registry)
    components = [relative(each, folder) for each in components_of(part, cluster.settings.parts)]
    resources = list(files)
    if part.base:
        resources.append(relative(base_of(part, cluster.programs), folder))
    files["kustomization.yaml"] = kustomization(resources, components, part, cluster.images)
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content, indent=2))
    what = f"build the manifest of part `{part.name}`"
    text = capture([cluster.kubectl_program, "kustomize", folder], what=what)
    # Before it is applied: what is applied in part must be removable, too.
    (folder / "removal.json").write_text(json.dumps(removal(part, text), indent=2))
    manifest = folder / "manifest.yaml"
    changed = not manifest.is_file() or manifest.read_text() != text
    manifest.write_text(text)
    cluster.kubectl(
        *("apply", "--server-side", "--force-conflicts", "--field-manager", "devctl-local"),
        *("--filename", manifest),
        what=f"install part `{part.name}`",
    )
    return changed


def wait_until_ready(cluster: Cluster, part: Part) -> None:
    """Wait for a part's workloads; raises StepError if they take more than two minutes."""
    for workload in part.ready:
        namespace, _, name = workload.partition("/")
        cluster.kubectl(
            *("rollout", "status", "--namespace", namespace, name, "--timeout", _TIMEOUT),
            what=f"start part `{part.name}`",
        )


def remove_others(cluster: Cluster) -> list[str]:
    """Remove the parts that the cluster is no longer to have; returns their names.

    Raises:
        HostError: Objects need the part.
        StepError: kubectl failed.
    """
    installed = sorted(folder.parent for folder in cluster.paths.parts.glob("*/removal.json"))
    others = [folder for folder in installed if folder.name not in cluster.settings.parts]
    for folder in others:
        _remove(cluster, folder)
    return [folder.name for folder in others]


def _remove(cluster: Cluster, folder: Path) -> None:
    what = f"remove part `{folder.name}`"
    how = json.loads((folder / "removal.json").read_text())
    crds = ("get", "crd", *how["kinds"], "--ignore-not-found", "--output", "name")
    existing = cluster.kubectl(*crds, what=what) if how["kinds"] else ""
    kinds = [line.partition("/")[2] for line in existing.splitlines()]
    if used := ",".join(kind for kind in how["in_use"] if kind in kinds):
        objects = cluster.kubectl("get", used, "--all-namespaces", "--output", "name", what=what)
        check_unused(folder.name, used, len(objects.splitlines()), cluster.settings.name)
    if kinds:
        # While the part's controllers can still remove their finalizers.
        everything = ("--all", "--all-namespaces", "--timeout", _TIMEOUT)
        cluster.kubectl("delete", ",".join(kinds), *everything, what=what)
    manifest = ("--filename", folder / "manifest.yaml")
    cluster.kubectl("delete", *manifest, "--ignore-not-found", "--timeout", _TIMEOUT, what=what)
    if how["cleanup"]:
        for node in cluster.settings.nodes:
            inside = enter(cluster.paths.node(node.name))
            capture([*inside, "sh", "-c", how["cleanup"]], what=what)
    shutil.rmtree(folder)


def check_unused(part: str, kinds: str, count: int, cluster: str) -> None:
    """Raise HostError if there are objects that stop working without the part."""
    if count:
        name = "" if cluster == "devctl" else f" --name {cluster}"
        raise HostError(
            f"part `{part}` is in use: the cluster has {count} objects of {kinds}",
            f"delete what they belong to, or keep it: `devctl local up --with {part}{name}`",
        )


def certificate_of(settings: ClusterSettings, paths: ClusterPaths, part: Part) -> Mapping[str, str]:
    """A part's certificate by file name, in base64; made on first use."""
    folder = paths.parts / part.name
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # it holds a private key
    return ensure_certificate(folder, [with_address(n, settings) for n in part.certificate])


def with_address(text: str, settings: ClusterSettings) -> str:
    """What parts.toml or a file of a part says, for this cluster."""
    return text.replace("$(ADDRESS)", str(settings.nodes[0].address))


def removal(part: Part, manifest: str) -> dict[str, Any]:
    """What the part's removal takes, given its manifest."""
    objects = yaml.load_all(manifest, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    kinds = [o["metadata"]["name"] for o in objects if o["kind"] == "CustomResourceDefinition"]
    return {"kinds": kinds, "in_use": list(part.in_use), "cleanup": part.cleanup}
