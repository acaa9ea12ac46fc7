"""A control plane with the operator and the observer beside it, and nodes that kwok answers for."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

import yaml
from support.commands import Kubectl
from support.plane import content, namespaces, stages
from support.plane.beside import ALONE, Place
from support.plane.control_plane import RARELY_COLLECTED, ControlPlane
from support.plane.kept import KeptObserver
from support.plane.namespaces import ADDRESS
from support.plane.parts import OPERATOR_POD, ObserverProcess, OperatorProcess
from support.plane.process import Process
from support.servers import succeeds, wait_until

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from support.plane.pki import Pki

SYSTEM = "devctl-system"
_SCHEMAS_SECONDS = 6.0
JOB_API = "gpu.yourdomain.io/v1alpha1"


class Plane:
    """All of its processes.

    Args:
        programs: The folder of each group's programs, by the group's name.
        python: One with what the operator's image has.
        pki: Certificates, which exist.
        folder: Its own files.
    """

    def __init__(self, programs: Mapping[str, Path], python: Path, pki: Pki, folder: Path) -> None:
        """Start nothing yet."""
        self.folder, self.pki, self._programs, self._python = folder, pki, programs, python
        self.kubeconfig = pki.kubeconfig()
        self.kubectl = Kubectl(programs["kubernetes"] / "kubectl", self.kubeconfig)
        self.control = ControlPlane(programs["kubernetes"], pki, folder)
        self.kwok = Process(self._kwok(), folder / "kwok.log", os.environ | RARELY_COLLECTED)
        self._observer: KeptObserver | None = None
        self._operator: OperatorProcess | None = None

    def start(self) -> None:
        """Start a Kubernetes with nodes and all of config/, but neither operator nor observer."""
        namespaces.enter(self.folder / "runs")
        self.control.start()
        self.kwok.start()
        nodes = [content.node(name, n) for n, name in enumerate(content.NODES)]
        listed = {"apiVersion": "v1", "kind": "List", "items": nodes}
        self._super_admin("create", "-f", "-", input=json.dumps(listed))
        self.install()

    def install(self, checkout: Path = REPOSITORY) -> None:
        """Apply all of config/ but its pods, of this or of another release."""
        apply = ("apply", "--server-side", "--force-conflicts", "--field-manager=devctl-deploy")
        everything = content.everything(self.kubectl.program, checkout)
        self._super_admin(*apply, "-f", "-", input=everything)
        operator = content.pod(OPERATOR_POD, SYSTEM, "devctl-operator")
        self._super_admin(*apply, "-f", "-", input=json.dumps(operator))
        wait_until(self._has_aggregated, "users have their rights")
        self.wait_for_schemas()

    def release(self, checkout: Path) -> tuple[OperatorProcess, ObserverProcess]:
        """Operator and observer of another release, for when the plane's own are away."""
        operator, observer = (self.account(f"devctl-{part}") for part in ("operator", "observer"))
        program = self._programs["ansible-operator"] / "ansible-operator"
        folder = self.folder / checkout.name
        folder.mkdir()
        return (
            OperatorProcess(program, self._python, operator, folder, checkout=checkout),
            # Of the same name, and so each other's heir.
            KeptObserver(observer, folder, checkout=checkout),
        )

    def stop(self) -> None:
        """End everything."""
        for part in (self._operator, self._observer):
            if part is not None:
                part.kill()
        self.kwok.kill()
        self.control.stop()

    @property
    def operator(self) -> OperatorProcess:
        """The operator, started or not."""
        if self._operator is None:
            self._operator = self.operator_with(self.account("devctl-operator"), "operator")
        return self._operator

    def operator_with(
        self,
        kubeconfig: Path,
        name: str,
        *modules: Path,
        place: Place = ALONE,
        checkout: Path = REPOSITORY,
    ) -> OperatorProcess:
        """Another operator, for when the plane's own is away: their ports are the same.

        Args:
            kubeconfig: Whose rights it has, and where it finds the API server.
            name: Of its folder.
            modules: Folders of Python modules that come before all others.
            place: Where it runs, and whether with others.
            checkout: Whose watches, roles and plugins it has.
        """
        program = self._programs["ansible-operator"] / "ansible-operator"
        folder = self.folder / name
        python = self._python
        return OperatorProcess(
            program, python, kubeconfig, folder, *modules, place=place, checkout=checkout
        )

    @property
    def observer(self) -> ObserverProcess:
        """The observer, started or not."""
        if self._observer is None:
            self._observer = KeptObserver(self.account("devctl-observer"), self.folder)
        return self._observer

    def account(self, name: str, namespace: str = SYSTEM) -> Path:
        """A kubeconfig with the rights of an account; the operator's is its pod's."""
        options = ["-n", namespace, "--duration=10h"]
        if (name, namespace) == (OPERATOR_POD, SYSTEM):
            options += ["--bound-object-kind=Pod", f"--bound-object-name={OPERATOR_POD}"]
        token = self.kubectl("create", "token", name, *options).strip()
        config = yaml.safe_load(self.kubeconfig.read_text())
        config["users"][0]["user"] = {"token": token}
        config["contexts"][0]["context"]["namespace"] = namespace
        file = self.folder / f"{namespace}-{name}.conf"
        file.write_text(json.dumps(config))
        return file

    def _has_aggregated(self) -> bool:
        """Whether each aggregated role has the rules of those that it is made of."""
        roles = json.loads(self.kubectl("get", "clusterroles", "-o", "json"))["items"]
        return all(
            rule in (role["rules"] or [])
            for role in roles
            for selector in (role.get("aggregationRule") or {}).get("clusterRoleSelectors", [])
            for part in roles
            if selector["matchLabels"].items() <= (part["metadata"].get("labels") or {}).items()
            for rule in part["rules"] or []
        )

    def wait_for_schemas(self) -> None:
        """Wait until jobs have been admitted for as long as the API server takes to read schemas.

        Once does not show it: schemas that it reads while kinds still arrive may lack the job's.
        """
        since = time.monotonic()

        def lasts() -> bool:
            nonlocal since
            if not succeeds(self._try_job):
                since = time.monotonic()
            time.sleep(0.5)
            return time.monotonic() - since > _SCHEMAS_SECONDS

        wait_until(lasts, "the API server takes jobs")

    def _try_job(self) -> None:
        """Have a job admitted: while its kind is new or changing the API server can answer 503.

        It reads the schemas for mutating policies every 5 s (k8s.io/apiserver, type converters).
        """
        job = {
            "apiVersion": JOB_API,
            "kind": "EphemeralAccelerationJob",
            "metadata": {"name": "try", "namespace": "default"},
            "spec": {"image": "none", "command": ["true"]},
        }
        self._super_admin("create", "--dry-run=server", "-f", "-", input=json.dumps(job))

    @property
    def _super_admin(self) -> Kubectl:
        return Kubectl(self.kubectl.program, self.pki.kubeconfig("super-admin"))

    def _kwok(self) -> list[str | Path]:
        file = self.folder / "stages.yaml"
        file.write_text(stages.document())
        return [
            self._programs["kubernetes"] / "kwok",
            f"--kubeconfig={self.pki.kubeconfig('super-admin')}",
            "--manage-all-nodes=true",
            f"--config={file}",
            f"--node-ip={ADDRESS}",
            "--cidr=10.244.0.0/16",
            "--node-lease-duration-seconds=40",
        ]
