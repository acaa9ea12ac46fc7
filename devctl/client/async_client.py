"""The SDK for asyncio: the parts and methods of `Client`, with each call in a thread.

docs/decisions/0023 gives the reasons for threads.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from devctl.client.async_calls import AsyncPart, awaited, entered, iterated
from devctl.client.async_workers import AsyncWorkers
from devctl.client.client import Client
from devctl.client.events import Events
from devctl.client.files.files import Files
from devctl.client.flavors import Flavors
from devctl.client.homes import Homes
from devctl.client.jobs.claim import Cleanup
from devctl.client.jobs.files import JobFiles
from devctl.client.jobs.jobs import Jobs
from devctl.client.jupyter import StartJupyter
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
from devctl.client.vllm.capsules import Capsules
from devctl.client.vllm.gpus import GpuStatus
from devctl.client.vllm.runs import VLLMRuns
from devctl.client.workloads.workloads import Workloads
from devctl.client.workloads.workspace import Workspaces


class AsyncServers(AsyncPart):
    """The servers that a user may see; see Servers."""

    list = iterated(Servers.list)
    get = awaited(Servers.get)
    find = awaited(Servers.find)
    watch = iterated(Servers.watch)
    snapshots = iterated(Servers.snapshots)
    manifest = awaited(Servers.manifest)
    create = awaited(Servers.create)
    update = awaited(Servers.update)
    edit = awaited(Servers.edit)
    stop = awaited(Servers.stop)
    start = awaited(Servers.start)
    restart = awaited(Servers.restart)
    extend = awaited(Servers.extend)
    hold = awaited(Servers.hold)
    delete = awaited(Servers.delete)
    waiting_for = awaited(Servers.waiting_for)
    limits = awaited(Servers.limits)
    wait_seen = awaited(Servers.wait_seen)
    wait_ready = awaited(Servers.wait_ready)
    wait_stopped = awaited(Servers.wait_stopped)
    wait_gone = awaited(Servers.wait_gone)


class AsyncHomes(AsyncPart):
    """Home volumes; see Homes."""

    list = iterated(Homes.list)
    get = awaited(Homes.get)
    delete = awaited(Homes.delete)


class AsyncFlavors(AsyncPart):
    """Flavors; see Flavors."""

    list = awaited(Flavors.list)
    get = awaited(Flavors.get)
    create = awaited(Flavors.create)
    cordon = awaited(Flavors.cordon)
    uncordon = awaited(Flavors.uncordon)


class AsyncUsers(AsyncPart):
    """Users, for administrators; see Users."""

    list = iterated(Users.list)
    watch = iterated(Users.watch)
    get = awaited(Users.get)
    find = awaited(Users.find)
    create = awaited(Users.create)
    change = awaited(Users.change)
    suspend = awaited(Users.suspend)
    resume = awaited(Users.resume)
    delete = awaited(Users.delete)
    wait_ready = awaited(Users.wait_ready)
    quotas = awaited(Users.quotas)
    report = awaited(Users.report)
    own_quota = awaited(Users.own_quota)
    team_quotas = awaited(Users.team_quotas)
    kubeconfig = awaited(Users.kubeconfig)


class AsyncTeams(AsyncPart):
    """Teams, for administrators; see Teams."""

    list = iterated(Teams.list)
    get = awaited(Teams.get)
    find = awaited(Teams.find)
    watch = iterated(Teams.watch)
    create = awaited(Teams.create)
    change = awaited(Teams.change)
    delete = awaited(Teams.delete)
    users = awaited(Teams.users)
    queues = awaited(Teams.queues)


class AsyncUsage(AsyncPart):
    """What ran, and what it cost; see Usage."""

    lines = awaited(Usage.lines)
    spending = awaited(Usage.spending)
    of_server = awaited(Usage.of_server)
    notices = awaited(Usage.notices)


class AsyncEvents(AsyncPart):
    """Events; see Events."""

    list = awaited(Events.list)
    watch = iterated(Events.watch)


class AsyncRuns(AsyncPart):
    """Runs on the ranks of a server; see Runs."""

    place = awaited(Runs.place)
    check_free = awaited(Runs.check_free)
    launch = awaited(Runs.launch)
    start = awaited(Runs.start)
    list = awaited(Runs.list)
    find = awaited(Runs.find)
    follow = iterated(Runs.follow)
    output = iterated(Runs.output)
    tail = awaited(Runs.tail)
    stop = awaited(Runs.stop)


class AsyncFiles(AsyncPart):
    """Files to and from servers; see Files."""

    place = awaited(Files.place)
    push = awaited(Files.push)
    pull = awaited(Files.pull)
    copy = awaited(Files.copy)


class AsyncMonitor(AsyncPart):
    """Resource usage of servers; see Monitor."""

    once = awaited(Monitor.once)
    watch = iterated(Monitor.watch)


class AsyncTop(AsyncPart):
    """What servers and jobs use, at a glance; see Top."""

    once = awaited(Top.once)
    watch = iterated(Top.watch)


class AsyncSsh(AsyncPart):
    """SSH destinations; see Ssh."""

    kept = awaited(Ssh.kept)
    destination = awaited(Ssh.destination)
    check = awaited(Ssh.check)


class AsyncJobFiles(AsyncPart):
    """Files on the volumes of jobs; see JobFiles."""

    upload = awaited(JobFiles.upload)
    list = awaited(JobFiles.list)
    download = awaited(JobFiles.download)
    copy_url = awaited(JobFiles.copy_url)
    debug = entered(JobFiles.debug)


class AsyncCleanup(AsyncPart):
    """Volumes of jobs that have outlived their purpose; see Cleanup."""

    look = awaited(Cleanup.look)
    delete = awaited(Cleanup.delete)


class AsyncJobs(AsyncPart):
    """Jobs; see Jobs."""

    list = iterated(Jobs.list)
    get = awaited(Jobs.get)
    find = awaited(Jobs.find)
    watch = iterated(Jobs.watch)
    manifest = awaited(Jobs.manifest)
    create = awaited(Jobs.create)
    resume = awaited(Jobs.resume)
    waiting_for = awaited(Jobs.waiting_for)
    wait_claim = awaited(Jobs.wait_claim)
    follow = iterated(Jobs.follow)
    wait = awaited(Jobs.wait)
    events = awaited(Jobs.events)
    logs = iterated(Jobs.logs)
    delete = awaited(Jobs.delete)
    claim = awaited(Jobs.claim)
    wait_gone = awaited(Jobs.wait_gone)
    delete_claim = awaited(Jobs.delete_claim)

    def __init__(self, sync: Jobs) -> None:
        """Ask nothing yet."""
        super().__init__(sync)
        self.files = AsyncJobFiles(sync.files)
        self.cleanup = AsyncCleanup(sync.cleanup)


class AsyncWorkspaces(AsyncPart):
    """The volumes of GPU workloads; see Workspaces."""

    get = awaited(Workspaces.get)
    download = awaited(Workspaces.download)
    delete = awaited(Workspaces.delete)


class AsyncWorkloads(AsyncPart):
    """GPU workloads; see Workloads."""

    submit = awaited(Workloads.submit)
    send = awaited(Workloads.send)
    attend = iterated(Workloads.attend)
    release = awaited(Workloads.release)
    list = iterated(Workloads.list)
    get = awaited(Workloads.get)
    find = awaited(Workloads.find)
    watch = iterated(Workloads.watch)
    cancel = awaited(Workloads.cancel)
    retry = awaited(Workloads.retry)
    follow = iterated(Workloads.follow)
    logs = iterated(Workloads.logs)
    events = awaited(Workloads.events)
    waiting_for = awaited(Workloads.waiting_for)
    delete = awaited(Workloads.delete)

    def __init__(self, sync: Workloads) -> None:
        """Wrap a client's workloads."""
        super().__init__(sync)
        self.workspaces = AsyncWorkspaces(sync.workspaces)


