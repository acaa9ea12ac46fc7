"""The SDK for asyncio: the parts and methods of `Client`, with each call in a thread.

docs/decisions/0023 gives the reasons for threads.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar

from devctl.client.client import Client
from devctl.client.events import Events
from devctl.client.files.files import Files
from devctl.client.flavors import Flavors
from devctl.client.homes import Homes
from devctl.client.jobs.claim import Cleanup
from devctl.client.jobs.files import JobFiles
from devctl.client.jobs.jobs import Jobs
from devctl.client.monitor import Monitor
from devctl.client.runs.runs import Runs
from devctl.client.servers import Servers
from devctl.client.ssh.ssh import Ssh
from devctl.client.streams.execute import Execute
from devctl.client.streams.port_forwards import Forward
from devctl.client.teams import Teams
from devctl.client.users import Users

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
    from contextlib import AbstractAsyncContextManager, AbstractContextManager
    from types import TracebackType
    from typing import Self

P = ParamSpec("P")
T = TypeVar("T")
_END: Any = object()


class _Part:
    """A part of a client.

    Args:
        sync: The part that does the work.
    """

    def __init__(self, sync: Any) -> None:
        """Ask nothing yet."""
        self.sync = sync


class _Method(Generic[P, T]):
    """A method of a part; its subclasses say how asyncio calls it."""

    def __init__(self, method: Callable[Concatenate[Any, P], Any]) -> None:
        self.method, self.__doc__ = method, method.__doc__

    def begin(self, part: _Part, *args: P.args, **kwargs: P.kwargs) -> Future[Any]:
        return _begin(lambda: self.method(part.sync, *args, **kwargs))


class _Awaited(_Method[P, T]):
    """Returns a value."""

    def __init__(self, method: Callable[Concatenate[Any, P], T]) -> None:
        super().__init__(method)

    def __get__(self, part: _Part, _owner: type | None = None) -> Callable[P, Awaitable[T]]:
        return lambda *args, **kwargs: asyncio.wrap_future(self.begin(part, *args, **kwargs))


class _Iterated(_Method[P, T]):
    """Returns an iterator."""

    def __init__(self, method: Callable[Concatenate[Any, P], Iterable[T]]) -> None:
        super().__init__(method)

    def __get__(self, part: _Part, _owner: type | None = None) -> Callable[P, AsyncIterator[T]]:
        return lambda *args, **kwargs: _items(lambda: self.begin(part, *args, **kwargs))


class _Entered(_Method[P, T]):
    """Returns a context manager."""

    def __init__(self, method: Callable[Concatenate[Any, P], AbstractContextManager[T]]) -> None:
        super().__init__(method)

    def __get__(
        self, part: _Part, _owner: type | None = None
    ) -> Callable[P, AbstractAsyncContextManager[T]]:
        return lambda *args, **kwargs: _entered(lambda: self.begin(part, *args, **kwargs))


class AsyncServers(_Part):
    """The servers that a user may see; see Servers."""

    list = _Iterated(Servers.list)
    get = _Awaited(Servers.get)
    find = _Awaited(Servers.find)
    watch = _Iterated(Servers.watch)
    snapshots = _Iterated(Servers.snapshots)
    manifest = _Awaited(Servers.manifest)
    create = _Awaited(Servers.create)
    update = _Awaited(Servers.update)
    edit = _Awaited(Servers.edit)
    stop = _Awaited(Servers.stop)
    start = _Awaited(Servers.start)
    restart = _Awaited(Servers.restart)
    extend = _Awaited(Servers.extend)
    waiting_for = _Awaited(Servers.waiting_for)
    limits = _Awaited(Servers.limits)
    delete = _Awaited(Servers.delete)
    wait_seen = _Awaited(Servers.wait_seen)
    wait_ready = _Awaited(Servers.wait_ready)
    wait_stopped = _Awaited(Servers.wait_stopped)
    wait_gone = _Awaited(Servers.wait_gone)


class AsyncHomes(_Part):
    """Home volumes; see Homes."""

    list = _Iterated(Homes.list)
    get = _Awaited(Homes.get)
    delete = _Awaited(Homes.delete)


class AsyncFlavors(_Part):
    """Flavors; see Flavors."""

    list = _Awaited(Flavors.list)
    get = _Awaited(Flavors.get)
    create = _Awaited(Flavors.create)


class AsyncUsers(_Part):
    """Users; see `Users`."""

    list = _Iterated(Users.list)
    watch = _Iterated(Users.watch)
    get = _Awaited(Users.get)
    find = _Awaited(Users.find)
    create = _Awaited(Users.create)
    change = _Awaited(Users.change)
    suspend = _Awaited(Users.suspend)
    resume = _Awaited(Users.resume)
    delete = _Awaited(Users.delete)
    wait_ready = _Awaited(Users.wait_ready)
    quotas = _Awaited(Users.quotas)
    own_quota = _Awaited(Users.own_quota)
    team_quotas = _Awaited(Users.team_quotas)
    kubeconfig = _Awaited(Users.kubeconfig)


class AsyncTeams(_Part):
    """Teams; see Teams."""

    list = _Iterated(Teams.list)
    get = _Awaited(Teams.get)
    find = _Awaited(Teams.find)
    watch = _Iterated(Teams.watch)
    create = _Awaited(Teams.create)
    change = _Awaited(Teams.change)
    delete = _Awaited(Teams.delete)
    users = _Awaited(Teams.users)
    queues = _Awaited(Teams.queues)


class AsyncEvents(_Part):
    """Events; see Events."""

    list = _Awaited(Events.list)
    watch = _Iterated(Events.watch)


class AsyncRuns(_Part):
    """Runs on the ranks of a server; see Runs."""

    place = _Awaited(Runs.place)
    check_free = _Awaited(Runs.check_free)
    launch = _Awaited(Runs.launch)
    start = _Awaited(Runs.start)
    list = _Awaited(Runs.list)
    find = _Awaited(Runs.find)
    follow = _Iterated(Runs.follow)
    output = _Iterated(Runs.output)
    tail = _Awaited(Runs.tail)
    stop = _Awaited(Runs.stop)


class AsyncFiles(_Part):
    """Files to and from servers; see Files."""

    place = _Awaited(Files.place)
    push = _Awaited(Files.push)
    pull = _Awaited(Files.pull)
    copy = _Awaited(Files.copy)


class AsyncMonitor(_Part):
    """Resource usage of servers; see Monitor."""

    once = _Awaited(Monitor.once)
    watch = _Iterated(Monitor.watch)


class AsyncSsh(_Part):
    """SSH destinations; see Ssh."""

    kept = _Awaited(Ssh.kept)
    destination = _Awaited(Ssh.destination)
    check = _Awaited(Ssh.check)


class AsyncJobFiles(_Part):
    """Files on the volumes of jobs; see JobFiles."""

    upload = _Awaited(JobFiles.upload)
    list = _Awaited(JobFiles.list)
    download = _Awaited(JobFiles.download)
    copy_url = _Awaited(JobFiles.copy_url)
    debug = _Entered(JobFiles.debug)


class AsyncCleanup(_Part):
    """Volumes of jobs that have outlived their purpose; see Cleanup."""

    look = _Awaited(Cleanup.look)
    delete = _Awaited(Cleanup.delete)


class AsyncJobs(_Part):
    """Jobs; see Jobs."""

    list = _Iterated(Jobs.list)
    get = _Awaited(Jobs.get)
    find = _Awaited(Jobs.find)
    watch = _Iterated(Jobs.watch)
    manifest = _Awaited(Jobs.manifest)
    create = _Awaited(Jobs.create)
    resume = _Awaited(Jobs.resume)
    wait_claim = _Awaited(Jobs.wait_claim)
    follow = _Iterated(Jobs.follow)
    wait = _Awaited(Jobs.wait)
    events = _Awaited(Jobs.events)
    logs = _Iterated(Jobs.logs)
    delete = _Awaited(Jobs.delete)
    claim = _Awaited(Jobs.claim)
    users = _Awaited(Jobs.users)
    wait_gone = _Awaited(Jobs.wait_gone)
    delete_claim = _Awaited(Jobs.delete_claim)

    def __init__(self, sync: Jobs) -> None:
        """Ask nothing yet."""
        super().__init__(sync)
        self.files = AsyncJobFiles(sync.files)
        self.cleanup = AsyncCleanup(sync.cleanup)


class AsyncClient(_Part):
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

    whoami = _Awaited(Client.whoami)
    doctor = _Iterated(Client.doctor)
    apply = _Awaited(Client.apply)
    jupyter = _Entered(Client.jupyter)

    def __init__(
        self,
        *,
        kubeconfig: str | None = None,
        context: str | None = None,
        namespace: str | None = None,
        request_timeout: float | None = None,
    ) -> None:
        """Read the kubeconfig; ask nothing yet. The arguments are those of `Client`.

        Raises:
            DevctlError: No cluster can be found that way.
        """
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
        self.events = AsyncEvents(sync.events)
        self.runs = AsyncRuns(sync.runs)
        self.files = AsyncFiles(sync.files)
        self.monitor = AsyncMonitor(sync.monitor)
        self.ssh = AsyncSsh(sync.ssh)
        self.jobs = AsyncJobs(sync.jobs)
        self.execute = _Awaited(Execute.__call__).__get__(_Part(sync.execute))
        self.forward = _Entered(Forward.__call__).__get__(_Part(sync.forward))

    @property
    def namespace(self) -> str:
        """The namespace of everything that is named without one."""
        namespace: str = self.sync.namespace
        return namespace

    async def __aenter__(self) -> Self:
        """Nothing is asked yet."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connections."""
        self.sync.close()


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


async def _items(begin: Callable[[], Future[Iterable[T]]]) -> AsyncIterator[T]:
    """The items of an iterator, which is closed when its reader stops."""
    step: Future[Any] = begin()
    source = await asyncio.wrap_future(step)
    iterator: Iterator[T] = iter(source)
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
async def _entered(begin: Callable[[], Future[AbstractContextManager[T]]]) -> AsyncIterator[T]:
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
