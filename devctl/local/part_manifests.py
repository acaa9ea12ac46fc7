"""What an optional part's manifest is built from: components, and this cluster's values."""

from __future__ import annotations

import os
import secrets
from base64 import b64encode
from typing import TYPE_CHECKING, Any

from devctl.local import node_registry
from devctl.local.images import REGISTRY
from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from devctl.local.parts import Part
    from devctl.local.settings import ClusterSettings

COMPONENTS = REPOSITORY / "config" / "local" / "parts"
# For kustomize's replacements only: such objects are not part of its output.
_LOCAL_CONFIG = {"config.kubernetes.io/local-config": "true"}


def components_of(part: Part, parts: Iterable[str], folder: Path = COMPONENTS) -> list[Path]:
    """The folder of the part's component, and those for what other parts change in it."""
    own = folder / part.name
    beside = (own / f"with-{other}" for other in parts)
    return [own, *(each for each in beside if each.is_dir())]


def base_of(part: Part, programs: Mapping[str, Path]) -> Path:
    """The folder of the kustomization that the part's component changes."""
    group, _, folder = part.base.partition("/")
    return programs[group] / folder


def relative(path: Path, folder: Path) -> str:
    """As kustomize wants it, which refuses absolute paths."""
    return os.path.relpath(path.resolve(), folder.resolve())


def values(settings: ClusterSettings) -> dict[str, Any]:
    """The ConfigMap that components take the cluster's addresses from."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "local-cluster", "annotations": _LOCAL_CONFIG},
        "data": {
            "address": str(settings.nodes[0].address),
            "nodes": str(settings.node_range),
            "pods": str(settings.pod_range),
            "registry": str(node_registry.address(settings)),
            "services": str(settings.service_range),
        },
    }


def certificate_secret(files: Mapping[str, str]) -> dict[str, Any]:
    """The Secret that components take their certificate from; its values are in base64."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "local-certificate", "annotations": _LOCAL_CONFIG},
        "type": "kubernetes.io/tls",
        "data": dict(files),
    }


def password_secret(folder: Path) -> dict[str, Any]:
    """The Secret that components take their password from; it is made on first use."""
    file = folder / "password"
    if not file.is_file():
        file.write_text(secrets.token_urlsafe(32))
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "local-password", "annotations": _LOCAL_CONFIG},
        "data": {"password": b64encode(file.read_bytes()).decode()},
    }


def kustomization(
    resources: Iterable[str], components: Iterable[str], part: Part, images: Mapping[str, str]
) -> dict[str, Any]:
    """What builds a part's manifest.

    Args:
        resources: The files that the component takes values from, and what it changes.
        components: The components' folders, relative to the kustomization.
        part: The part.
        images: Image name to its reference.
    """
    split = {name: images[name].rpartition(":") for name in part.images}
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": list(resources),
        "components": list(components),
        "images": [
            {"name": f"{REGISTRY}/{name}", "newName": repository, "newTag": tag}
            for name, (repository, _, tag) in split.items()
        ],
    }
