"""The system's ssh: what it needs to reach a server, and how this process becomes it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Self

from devctl.client.ssh import keys
from devctl.client.ssh.destination import USER, Destination
from devctl.client.streams.pods import running_pod
from devctl.errors import HostError
from devctl.kube.kubeconfig import find_access

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.kube.cluster import Cluster


IN_CLUSTER = "in-cluster"
"""The context of a pod's own account, which is in no kubeconfig."""


class Ssh:
    """What the system's ssh needs to reach servers, which have no open port for it.

        destination = client.ssh.destination("lab")
        subprocess.run(destination.command(["nvidia-smi"]))
        print(destination.config())  # for all servers of the namespace

    One key pair in `~/.ssh/devctl` is used for all servers.
    """

    def __init__(
        self, cluster: Cluster, kubeconfig: str | None = None, context: str | None = None
    ) -> None:
        """Make no request yet; take the kubeconfig and context that the cluster was found with."""
        self._cluster = cluster
        self._place: dict[str, str] = {}
        self._environment: dict[str, str] = {}
        # ssh may be started later, and from another folder.
        if kubeconfig:
            self._place["kubeconfig"] = str(Path(kubeconfig).expanduser().absolute())
        elif found := os.environ.get("KUBECONFIG"):
            parts = [str(Path(each).absolute()) for each in found.split(os.pathsep) if each]
            self._environment["KUBECONFIG"] = os.pathsep.join(parts)
        if context := context or os.environ.get("DEVCTL_CONTEXT"):
            self._place["context"] = context

    def kept(self) -> Self:
        """The same with a fixed context; raises DevctlError if no kubeconfig has the cluster."""
        found = find_access(self._place.get("kubeconfig"), self._place.get("context"))
        if found.server == self._cluster.server and found.context != IN_CLUSTER:
            self._place["context"] = found.context
        return self

    def destination(self, name: str, replica: int = 0, *, user: str = USER) -> Destination:
        """A replica as ssh knows it, whether it exists or not; `user` is the image's user 1000.

        UsageError if the name or the replica is invalid, HostError if this machine has no ssh, or
        cannot store the key.
        """
        return Destination(
            name=name,
            replica=replica,
            namespace=self._cluster.namespace,
            server=self._cluster.server,
            identity=keys.own_key().private,
            user=user,
            place=self._place,
            environment=self._environment,
        )

    def check(self, destination: Destination) -> None:
        """Raise DevctlError, which says why, unless a replica runs."""
        running_pod(self._cluster, destination.name, destination.replica)


def become(argv: Sequence[str]) -> NoReturn:
    """Replace this process by a program; raises HostError if it cannot be run."""
    try:
        os.execvp(argv[0], list(argv))  # noqa: S606 - no shell is the point
    except FileNotFoundError as error:
        raise keys.no_client(argv[0]) from error
    except OSError as error:
        raise HostError(
            f"`{argv[0]}` cannot be run: {error.strerror or error}", "see what it is on your PATH"
        ) from error
