"""Random histories for the ledger, whose books are real objects.

Time is simulated, and the ledger is told of pods as a watch would tell. The API server's answers
are real: some requests never arrive, some are overtaken, and some answers are lost.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

import httpx2
import msgspec
from devctl_observer.control.cluster_api import ClusterApi
from devctl_observer.control.process import Clock, Process
from devctl_observer.judging.clocks import to_text
from devctl_observer.kinds.flavors.model import FLAVOR, Flavor
from devctl_observer.kinds.jobs.model import JOB, Job
from devctl_observer.kinds.servers.model import SERVER, Server
from devctl_observer.kinds.servers.observed import Caches
from devctl_observer.kinds.usage.book import USAGE
from devctl_observer.kinds.usage.controller import UsageController
from devctl_observer.kinds.usage.observed import Sources
from devctl_observer.kinds.usage.running import Running
from devctl_observer.watching.children import Children
from devctl_observer.watching.store import Key, Store
from lightkube import ApiError
from lightkube.resources.core_v1 import Pod
from support.usage_oracle import Item, Knowledge, Oracle, Sums

from devctl.api.ephemeral_acceleration_job import JOB as JOB_LABEL
from devctl.api.ephemeral_acceleration_job import pod_name
from devctl.api.labels import DEVSERVER, OWNER_UID, STOPPED_BY
from devctl.api.labels import FLAVOR as FLAVOR_NOTE
from devctl.api.prices import Price, read_price
from devctl.api.usage import read_line, start_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from devctl_observer.judging.model import Meta
    from lightkube import AsyncClient
    from support.usage_oracle import Line

BEGIN = start_of("2020-12") - 86400 // 4
"""So that months end; long ago, so that an observer that runs beside it leaves the books alone."""
GPUS = {"cpu": 0, "gpu": 4}
SERVERS = {f"lab{n}": ("alice", "bob")[n % 2] for n in range(4)}
_NEVER, _LOST, _OVERTAKEN = "never arrives", "answer lost", "overtaken"


class Books(Protocol):
    """Where the objects are."""

    async def create(self, kind: Any, obj: Mapping[str, Any]) -> Mapping[str, Any]:
        """As ClusterApi has it."""

    async def record(
        self, kind: Any, meta: Meta, spec: Mapping[str, Any]
    ) -> Mapping[str, Any] | None:
        """As ClusterApi has it."""

    async def list_now(self, resource: Any, namespace: str) -> list[Any]:
        """As ClusterApi has it."""

    async def touch(self, namespace: str, name: str) -> None:
        """Somebody else changes an object, which has a new version then."""


class RealBooks(ClusterApi):
    """The API server's."""

    def __init__(self, client: AsyncClient) -> None:
        """Write as the leader."""
        super().__init__(client, lambda: True)

    async def touch(self, namespace: str, name: str) -> None:
        """Annotate an object."""
        note = {"metadata": {"annotations": {"touched": uuid4().hex}}}
        await self._client.patch(
            USAGE.resource, name, note, namespace=namespace, field_manager="somebody"
        )


class LossyApi:
    """Writes, which do not always work, and a clock that is set."""

    def __init__(self, books: Books, world: World, known: Knowledge) -> None:
        """Write for a process that knows something."""
        self._books, self._world, self._known = books, world, known

    async def time(self) -> datetime:
        """The API server's time, with its steps."""
        self._known.ahead = self._world.server_time - self._world.steady
        return datetime.fromtimestamp(self._world.server_time, UTC)

    async def list_now(self, resource: Any, namespace: str) -> list[Any]:
        """What is there."""
        return await self._books.list_now(resource, namespace)

    async def create(self, kind: Any, obj: Mapping[str, Any]) -> Mapping[str, Any]:
        """Create a book."""
        fault = self._strike()
        async with self._world.turn:
            made = await self._books.create(kind, obj)
            self._arrived(obj["metadata"]["name"], fault)
        return made

    async def record(
        self, kind: Any, meta: Meta, spec: Mapping[str, Any]
    ) -> Mapping[str, Any] | None:
        """Write a book."""
        fault = self._strike()
        async with self._world.turn:
            if fault == _OVERTAKEN:
                await self._books.touch(meta.namespace, meta.name)
            found = await self._books.record(kind, meta, spec)
            if found is not None:
                self._arrived(meta.name, fault)
        return found

    def _strike(self) -> str:
        fault = self._world.fault()
        if fault == _NEVER:
            raise httpx2.ConnectError("it never arrived")
        return fault

    def _arrived(self, month: str, fault: str) -> None:
        self._world.oracle.written(self._known, month, self._world.steady)
        self._world.writes += 1
        if fault == _LOST:
            raise httpx2.ReadTimeout("its answer is lost")


