"""The SDK for asyncio: the parts and methods of `Client`, with each call in a thread.

docs/decisions/0023 gives the reasons for threads.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, cast

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
from devctl.client.workloads.workloads import Workloads
from devctl.client.workloads.workspace import Workspaces

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
    from contextlib import AbstractContextManager

    Begin = Callable[[], Future[Any]]

P = ParamSpec("P")
T = TypeVar("T")
Call = TypeVar("Call")
_END: Any = object()


def _begin(work: Callable[[], T]) -> Future[T]:
    """Do something in a daemon thread: a watch must not keep a program from ending."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - who awaits it gets it
            future.set_exception(error)

    threading.Thread(target=run, name="devctl", daemon=True).start()
    return future


async def _items(begin: Begin) -> AsyncIterator[Any]:
    """The items of an iterator, which is closed when its reader stops."""
    step = begin()
    source = await asyncio.wrap_future(step)
    iterator = iter(source)
    try:
        while True:
            step = _begin(lambda: next(iterator, _END))
            item = await asyncio.wrap_future(step)
            if item is _END:
                return
            yield item
    finally:
        # A generator cannot be closed while it works on a step.
        step.add_done_callback(lambda _: _begin(lambda: _close(source, iterator)))


def _close(source: Any, iterator: Any) -> None:
    if close := getattr(iterator, "close", None):
        close()
    if leave := getattr(source, "__exit__", None):
        leave(None, None, None)


@asynccontextmanager
async def _context(begin: Begin) -> AsyncIterator[Any]:
    """A context manager, entered and left in threads."""
    manager = await asyncio.wrap_future(begin())
    value = await asyncio.wrap_future(_begin(manager.__enter__))
    try:
        yield value
    except BaseException as error:
        details = (type(error), error, error.__traceback__)
        if not await asyncio.wrap_future(_begin(lambda: manager.__exit__(*details))):
            raise
    else:
        await asyncio.wrap_future(_begin(lambda: manager.__exit__(None, None, None)))


class _Part:
    """A part of a client; `sync` is the part that does the work."""

    def __init__(self, sync: Any) -> None:
        """Ask nothing yet."""
        self.sync = sync


class _Method(Generic[Call]):
    """A method of a part, as asyncio calls it: `run` gets what begins the call in a thread."""

    def __init__(self, method: Callable[..., Any], run: Callable[[Begin], Any]) -> None:
        self._method, self._run, self.__doc__ = method, run, method.__doc__

    def __get__(self, part: _Part, _owner: type | None = None) -> Call:
        def call(*args: Any, **kwargs: Any) -> Any:
            return self._run(lambda: _begin(lambda: self._method(part.sync, *args, **kwargs)))

        return cast("Call", call)


def _awaited(method: Callable[Concatenate[Any, P], T]) -> _Method[Callable[P, Awaitable[T]]]:
    return _Method(method, lambda begin: asyncio.wrap_future(begin()))


def _iterated(
    method: Callable[Concatenate[Any, P], Iterable[T]],
) -> _Method[Callable[P, AsyncIterator[T]]]:
    return _Method(method, _items)


def _entered(
    method: Callable[Concatenate[Any, P], AbstractContextManager[T]],
) -> _Method[Callable[P, AbstractAsyncContextManager[T]]]:
    return _Method(method, _context)


class AsyncServers(_Part):
    """The servers that a user may see; see Servers."""

    list = _iterated(Servers.list)
    get = _awaited(Servers.get)
    find = _awaited(Servers.find)
    watch = _iterated(Servers.watch)
    snapshots = _iterated(Servers.snapshots)
    manifest = _awaited(Servers.manifest)
    create = _awaited(Servers.create)
    update = _awaited(Servers.update)
    edit = _awaited(Servers.edit)
    stop = _awaited(Servers.stop)
    start = _awaited(Servers.start)
    restart = _awaited(Servers.restart)
    extend = _awaited(Servers.extend)
    hold = _awaited(Servers.hold)
    delete = _awaited(Servers.delete)
    waiting_for = _awaited(Servers.waiting_for)
    limits = _awaited(Servers.limits)
    wait_seen = _awaited(Servers.wait_seen)
    wait_ready = _awaited(Servers.wait_ready)
    wait_stopped = _awaited(Servers.wait_stopped)
    wait_gone = _awaited(Servers.wait_gone)


class AsyncHomes(_Part):
    """Home volumes; see Homes."""

    list = _iterated(Homes.list)
    get = _awaited(Homes.get)
    delete = _awaited(Homes.delete)


class AsyncFlavors(_Part):
    """Flavors; see Flavors."""

    list = _awaited(Flavors.list)
    get = _awaited(Flavors.get)
    create = _awaited(Flavors.create)
    cordon = _awaited(Flavors.cordon)
    uncordon = _awaited(Flavors.uncordon)


class AsyncUsers(_Part):
    """Users, for administrators; see Users."""

    list = _iterated(Users.list)
    watch = _iterated(Users.watch)
    get = _awaited(Users.get)
    find = _awaited(Users.find)
    create = _awaited(Users.create)
    change = _awaited(Users.change)
    suspend = _awaited(Users.suspend)
    resume = _awaited(Users.resume)
    delete = _awaited(Users.delete)
    wait_ready = _awaited(Users.wait_ready)
    quotas = _awaited(Users.quotas)
    report = _awaited(Users.report)
    own_quota = _awaited(Users.own_quota)
    team_quotas = _awaited(Users.team_quotas)
    kubeconfig = _awaited(Users.kubeconfig)


