"""What the system's ssh needs to reach a server."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Self

from devctl.client.ssh import keys
from devctl.client.ssh.destination import USER, Destination
from devctl.client.streams.pods import running_pod
from devctl.kube.kubeconfig import find_access

if TYPE_CHECKING:
    from devctl.kube.cluster import Cluster


IN_CLUSTER = "in-cluster"
"""What a pod's own account is called; no kubeconfig has such an entry."""


class Ssh:
    """What the system's ssh needs to reach servers, which have no port open for it.

        destination = client.ssh.destination("lab")
        subprocess.run(destination.command(["nvidia-smi"]))
        print(destination.config())  # for all servers of the namespace

    The key pair is the person's own for all servers and lies in `~/.ssh/devctl`.
    """

    def __init__(
        self, cluster: Cluster, kubeconfig: str | None = None, context: str | None = None
    ) -> None:
        """Ask nothing yet.

        Args:
            cluster: Where the servers are.
            kubeconfig: The file through which it was found, where one was named.
            context: The entry of it, where one was named.
        """
        self._cluster = cluster
        self._place: dict[str, str] = {}
        self._environment: dict[str, str] = {}
        # ssh may be started elsewhere, later, and from another folder.
        if kubeconfig:
            self._place["kubeconfig"] = str(Path(kubeconfig).expanduser().absolute())
        elif found := os.environ.get("KUBECONFIG"):
            parts = [str(Path(each).absolute()) for each in found.split(os.pathsep) if each]
            self._environment["KUBECONFIG"] = os.pathsep.join(parts)
        if context := context or os.environ.get("DEVCTL_CONTEXT"):
            self._place["context"] = context

    def kept(self) -> Self:
        """The same for what is kept in a file: it leads here whatever becomes current.

        Raises:
            DevctlError: There is no kubeconfig that leads to it.
        """
        found = find_access(self._place.get("kubeconfig"), self._place.get("context"))
        if found.server == self._cluster.server and found.context != IN_CLUSTER:
            self._place["context"] = found.context
        return self

    def destination(self, name: str, replica: int = 0, *, user: str = USER) -> Destination:
        """A replica as ssh knows it; whether it is there is not asked.

        Args:
            name: The server.
            replica: Which of its pods, from 0.
            user: Who one is there: the name that its image has for user 1000.

        Raises:
            UsageError: There can be no such server.
            HostError: This machine has no ssh, or its key cannot be kept.
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
        """See that a replica runs.

        Raises:
            NotFoundError: There is no such server or replica.
            DevctlError: It does not run.
        """
        running_pod(self._cluster, destination.name, destination.replica)
