"""Logging in to a local cluster through providers that its optional parts bring."""

from __future__ import annotations

import json
import os
from base64 import b64decode
from typing import TYPE_CHECKING, Any

import yaml

from devctl.errors import HostError
from devctl.local.part_manifests import COMPONENTS
from devctl.local.part_objects import certificate_of, with_address
from devctl.oidc.registration import Registration

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from devctl.local.parts import Part
    from devctl.local.paths import ClusterPaths
    from devctl.local.settings import ClusterSettings

_FLAG = "--authentication-config"


def configure(settings: ClusterSettings, paths: ClusterPaths, parts: Iterable[Part]) -> bool:
    """Have the API server trust the providers of these parts; returns whether that is new.

    It reads the file when it starts, and again within a minute of a change.

    Raises:
        HostError: The cluster was created without such a file.
    """
    node = paths.node(settings.nodes[0].name)
    trusted = [authenticator(settings, paths, part) for part in parts if part.authenticator]
    manifest = node.etc / "kubernetes" / "manifests" / "kube-apiserver.yaml"
    if manifest.is_file() and _FLAG not in manifest.read_text():
        if trusted:
            raise HostError(
                f"cluster `{settings.name}` is too old for the part: its API server reads no file"
                " about providers",
                f"create it again: `devctl local reset --name {settings.name}`",
            )
        return False
    about = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration"}
    return _replace(
        node.etc / "kubernetes" / "authentication" / "config.json",
        json.dumps({**about, "jwt": trusted}, indent=2),
    )


def authenticator(settings: ClusterSettings, paths: ClusterPaths, part: Part) -> dict[str, Any]:
    """A part's entry in the API server's AuthenticationConfiguration."""
    text = (COMPONENTS / part.name / part.authenticator).read_text()
    found: dict[str, Any] = yaml.safe_load(with_address(text, settings))
    files = certificate_of(settings, paths, part)
    found["issuer"]["certificateAuthority"] = b64decode(files["ca.crt"]).decode()
    return found


def write_kubeconfig(settings: ClusterSettings, paths: ClusterPaths, part: Part) -> None:
    """Write a kubeconfig with which people log in by a part's provider, into the part's folder."""
    issuer = authenticator(settings, paths, part)["issuer"]
    registration = Registration(
        issuer["url"], issuer["audiences"][0], issuer["certificateAuthority"]
    )
    name = f"{settings.name}-{part.name}"
    admin = yaml.safe_load(paths.kubeconfig.read_text())
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": admin["clusters"][0]["cluster"]}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "users": [{"name": name, "user": registration.kubeconfig_user()}],
    }
    _replace(paths.parts / part.name / "kubeconfig", json.dumps(config, indent=2))


def _replace(file: Path, text: str) -> bool:
    """Replace a file as a whole, if it has another content."""
    if file.is_file() and file.read_text() == text:
        return False
    file.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    # The API server may read at any moment, and does not start with half a file.
    partial = file.with_name(f".{file.name}.{os.getpid()}")
    partial.touch(mode=0o600)
    partial.write_text(text)
    partial.replace(file)
    return True