class AsyncCapsules(AsyncPart):
    """Capsules of checkouts; see Capsules."""

    send = awaited(Capsules.send)
    has = awaited(Capsules.has)
    check = awaited(Capsules.check)
    prune = awaited(Capsules.prune)
    delete_own = awaited(Capsules.delete_own)


class AsyncVLLMRuns(AsyncPart):
    """vLLM runs; see VLLMRuns."""

    create = awaited(VLLMRuns.create)
    replay = awaited(VLLMRuns.replay)
    own = awaited(VLLMRuns.own)
    list = iterated(VLLMRuns.list)
    get = awaited(VLLMRuns.get)
    find = awaited(VLLMRuns.find)
    watch = iterated(VLLMRuns.watch)
    follow = iterated(VLLMRuns.follow)
    attend = iterated(VLLMRuns.attend)
    wait_ready = awaited(VLLMRuns.wait_ready)
    wait_gone = awaited(VLLMRuns.wait_gone)
    logs = iterated(VLLMRuns.logs)
    events = awaited(VLLMRuns.events)
    delete = awaited(VLLMRuns.delete)

    def __init__(self, sync: VLLMRuns) -> None:
        """Wrap a client's runs."""
        super().__init__(sync)
        self.capsules = AsyncCapsules(sync.capsules)


