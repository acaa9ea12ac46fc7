"""The steps of bringing a cluster up and down, as the playbooks call them.

Steps are idempotent: each changes only what is not as it should be.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devctl.local import (
    apt,
    authentication,
    build,
    cgroups,
    checksums,
    machine,
    namespaces,
    network,
    node_images,
    part_objects,
    supervisor,
)
from devctl.local.cluster import existing
from devctl.local.parts import images_of, load_parts
from devctl.local.paths import cache_paths, cluster_names, cluster_paths, host_settings_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from devctl.local.parts import Part
    from devctl.local.paths import CachePaths, ClusterPaths
    from devctl.local.settings import ClusterSettings

# Where the built programs are mounted in nodes.
PROGRAMS_IN_NODE = Path("/opt/devctl/programs")


@dataclass(frozen=True)
class Context:
    """What all steps need."""

    settings: ClusterSettings
    paths: ClusterPaths
    cache: CachePaths
    report: Callable[[str], None]
    node: str = ""

    @classmethod
    def of(cls, cluster: str, report: Callable[[str], None], node: str = "") -> Context:
        """The context of a cluster; raises NotFoundError if it was never created."""
        return cls(*existing(cluster), cache_paths(), report, node)

    @property
    def parts(self) -> list[Part]:
        """The optional parts that the cluster is to have."""
        return [part for name, part in load_parts().items() if name in self.settings.parts]


def host(context: Context) -> dict[str, Any]:
    """Install missing packages and raise kernel settings."""
    installed = apt.install_missing(context.paths.logs / "packages.log")
    raised = machine.raise_settings(host_settings_file())
    return {"changed": bool(installed or raised), "installed": installed}


def artifacts(context: Context) -> dict[str, Any]:
    """Build what is missing; the facts tell later tasks where everything is."""
    also = images_of(context.parts)
    made = build.ensure_built(context.cache, context.report, also)
    folders = {group.name: group.folder(context.cache) for group in made.groups.values()}
    facts = {
        "local_programs": {n: str(PROGRAMS_IN_NODE / f.name) for n, f in folders.items()},
        "local_host_programs": {name: str(folder) for name, folder in folders.items()},
        "local_images": {image.name: image.reference for image in made.images.values()},
        "local_node_root": str(made.node_root),
    }
    for folder in folders.values():
        checksums.verify(folder)
    return {"changed": bool(made.built), "ansible_facts": facts}


def namespaces_of_nodes(context: Context, node_root: str) -> dict[str, Any]:
    """Make the nodes' control groups, namespaces and network."""
    root, changed = Path(node_root), False
    for node in context.settings.nodes:
        group = cgroups.path_of(context.settings.name, node.name)
        cgroups.create(f"{group}/{cgroups.SYSTEM}")
        changed |= namespaces.create(context.paths, node, root, context.cache.programs)
    return {"changed": network.connect(context.settings, context.paths, root) or changed}


def supervise(context: Context) -> dict[str, Any]:
    """Start the supervisor, or have it apply a changed configuration."""
    return {"changed": supervisor.start(context.paths)}


def import_images(context: Context, programs: Mapping[str, str]) -> dict[str, Any]:
    """Import the images that a node lacks, once its containerd answers."""
    _, images = build.describe(context.cache)
    node = context.paths.node(context.node)
    ctr = f"{programs['containerd']}/ctr"
    node_images.wait_for_containerd(node, ctr)
    also = images_of(context.parts)
    wanted = [image for image in images.values() if image.up or image.name in also]
    imported = node_images.import_missing(node, wanted, ctr, context.cache)
    return {"changed": bool(imported), "imported": imported}


def authenticate(context: Context) -> dict[str, Any]:
    """Have the API server trust the providers of the optional parts."""
    changed = authentication.configure(context.settings, context.paths, context.parts)
    return {"changed": changed}


def parts(context: Context, programs: Mapping[str, str]) -> dict[str, Any]:
    """Install the optional parts, and remove those that are no longer wanted."""
    _, images = build.describe(context.cache)
    references = {name: image.reference for name, image in images.items()}
    folders = {group: Path(folder) for group, folder in programs.items()}
    cluster = part_objects.Cluster(context.settings, context.paths, folders, references)
    removed = part_objects.remove_others(cluster)
    installed = [part.name for part in context.parts if part_objects.install(cluster, part)]
    for part in context.parts:
        part_objects.wait_until_ready(cluster, part)
        if part.authenticator:
            authentication.write_kubeconfig(context.settings, context.paths, part)
    return {"changed": bool(installed or removed), "installed": installed, "removed": removed}


def teardown(context: Context) -> dict[str, Any]:
    """End all processes, and remove everything from the host outside the state folder."""
    group = cgroups.path_of(context.settings.name)
    supervisor.stop(context.paths)
    cgroups.kill(group)
    root = next(
        (p for p in context.cache.node_roots.glob("node-*") if p.suffix != ".partial"), None
    )
    network.disconnect(context.settings, root)
    for folder in context.paths.run.glob("*/"):
        namespaces.remove(context.paths.node(folder.name))
    cgroups.remove(group)
    shutil.rmtree(context.paths.run, ignore_errors=True)
    # Clusters share the host's settings; the last one restores them.
    if not any(cluster_paths(name).run.exists() for name in cluster_names()):
        machine.restore_settings(host_settings_file())
    return {"changed": True}


STEPS: Mapping[str, Callable[..., dict[str, Any]]] = {
    "host": host,
    "artifacts": artifacts,
    "namespaces": namespaces_of_nodes,
    "supervise": supervise,
    "import_images": import_images,
    "authenticate": authenticate,
    "parts": parts,
    "teardown": teardown,
}
