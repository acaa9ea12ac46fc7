"""The plane's certificates and kubeconfigs: kubeadm's, as on any cluster that it makes."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from support.plane.namespaces import ADDRESS

if TYPE_CHECKING:
    from pathlib import Path

PORT = 6443
SERVICES = "10.96.0.0/16"
_KUBECONFIGS = ("super-admin", "admin", "controller-manager", "scheduler")


@dataclass(frozen=True)
class Pki:
    """A folder of certificates and kubeconfigs; planes of one run share it."""

    folder: Path

    def file(self, name: str) -> Path:
        """A certificate or a key."""
        return self.folder / "pki" / name

    def kubeconfig(self, who: str = "admin") -> Path:
        """A kubeconfig of kubeadm's."""
        return self.folder / f"{who}.conf"

    def make(self, kubeadm: Path, version: str) -> None:
        """Make all of them."""
        self.folder.mkdir(parents=True)
        config = self.folder / "kubeadm.json"
        config.write_text("\n---\n".join(json.dumps(part) for part in self._configuration(version)))
        phases = [("certs", "all", "--config", config)]
        phases += [
            ("kubeconfig", who, "--config", config, f"--kubeconfig-dir={self.folder}")  # type: ignore[misc]
            for who in _KUBECONFIGS
        ]
        for phase in phases:
            subprocess.run(
                [kubeadm, "init", "phase", *phase], check=True, stdout=subprocess.DEVNULL
            )

    def _configuration(self, version: str) -> list[dict[str, object]]:
        api = "kubeadm.k8s.io/v1beta4"
        return [
            {
                "apiVersion": api,
                "kind": "InitConfiguration",
                "localAPIEndpoint": {"advertiseAddress": ADDRESS, "bindPort": PORT},
                "nodeRegistration": {"name": "plane", "criSocket": "unix:///none"},
            },
            {
                "apiVersion": api,
                "kind": "ClusterConfiguration",
                "clusterName": "plane",
                "kubernetesVersion": version,
                "certificatesDir": str(self.folder / "pki"),
                # RSA keys take a second each.
                "encryptionAlgorithm": "ECDSA-P256",
                "apiServer": {"certSANs": ["127.0.0.1"]},
                "networking": {"serviceSubnet": SERVICES},
            },
        ]