class AsyncTeams(_Part):
    """Teams, for administrators; see Teams."""

    list = _iterated(Teams.list)
    get = _awaited(Teams.get)
    find = _awaited(Teams.find)
    watch = _iterated(Teams.watch)
    create = _awaited(Teams.create)
    change = _awaited(Teams.change)
    delete = _awaited(Teams.delete)
    users = _awaited(Teams.users)
    queues = _awaited(Teams.queues)


class AsyncUsage(_Part):
    """What ran, and what it cost; see Usage."""

    lines = _awaited(Usage.lines)
    spending = _awaited(Usage.spending)
    of_server = _awaited(Usage.of_server)
    notices = _awaited(Usage.notices)


class AsyncEvents(_Part):
    """Events; see Events."""

    list = _awaited(Events.list)
    watch = _iterated(Events.watch)


class AsyncRuns(_Part):
    """Runs on the ranks of a server; see Runs."""

    place = _awaited(Runs.place)
    check_free = _awaited(Runs.check_free)
    launch = _awaited(Runs.launch)
    start = _awaited(Runs.start)
    list = _awaited(Runs.list)
    find = _awaited(Runs.find)
    follow = _iterated(Runs.follow)
    output = _iterated(Runs.output)
    tail = _awaited(Runs.tail)
    stop = _awaited(Runs.stop)


class AsyncFiles(_Part):
    """Files to and from servers; see Files."""

    place = _awaited(Files.place)
    push = _awaited(Files.push)
    pull = _awaited(Files.pull)
    copy = _awaited(Files.copy)


class AsyncMonitor(_Part):
    """Resource usage of servers; see Monitor."""

    once = _awaited(Monitor.once)
    watch = _iterated(Monitor.watch)


class AsyncTop(_Part):
    """What servers and jobs use, at a glance; see Top."""

    once = _awaited(Top.once)
    watch = _iterated(Top.watch)


class AsyncSsh(_Part):
    """SSH destinations; see Ssh."""

    kept = _awaited(Ssh.kept)
    destination = _awaited(Ssh.destination)
    check = _awaited(Ssh.check)


class AsyncJobFiles(_Part):
    """Files on the volumes of jobs; see JobFiles."""

    upload = _awaited(JobFiles.upload)
    list = _awaited(JobFiles.list)
    download = _awaited(JobFiles.download)
    copy_url = _awaited(JobFiles.copy_url)
    debug = _entered(JobFiles.debug)


class AsyncCleanup(_Part):
    """Volumes of jobs that have outlived their purpose; see Cleanup."""

    look = _awaited(Cleanup.look)
    delete = _awaited(Cleanup.delete)


class AsyncJobs(_Part):
    """Jobs; see Jobs."""

    list = _iterated(Jobs.list)
    get = _awaited(Jobs.get)
    find = _awaited(Jobs.find)
    watch = _iterated(Jobs.watch)
    manifest = _awaited(Jobs.manifest)
    create = _awaited(Jobs.create)
    resume = _awaited(Jobs.resume)
    waiting_for = _awaited(Jobs.waiting_for)
    wait_claim = _awaited(Jobs.wait_claim)
    follow = _iterated(Jobs.follow)
    wait = _awaited(Jobs.wait)
    events = _awaited(Jobs.events)
    logs = _iterated(Jobs.logs)
    delete = _awaited(Jobs.delete)
    claim = _awaited(Jobs.claim)
    wait_gone = _awaited(Jobs.wait_gone)
    delete_claim = _awaited(Jobs.delete_claim)

    def __init__(self, sync: Jobs) -> None:
        """Ask nothing yet."""
        super().__init__(sync)
        self.files = AsyncJobFiles(sync.files)
        self.cleanup = AsyncCleanup(sync.cleanup)


class AsyncWorkspaces(_Part):
    """The volumes of GPU workloads; see Workspaces."""

    get = _awaited(Workspaces.get)
    download = _awaited(Workspaces.download)
    delete = _awaited(Workspaces.delete)


class AsyncWorkloads(_Part):
    """GPU workloads; see Workloads."""

    submit = _awaited(Workloads.submit)
    send = _awaited(Workloads.send)
    attend = _iterated(Workloads.attend)
    release = _awaited(Workloads.release)
    list = _iterated(Workloads.list)
    get = _awaited(Workloads.get)
    find = _awaited(Workloads.find)
    watch = _iterated(Workloads.watch)
    cancel = _awaited(Workloads.cancel)
    retry = _awaited(Workloads.retry)
    follow = _iterated(Workloads.follow)
    logs = _iterated(Workloads.logs)
    events = _awaited(Workloads.events)
    waiting_for = _awaited(Workloads.waiting_for)
    delete = _awaited(Workloads.delete)

    def __init__(self, sync: Workloads) -> None:
        """Wrap a client's workloads."""
        super().__init__(sync)
        self.workspaces = AsyncWorkspaces(sync.workspaces)


class AsyncClient(_Part, AbstractAsyncContextManager["AsyncClient"]):
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

    whoami = _awaited(Client.whoami)
    doctor = _iterated(Client.doctor)
    apply = _awaited(Client.apply)

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
        self.execute = _awaited(Execute.__call__).__get__(_Part(sync.execute))
        self.forward = _entered(Forward.__call__).__get__(_Part(sync.forward))
        self.jupyter = _entered(StartJupyter.__call__).__get__(_Part(sync.jupyter))

    @property
    def namespace(self) -> str:
        """The namespace of everything that is named without one."""
        return str(self.sync.namespace)

    async def __aexit__(self, *_error: object) -> None:
        """Close the connections."""
        self.sync.close()
