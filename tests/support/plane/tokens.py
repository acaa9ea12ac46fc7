"""Folders with an account's token, as the kubelet mounts them in pods."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from pathlib import Path

    from support.commands import Kubectl


def write_account(kubectl: Kubectl, folder: Path, name: str, namespace: str, *bound: str) -> None:
    """Make a folder as pods have it, with a token of an account and the cluster's CA."""
    cluster = yaml.safe_load(kubectl.kubeconfig.read_text())["clusters"][0]["cluster"]
    (folder / "token").write_text(kubectl("create", "token", name, "-n", namespace, *bound))
    (folder / "ca.crt").write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