class AsyncCache(AsyncPart):
    """The CachePlan, and the caches of nodes; see Cache."""

    plan = awaited(Cache.plan)
    items = awaited(Cache.items)
    nodes = awaited(Cache.nodes)
    add = awaited(Cache.add)
    update = awaited(Cache.update)
    remove = awaited(Cache.remove)


class AsyncClient(AsyncPart, AbstractAsyncContextManager["AsyncClient"]):
    """`Client` for asyncio: what returns a value is awaited, iterators are asynchronous.

    ::

        async with AsyncClient(namespace="dev-alice") as client:
            create = client.servers.create
            await asyncio.gather(*(create(name, flavor="cpu-small") for name in ("a", "b")))
            async for server in client.servers.list():
                print(server.name, server.phase)

    Callbacks such as `progress` are called in other threads. A cancelled call is no longer
    awaited, but its request may still be carried out.
    """

    whoami = awaited(Client.whoami)
    doctor = iterated(Client.doctor)
    apply = awaited(Client.apply)

    def __init__(
        self,
        *,
        kubeconfig: str | None = None,
        context: str | None = None,
        namespace: str | None = None,
        request_timeout: float | None = None,
    ) -> None:
        """Read the kubeconfig; ask nothing yet. Arguments and errors are those of `Client`."""
        sync = Client(
            kubeconfig=kubeconfig,
            context=context,
            namespace=namespace,
            request_timeout=request_timeout,
        )
        super().__init__(sync)
        self.servers = AsyncServers(sync.servers)
        self.homes = AsyncHomes(sync.homes)
        self.flavors = AsyncFlavors(sync.flavors)
        self.users = AsyncUsers(sync.users)
        self.teams = AsyncTeams(sync.teams)
        self.usage = AsyncUsage(sync.usage)
        self.events = AsyncEvents(sync.events)
        self.runs = AsyncRuns(sync.runs)
        self.files = AsyncFiles(sync.files)
        self.monitor = AsyncMonitor(sync.monitor)
        self.top = AsyncTop(sync.top)
        self.ssh = AsyncSsh(sync.ssh)
        self.jobs = AsyncJobs(sync.jobs)
        self.workloads = AsyncWorkloads(sync.workloads)
        self.vllm_runs = AsyncVLLMRuns(sync.vllm_runs)
        self.cache = AsyncCache(sync.cache)
        self.workers = AsyncWorkers(sync.workers)
        self.gpus = awaited(GpuStatus.__call__).__get__(AsyncPart(sync.gpus))
        self.execute = awaited(Execute.__call__).__get__(AsyncPart(sync.execute))
        self.forward = entered(Forward.__call__).__get__(AsyncPart(sync.forward))
        self.jupyter = entered(StartJupyter.__call__).__get__(AsyncPart(sync.jupyter))

    @property
    def namespace(self) -> str:
        """The namespace of everything that is named without one."""
        return str(self.sync.namespace)

    async def __aexit__(self, *_error: object) -> None:
        """Close the connections."""
        self.sync.close()
