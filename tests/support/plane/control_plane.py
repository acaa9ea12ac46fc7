"""etcd, API server, controllers and scheduler as processes: Kubernetes without real nodes."""

from __future__ import annotations

import json
import os
import ssl
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

from support.plane.namespaces import ADDRESS
from support.plane.pki import PORT, SERVICES, Pki
from support.plane.process import Process

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ETCD = "http://127.0.0.1:2379"
AUDITED = ("operator", "observer")
URL = f"https://{ADDRESS}:{PORT}"
RARELY_COLLECTED = {"GOGC": "300"}
"""Memory is cheaper than the processor here: by default, an API server spends a seventh of its time
on garbage collection (pprof, over a minute of tests of servers)."""


class ControlPlane:
    """The processes, by what they are called.

    Args:
        programs: The folder of the programs.
        pki: Certificates and kubeconfigs.
        folder: Where logs and etcd's data go.
    """

    def __init__(self, programs: Path, pki: Pki, folder: Path) -> None:
        """Start nothing yet."""
        self._programs, self._pki, self._folder = programs, pki, folder
        self.audit_log = folder / "audit.log"
        self.etcd = self._process("etcd", self._etcd())
        self.api_server = self._process("kube-apiserver", self._api_server())
        self.controllers = self._process("kube-controller-manager", self._controllers())
        self.scheduler = self._process("kube-scheduler", self._scheduler())

    @property
    def processes(self) -> tuple[Process, ...]:
        """All of them; those that others need come first."""
        return (self.etcd, self.api_server, self.controllers, self.scheduler)

    def start(self) -> None:
        """Start all of them and wait until the API server answers."""
        for process in self.processes[:2]:
            process.start()
        self.api_server.await_so(self.answers, "it answers")
        for process in self.processes[2:]:
            process.start()

    def stop(self) -> None:
        """End all of them; what is stored is thrown away, so nothing is waited for."""
        for process in reversed(self.processes):
            process.kill()

    def answers(self) -> bool:
        """Whether the API server is ready."""
        context = ssl.create_default_context(cafile=str(self._pki.file("ca.crt")))
        try:
            with urllib.request.urlopen(f"{URL}/readyz", context=context, timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def _process(self, name: str, options: Mapping[str, object]) -> Process:
        argv: list[str | Path] = [self._programs / name]
        argv += [f"--{key}={value}" for key, value in options.items()]
        return Process(argv, self._folder / f"{name}.log", os.environ | RARELY_COLLECTED)

    def _etcd(self) -> dict[str, object]:
        return {
            "data-dir": self._folder / "etcd",
            "listen-client-urls": ETCD,
            "advertise-client-urls": ETCD,
            # What a test loses with the power is not worth a disk's time.
            "unsafe-no-fsync": "true",
            "log-level": "error",
        }

    def _api_server(self) -> dict[str, object]:
        file = self._pki.file
        return {
            "advertise-address": ADDRESS,
            "secure-port": PORT,
            "etcd-servers": ETCD,
            "service-cluster-ip-range": SERVICES,
            "authorization-mode": "Node,RBAC",
            "enable-admission-plugins": "NodeRestriction",
            "client-ca-file": file("ca.crt"),
            "tls-cert-file": file("apiserver.crt"),
            "tls-private-key-file": file("apiserver.key"),
            "audit-policy-file": self._audit_policy(),
            "audit-log-path": self.audit_log,
            "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
            "service-account-key-file": file("sa.pub"),
            "service-account-signing-key-file": file("sa.key"),
            "profiling": "false",
        }

    def _audit_policy(self) -> Path:
        """What our own accounts ask is taken down, and nothing else."""
        users = [f"system:serviceaccount:devctl-system:devctl-{of}" for of in AUDITED]
        rules = [{"level": "Metadata", "users": users}, {"level": "None"}]
        policy = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": rules}
        file = self._folder / "audit-policy.json"
        file.write_text(json.dumps(policy | {"omitStages": ["RequestReceived"]}))
        return file

    def _controllers(self) -> dict[str, object]:
        file, kubeconfig = self._pki.file, self._pki.kubeconfig("controller-manager")
        return {
            "kubeconfig": kubeconfig,
            "authentication-kubeconfig": kubeconfig,
            "authorization-kubeconfig": kubeconfig,
            "leader-elect": "false",
            "root-ca-file": file("ca.crt"),
            "service-account-private-key-file": file("sa.key"),
            "cluster-signing-cert-file": file("ca.crt"),
            "cluster-signing-key-file": file("ca.key"),
            "use-service-account-credentials": "true",
            "allocate-node-cidrs": "false",
            "profiling": "false",
        }

    def _scheduler(self) -> dict[str, object]:
        kubeconfig = self._pki.kubeconfig("scheduler")
        return {
            "kubeconfig": kubeconfig,
            "authentication-kubeconfig": kubeconfig,
            "authorization-kubeconfig": kubeconfig,
            "leader-elect": "false",
            "profiling": "false",
        }
