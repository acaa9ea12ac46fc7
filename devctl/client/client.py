"""The SDK's front door."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from devctl.client.doctor.checks import Finding
    from devctl.client.events import Events
    from devctl.client.files.files import Files
    from devctl.client.flavors import Flavors
    from devctl.client.homes import Homes
    from devctl.client.jobs.jobs import Jobs
    from devctl.client.jupyter import Jupyter
    from devctl.client.manifests import Applied
    from devctl.client.monitor import Monitor
    from devctl.client.runs.runs import Runs
    from devctl.client.servers import Servers
    from devctl.client.ssh.ssh import Ssh
    from devctl.client.streams.execute import Execute
    from devctl.client.streams.port_forwards import Forward
    from devctl.client.teams import Teams
    from devctl.client.users import Users
    from devctl.kube.cluster import Cluster


class Client:
    """Everything that `devctl` and `egpu` can do in one cluster, as one user.

    ::

        with Client(namespace="dev-alice") as client:
            client.servers.create("lab", flavor="cpu-small")
            client.servers.wait_ready("lab")
            print(client.execute("lab", ["nproc"]).stdout)
            client.servers.delete("lab")

    Each part is imported when it is asked for: a command pays for what it uses.
    """

    def __init__(
        self,
        cluster: Cluster | None = None,
        *,
        kubeconfig: str | None = None,
        context: str | None = None,
        namespace: str | None = None,
        request_timeout: float | None = None,
    ) -> None:
        """Read the kubeconfig; ask nothing yet.

        Args:
            cluster: A connection that is there already; the others are then unused.
            kubeconfig: A file; else KUBECONFIG, else ~/.kube/config.
            context: One of its contexts; else DEVCTL_CONTEXT, else the current one.
            namespace: Where; else DEVCTL_NAMESPACE, else the context's.
            request_timeout: Seconds in which each request has to be answered; 0 for ever.

        Raises:
            DevctlError: No cluster can be found that way.
        """
        if cluster is None:
            from devctl.kube.cluster import Cluster  # noqa: PLC0415

            cluster = Cluster.connect(kubeconfig, context, namespace, request_timeout)
        self.cluster = cluster
        self._place = (kubeconfig, context)

    @classmethod
    def connect(
        cls,
        kubeconfig: str | None = None,
        context: str | None = None,
        namespace: str | None = None,
        request_timeout: float | None = None,
    ) -> Self:
        """The same, by places."""
        return cls(
            kubeconfig=kubeconfig,
            context=context,
            namespace=namespace,
            request_timeout=request_timeout,
        )

    def __enter__(self) -> Self:
        """Nothing is asked yet."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connections."""
        self.close()

    def close(self) -> None:
        """Close the connections: no request can be made afterwards."""
        self.cluster.close()

    @property
    def namespace(self) -> str:
        """Where things are looked for that are named without a namespace."""
        return self.cluster.namespace

    @cached_property
    def servers(self) -> Servers:
        """Servers: create, look at, stop, start, extend, delete."""
        from devctl.client.servers import Servers  # noqa: PLC0415

        return Servers(self.cluster)

    @cached_property
    def homes(self) -> Homes:
        """The volumes that hold people's files, and outlive servers."""
        from devctl.client.homes import Homes  # noqa: PLC0415

        return Homes(self.cluster)

    @cached_property
    def flavors(self) -> Flavors:
        """What servers can run on, and how much of it is free."""
        from devctl.client.flavors import Flavors  # noqa: PLC0415

        return Flavors(self.cluster)

    @cached_property
    def users(self) -> Users:
        """Users, for administrators: onboard, suspend, delete, and issue credentials."""
        from devctl.client.users import Users  # noqa: PLC0415

        return Users(self.cluster, *self._place)

    @cached_property
    def teams(self) -> Teams:
        """Teams of users who share a quota, for administrators."""
        from devctl.client.teams import Teams  # noqa: PLC0415

        return Teams(self.cluster)

    @cached_property
    def events(self) -> Events:
        """What has happened."""
        from devctl.client.events import Events  # noqa: PLC0415

        return Events(self.cluster)

    @cached_property
    def runs(self) -> Runs:
        """Scripts on all ranks of a server: start, follow, stop."""
        from devctl.client.runs.runs import Runs  # noqa: PLC0415

        return Runs(self.cluster)

    @cached_property
    def files(self) -> Files:
        """Files to a server and from it: copy, sync."""
        from devctl.client.files.files import Files  # noqa: PLC0415

        return Files(self.cluster)

    @cached_property
    def execute(self) -> Execute:
        """A command in a server: `client.execute("lab", ["nproc"])`."""
        from devctl.client.streams.execute import Execute  # noqa: PLC0415

        return Execute(self.cluster)

    @cached_property
    def forward(self) -> Forward:
        """A port of a server on this machine: `client.forward("lab", 8888)`."""
        from devctl.client.streams.port_forwards import Forward  # noqa: PLC0415

        return Forward(self.cluster)

    @cached_property
    def ssh(self) -> Ssh:
        """What the system's ssh needs to reach a server."""
        from devctl.client.ssh.ssh import Ssh  # noqa: PLC0415

        return Ssh(self.cluster, *self._place)

    @cached_property
    def monitor(self) -> Monitor:
        """What servers use: processor, memory, disk, GPUs, processes."""
        from devctl.client.monitor import Monitor  # noqa: PLC0415

        return Monitor(self.cluster, self.execute)

    @cached_property
    def jobs(self) -> Jobs:
        """Ephemeral jobs: create, follow, their files, delete."""
        from devctl.client.jobs.jobs import Jobs  # noqa: PLC0415

        return Jobs(self.cluster)

    def whoami(self) -> str:
        """The user's name, as the API server knows it."""
        return self.cluster.whoami()

    def doctor(self) -> Iterator[Finding]:
        """Check connection, permissions and the operator; each finding as soon as it is known."""
        from devctl.client.doctor.doctor import examine  # noqa: PLC0415

        return examine(lambda: self.cluster)

    def apply(
        self, files: Iterable[str | Path], *, force: bool = False, dry_run: bool = False
    ) -> Sequence[Applied]:
        """Create or change servers, flavors and jobs as files or folders describe them.

        Args:
            files: YAML or JSON files, or folders of such.
            force: Take over fields that others manage.
            dry_run: Have the API server check everything, and change nothing.

        Raises:
            UsageError: A file is invalid; nothing was changed.
            FieldConflictError: Others manage some of the fields.
            DevctlError: The API server refused an object; those before it are applied.
        """
        from devctl.client import manifests  # noqa: PLC0415

        read = manifests.read([str(file) for file in files])
        return [manifests.apply(self.cluster, m, force=force, dry_run=dry_run) for m in read]

    def jupyter(
        self,
        server: str,
        folder: str = "/home/dev",
        *,
        replica: int = 0,
        port: int = 0,
        keep: bool = False,
    ) -> AbstractContextManager[Jupyter]:
        """Jupyter in a server, for as long as a `with` block lasts: `client.jupyter("lab")`.

        Args:
            server: Its name.
            folder: An absolute path in the server.
            replica: Which pod.
            port: The port on this machine; 0 for any free one.
            keep: Leave it running after the block.

        Raises:
            DevctlError: It cannot be started.
            WaitTimeoutError: It does not answer in time.
        """
        from devctl.client.jupyter import jupyter  # noqa: PLC0415

        return jupyter(self.cluster, server, replica=replica, folder=folder, local=port, keep=keep)
