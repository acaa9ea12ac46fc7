"""The SDK's front door."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from devctl.client.events import Events
    from devctl.client.files.files import Files
    from devctl.client.findings import Finding
    from devctl.client.flavors import Flavors
    from devctl.client.homes import Homes
    from devctl.client.jobs.jobs import Jobs
    from devctl.client.jupyter import StartJupyter
    from devctl.client.manifests import Applied
    from devctl.client.monitor import Monitor
    from devctl.client.runs.runs import Runs
    from devctl.client.servers import Servers
    from devctl.client.ssh.ssh import Ssh
    from devctl.client.streams.execute import Execute
    from devctl.client.streams.port_forwards import Forward
    from devctl.client.teams import Teams
    from devctl.client.top import Top
    from devctl.client.usage import Usage
    from devctl.client.users import Users
    from devctl.client.vllm.cache_plan import Cache
    from devctl.client.vllm.gpus import GpuStatus
    from devctl.client.vllm.runs import VLLMRuns
    from devctl.client.workers.workers import Workers
    from devctl.client.workloads.workloads import Workloads
    from devctl.kube.cluster import Cluster


T = TypeVar("T")


class Part(cached_property[T]):
    """A part of a client, imported when it is first used: a command pays for what it needs."""

    def __init__(self, path: str) -> None:
        """Take the class's `module:name` below devctl.client."""
        self._module, _, self._name = path.partition(":")
        super().__init__(lambda client: self.type()(client.cluster))

    def type(self) -> Any:
        """The class of the part."""
        return getattr(import_module(f"devctl.client.{self._module}"), self._name)


class Client(AbstractContextManager["Client"]):
    """Everything that `devctl`, `egpu` and `k8shazgpu` can do in one cluster, as one user.

    ::

        with Client(namespace="dev-alice") as client:
            client.servers.create("lab", flavor="cpu-small")
            client.servers.wait_ready("lab")
            print(client.execute("lab", ["nproc"]).stdout)
            client.servers.delete("lab")
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
        """Read the kubeconfig; raises DevctlError if that names no cluster. Ask nothing yet.

        Args:
            cluster: An existing connection; the other arguments are then unused.
            kubeconfig: A file; else KUBECONFIG, else ~/.kube/config.
            context: One of its contexts; else DEVCTL_CONTEXT, else the current one.
            namespace: The default namespace; else DEVCTL_NAMESPACE, else the context's.
            request_timeout: Seconds for each request; 0 for no limit.
        """
        if cluster is None:
            from devctl.kube.cluster import Cluster  # noqa: PLC0415

            cluster = Cluster.connect(kubeconfig, context, namespace, request_timeout)
        self.cluster = cluster
        self._place = (kubeconfig, context)

    def __exit__(self, *_error: object) -> None:
        """Close the connections."""
        self.close()

    def close(self) -> None:
        """Close the connections: no request can be made afterwards."""
        if "workers" in self.__dict__:
            self.workers.close()
        self.cluster.close()

    @property
    def namespace(self) -> str:
        """The namespace of everything that is named without one."""
        return self.cluster.namespace

    servers: Part[Servers] = Part("servers:Servers")
    """Create, inspect, stop, start, extend and delete servers."""
    homes: Part[Homes] = Part("homes:Homes")
    """The volumes with people's files, which outlive servers."""
    flavors: Part[Flavors] = Part("flavors:Flavors")
    """What servers can run on, and how much of it is free."""
    teams: Part[Teams] = Part("teams:Teams")
    """Create, change and delete teams that share a quota, as an administrator."""
    usage: Part[Usage] = Part("usage:Usage")
    """What ran in a month, and what it cost."""
    events: Part[Events] = Part("events:Events")
    """What has happened."""
    runs: Part[Runs] = Part("runs.runs:Runs")
    """Start, follow and stop scripts on all ranks of a server."""
    files: Part[Files] = Part("files.files:Files")
    """Copy and sync files to and from a server."""
    execute: Part[Execute] = Part("streams.execute:Execute")
    """Run a command in a server, as in `client.execute("lab", ["nproc"])`."""
    forward: Part[Forward] = Part("streams.port_forwards:Forward")
    """Forward a port of a server to this machine, as in `client.forward("lab", 8888)`."""
    jupyter: Part[StartJupyter] = Part("jupyter:StartJupyter")
    """Run Jupyter in a server, as in `with client.jupyter("lab") as jupyter`."""
    monitor: Part[Monitor] = Part("monitor:Monitor")
    """What servers use of CPU, memory, disk and GPUs, and their processes."""
    top: Part[Top] = Part("top:Top")
    """What all servers and jobs use, at a glance."""
    jobs: Part[Jobs] = Part("jobs.jobs:Jobs")
    """Create, follow and delete ephemeral jobs, and move their files."""
    workloads: Part[Workloads] = Part("workloads.workloads:Workloads")
    """Submit, follow, cancel, retry and delete GPU workloads, and read their output."""
    vllm_runs: Part[VLLMRuns] = Part("vllm.runs:VLLMRuns")
    """Create, follow and delete vLLM runs, and read their output."""
    cache: Part[Cache] = Part("vllm.cache_plan:Cache")
    """The CachePlan: what nodes are to have ready; and what they have."""
    gpus: Part[GpuStatus] = Part("vllm.gpus:GpuStatus")
    """Which GPUs nodes offer by claim, and who has them, as in `client.gpus()`."""

    @cached_property
    def users(self) -> Users:
        """Onboard, suspend and delete users, and issue their credentials, as an administrator."""
        from devctl.client.users import Users  # noqa: PLC0415

        return Users(self.cluster, *self._place)

    @cached_property
    def workers(self) -> Workers:
        """The GPU workers API: nodes, jobs, keys and bills; see DEVCTL_WORKERS_URL."""
        from devctl.client.workers.workers import Workers  # noqa: PLC0415

        return Workers()

    @cached_property
    def ssh(self) -> Ssh:
        """What the system's ssh needs to reach a server."""
        from devctl.client.ssh.ssh import Ssh  # noqa: PLC0415

        return Ssh(self.cluster, *self._place)

    def whoami(self) -> str:
        """The user's name, as the API server knows it."""
        return self.cluster.whoami()

    def doctor(self) -> Iterator[Finding]:
        """Check connection, permissions and the operator; each finding as soon as it is known."""
        from devctl.client.doctor import examine  # noqa: PLC0415

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
