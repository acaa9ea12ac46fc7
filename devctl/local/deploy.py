"""`make deploy`: install the operator into a cluster.

Into KUBECONFIG's cluster if that is set, with the images DEVCTL_OPERATOR_IMAGE,
DEVCTL_OBSERVER_IMAGE and DEVCTL_NODE_AGENT_IMAGE and the overlay DEVCTL_OVERLAY of config/
(`default`); otherwise into the local cluster, repaired first, so that its nodes have the images of
this checkout.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from devctl.errors import DevctlError, ReportedError, UsageError
from devctl.local import build, cluster, playbook
from devctl.local.paths import cache_paths, cluster_paths, state_folder
from devctl.local.settings import WantedRanges

if TYPE_CHECKING:
    from collections.abc import Mapping

EVERYWHERE = ("operator", "observer", "node-agent")
"""Images that run in any cluster; each has a workload `devctl-<name>`."""

PARTS = (*EVERYWHERE, "fake-gpu-plugin")
"""Images that run in the local cluster."""


class Target(NamedTuple):
    """A cluster, and the operator to install in it."""

    kubectl: Path
    kubeconfig: Path
    images: dict[str, str]
    """The image of each workload."""
    overlay: str

    def variables(self) -> dict[str, Any]:
        """The variables of playbooks/deploy.yml."""
        values = self._asdict() | {"kubectl": str(self.kubectl), "kubeconfig": str(self.kubeconfig)}
        return {f"deploy_operator_{key}": value for key, value in values.items()}


def foreign_target(environment: Mapping[str, str], kubectl: Path | None) -> Target:
    """The cluster that KUBECONFIG names; raises UsageError if the environment is incomplete."""
    images = {}
    for part in EVERYWHERE:
        variable = f"DEVCTL_{part.upper().replace('-', '_')}_IMAGE"
        images[f"devctl-{part}"] = environment.get(variable, "")
        if not images[f"devctl-{part}"]:
            raise UsageError(
                f"{variable} is not set",
                f"build images/{part}, push it where the cluster can pull it, and name it",
            )
    if os.pathsep in environment["KUBECONFIG"]:
        raise UsageError("KUBECONFIG names several files", "set it to the one of the cluster")
    if kubectl is None:
        raise UsageError("no kubectl on PATH", "install kubectl")
    overlay = environment.get("DEVCTL_OVERLAY", "default")
    return Target(kubectl, Path(environment["KUBECONFIG"]).absolute(), images, overlay)


def local_target(name: str) -> Target:
    """The local cluster, running and with this checkout's images."""
    cluster.up(name, None, WantedRanges())
    groups, built = build.describe(cache_paths())
    kubectl = groups["kubernetes"].folder(cache_paths()) / "kubectl"
    images = {f"devctl-{part}": built[part].reference for part in PARTS}
    return Target(kubectl, cluster_paths(name).kubeconfig, images, "local")


def main() -> None:
    """Deploy, and print the next command."""
    try:
        if os.environ.get("KUBECONFIG"):
            kubectl = shutil.which("kubectl")
            target = foreign_target(os.environ, Path(kubectl) if kubectl else None)
            folder = state_folder() / "deploy"
        else:
            name = os.environ.get("DEVCTL_LOCAL_NAME", "devctl")
            target = local_target(name)
            folder = cluster_paths(name).root / "deploy"
        inventory: dict[str, Any] = {"all": {"hosts": {"localhost": {}}}}
        if playbook.run("deploy.yml", inventory, folder, target.variables()):
            raise ReportedError("deploy.yml failed")
    except DevctlError as error:
        for line in error.lines():
            click.echo(line, err=True)
        sys.exit(error.exit_code)
    for name, image in target.images.items():
        click.echo(f"{name} `{image}` runs")
    click.echo(
        f"next: export KUBECONFIG={target.kubeconfig}; kubectl get devservers --all-namespaces"
    )


if __name__ == "__main__":
    main()