class Ledger:
    """The ledger of one process."""

    def __init__(self, books: Books, world: World) -> None:
        """Start without having seen anything."""
        clock = Clock(lambda: datetime.fromtimestamp(world.wall, UTC), lambda: float(world.steady))
        children = Children()
        self.known = Knowledge(world.steady)
        self.flavors: Store[Flavor] = Store()
        self.caches, self.jobs = Caches(children, self.flavors), Store[Job]()
        self.running = Running(Sources(self.caches, self.jobs, self.flavors), clock)
        api: Any = LossyApi(books, world, self.known)
        process = Process(children, api, clock)
        self.controller = UsageController(self.running, process, pause=0)

    async def look(self, namespace: str) -> None:
        """Settle, as the work queue would have it."""
        for _ in range(4):
            with suppress(httpx2.TransportError, ApiError):
                again = await self.controller.look(Key(namespace, ""))
                if again is None or again > 1:
                    return


@dataclass
class World:
    """A namespace and its history."""

    books: Books
    namespace: str
    seed: int
    steady: int = 1000
    step: int = 0
    """By how much the API server's clock is ahead."""
    writes: int = 0
    calm: bool = False
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Answers of two ledgers may come in another order than that of their writes."""
    oracle: Oracle = field(default_factory=Oracle)
    faults: Counter[str] = field(default_factory=Counter)
    did: Counter[str] = field(default_factory=Counter)
    ledgers: list[Ledger] = field(default_factory=list)
    _items: dict[str, Item] = field(default_factory=dict)
    _pods: dict[str, Pod] = field(default_factory=dict)
    _servers: dict[str, Server] = field(default_factory=dict)
    _since: dict[str, int] = field(default_factory=dict)
    _stops: dict[str, int] = field(default_factory=dict)
    _prices: dict[str, dict[str, Any]] = field(default_factory=dict)
    _number: int = 0

    def __post_init__(self) -> None:
        """Begin with servers, flavors and one ledger."""
        self._random = random.Random(self.seed)  # noqa: S311 - a test
        for flavor in GPUS:
            self._prices[flavor] = self._some_price()
        for name in SERVERS:
            self._servers[name] = self._server(name)

    @property
    def wall(self) -> int:
        """The time."""
        return BEGIN + self.steady

    @property
    def server_time(self) -> int:
        """The time as the API server has it."""
        return self.wall + self.step

    def fault(self) -> str:
        """What happens to a write."""
        kinds = ["", _LOST, _OVERTAKEN, _NEVER]
        found = "" if self.calm else self._random.choices(kinds, [0.8, 0.08, 0.06, 0.06])[0]
        self.faults[found] += 1
        return found

    async def live(self, events: int) -> None:
        """Go on until so much has happened."""
        await self._started()
        chances = {
            self._start: 38,
            self._end: 34,
            self._delete_ended: 8,
            self._new_price: 4,
            self._turn: 6,
            self._stop_or_start: 5,
            self._clock: 2,
            self._kill: 3,
        }
        acts, weights = list(chances), list(chances.values())
        while self.did.total() < events:
            self._pass()
            act = self._random.choices(acts, weights)[0]
            if act():
                self.did[act.__name__] += 1
            if not self.ledgers and self._random.random() < 0.4:
                await self._started()
            if len(self.ledgers) == 1 and self._random.random() < 0.01:
                await self._started()
            if self._random.random() < 0.15:
                await self._settle()
        self.calm = True
        if not self.ledgers:
            await self._started()
        for _ in range(4):
            # By then, a clock that was set back has caught up.
            self.steady += 86400
            await self._settle()

    def uncounted(self) -> list[Item]:
        """What a ledger knows and has not counted up to now, or to its end."""
        (last, *_) = (ledger.known for ledger in self.ledgers)
        now = self.steady + last.ahead
        return [
            item
            for uid, item in self.oracle.items.items()
            if uid in last.saw and not item.closed and not item.stop
            if item.steady_end is not None or item.counted is None or item.counted < now
        ]

    async def sums(self) -> dict[Line, Sums]:
        """What the books add up to."""
        found: dict[Line, Sums] = {}
        for book in await self.books.list_now(USAGE.resource, self.namespace):
            for raw in book["spec"].get("lines", []):
                key, amounts = read_line(raw)
                line = (book["metadata"]["name"], key.owner, key.name, key.flavor, key.price)
                assert line not in found
                found[line] = Sums(*vars(amounts).values())
        return {line: sums for line, sums in found.items() if any(sums)}

    def _pass(self) -> None:
        chance = self._random.random()
        # Two lead at once only for a moment: the old one notices that its lease is over.
        chance += 0.01 * (len(self.ledgers) > 1)
        longest = 3 * 86400 if chance < 0.003 else 20 * 3600 if chance < 0.01 else 90
        # Within a second, the calculation does not know what came first.
        self.steady += self._random.randint(1, longest)

    async def _settle(self) -> None:
        await asyncio.gather(*(ledger.look(self.namespace) for ledger in self.ledgers))

    async def _started(self) -> None:
        """Start a ledger, which lists everything as an observer does."""
        one = Ledger(self.books, self)
        for flavor in GPUS:
            self._tell_price(one, flavor)
        for name, server in self._servers.items():
            self._tell_server(one, name, None, server)
        one.jobs.put(Key(self.namespace, "job"), 1, self._job())
        # A watch may leave them out.
        is_watched = self._random.random() < 0.8
        for book in await self.books.list_now(USAGE.resource, self.namespace):
            item = USAGE.parse(book)
            if is_watched:
                version = int(item.metadata.resource_version)
                one.controller.store.put(Key(self.namespace, item.metadata.name), version, item)
        for uid, pod in self._pods.items():
            one.known.saw[uid] = self.steady
            one.running.pod(None, pod)
        self.ledgers.append(one)

    def _start(self) -> bool:
        self._number += 1
        uid = f"pod-{self._number}"
        is_job = self._random.random() < 0.4
        server = "" if is_job else self._random.choice([*SERVERS])
        flavor = "cpu" if is_job else self._random.choice([*GPUS])
        owner = SERVERS.get(server, "carol")
        item = Item(
            uid, owner, server, flavor, 0 if is_job else GPUS[flavor], self.wall, self.steady
        )
        item.created = self.server_time
        self.oracle.items[uid] = self._items[uid] = item
        self._put(uid, self._pod(item, starting=True))
        self._put(uid, self._pod(item))
        return True

    def _end(self) -> bool:
        runs = [uid for uid in self._pods if self._items[uid].steady_end is None]
        # A few at a time: else, thousands would run at the end.
        if len(runs) <= self._random.randint(0, 12):
            return False
        item = self._items[self._random.choice(runs)]
        item.steady_end = self.steady
        for ledger in self.ledgers:
            ledger.known.ended.add(item.uid)
        if item.server:
            self._put(item.uid, None)
        else:
            item.wall_end = self.wall
            self._put(item.uid, self._pod(item))
        return True

    def _delete_ended(self) -> bool:
        ended = [uid for uid in self._pods if self._items[uid].steady_end is not None]
        if not ended:
            return False
        self._put(self._random.choice(ended), None)
        return True

    def _put(self, uid: str, pod: Pod | None) -> None:
        old = self._pods.pop(uid, None)
        ended = self._items[uid].steady_end is not None
        if pod:
            self._pods[uid] = pod
        for ledger in self.ledgers:
            ledger.known.saw.setdefault(uid, self.steady)
            if old and not ended:
                ledger.known.started.add(uid)
            ledger.running.pod(old, pod)

    def _new_price(self) -> bool:
        flavor = self._random.choice([*GPUS])
        self._prices[flavor] = self._some_price()
        for ledger in self.ledgers:
            self._tell_price(ledger, flavor)
            ledger.running.flavor(flavor)
        return True

    def _some_price(self) -> dict[str, Any]:
        amounts = {name: self._random.randint(0, 3) for name in ("perHour", "perGPUHour")}
        return {**amounts, "perHour": f"{amounts['perHour']}.{self._random.randint(0, 4):06}"}

    def _tell_price(self, ledger: Ledger, flavor: str) -> None:
        spec = {"resources": {"requests": {"nvidia.com/gpu": GPUS[flavor]}}}
        spec["price"] = self._prices[flavor]
        made = FLAVOR.parse({"metadata": {"name": flavor}, "spec": spec})
        ledger.flavors.put(Key("", flavor), self.steady, made)
        price: Price = read_price(self._prices[flavor])
        ledger.known.prices[flavor].append((self.steady, price))

    def _turn(self) -> bool:
        """A server becomes idle or active."""
        name = self._random.choice([*SERVERS])
        if self._since.pop(name, None) is None:
            self._since[name] = self.steady - self._random.randint(0, 300)
        self._change(name)
        return True

    def _stop_or_start(self) -> bool:
        """A server is stopped for idleness, or started again."""
        name = self._random.choice([*SERVERS])
        if (at := self._stops.pop(name, None)) is not None:
            self._items[f"{name}@{at}"].steady_end = self.steady
            for ledger in self.ledgers:
                ledger.known.ended.add(f"{name}@{at}")
        else:
            self._stops[name] = self.steady
            item = Item(
                f"{name}@{self.steady}", SERVERS[name], name, "gpu", 4, self.wall, self.steady
            )
            item.stop = True
            self.oracle.items[item.uid] = self._items[item.uid] = item
        self._change(name)
        return True

    def _change(self, name: str) -> None:
        old, new = self._servers[name], self._server(name)
        self._servers[name] = new
        for ledger in self.ledgers:
            self._tell_server(ledger, name, old, new)

    def _tell_server(self, ledger: Ledger, name: str, old: Server | None, new: Server) -> None:
        spans = ledger.known.idle[name]
        is_idle, since = bool(spans) and spans[-1][1] is None, self._since.get(name)
        if since is not None and not is_idle:
            spans.append((since, None))
        elif since is None and is_idle:
            spans[-1] = (spans[-1][0], self.steady)
        if name in self._stops:
            ledger.known.saw.setdefault(f"{name}@{self._stops[name]}", self.steady)
        ledger.caches.servers.put(Key(self.namespace, name), self.steady, new)
        ledger.running.server(old, new)

    def _clock(self) -> bool:
        """The API server's clock is set; not around a month's end, which would move pods to it."""
        self.step += self._random.choice([-600, -60, -1, 1, 60, 600])
        return True

    def _kill(self) -> bool:
        if not self.ledgers:
            return False
        self.ledgers.clear()
        return True

    def _server(self, name: str) -> Server:
        status: dict[str, Any] = {"idle": {"verdicts": []}}
        if name in self._since:
            status["idle"]["since"] = _text(BEGIN + self._since[name])
        notes, stop = {}, self._stops.get(name)
        if stop is not None:
            notes[STOPPED_BY] = "IdleStopped"
            said = {"verdict": "IdleStopped", "at": _text(BEGIN + stop)}
            status["idle"]["verdicts"].append(said)
        metadata = {"name": name, "namespace": self.namespace, "uid": name, "annotations": notes}
        spec = {"owner": SERVERS[name], "flavor": "gpu", "image": "i", "stopped": stop is not None}
        return SERVER.parse({"metadata": metadata, "spec": spec, "status": status})

    def _job(self) -> Job:
        metadata = {"name": "job", "namespace": self.namespace}
        return JOB.parse({"metadata": metadata, "spec": {"owner": "carol", "flavor": "cpu"}})

    def _pod(self, item: Item, *, starting: bool = False) -> Pod:
        job = {JOB_LABEL: "job"}
        labels = {DEVSERVER: item.server, OWNER_UID: item.server} if item.server else job
        status: dict[str, Any] = {"phase": "Pending" if starting else "Running"}
        if not starting:
            status["startTime"] = _text(item.wall_start)
        if item.wall_end is not None:
            status["phase"] = "Succeeded"
            state = {"terminated": {"exitCode": 0, "finishedAt": _text(item.wall_end)}}
            own = {"name": "job", "image": "i", "imageID": "", "ready": False, "restartCount": 0}
            status["containerStatuses"] = [own | {"state": state}]
        limits = {"nvidia.com/gpu": str(item.gpus)}
        metadata = {
            "name": item.uid if item.server else pod_name("job"),
            "namespace": self.namespace,
            "uid": item.uid,
            "labels": labels,
            "annotations": {FLAVOR_NOTE: item.flavor},
            "creationTimestamp": _text(item.created),
        }
        spec = {"containers": [{"name": "c", "resources": {"limits": limits}}]}
        return msgspec.convert({"metadata": metadata, "spec": spec, "status": status}, Pod)


def _text(seconds: int) -> str:
    return to_text(datetime.fromtimestamp(seconds, UTC))
