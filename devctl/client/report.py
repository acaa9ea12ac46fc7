"""Who uses what: servers, jobs, storage, and the resources that pods hold, by user.

Pure: `Users.report` asks the API server.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from devctl.api import ephemeral_acceleration_job, labels
from devctl.api.devserver import Phase
from devctl.api.quantities import GPU, gpus_in, parse_quantity, written
from devctl.client.queues.team_quota import requests_of
from devctl.client.users import document

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from devctl.client.flavors import Flavor
    from devctl.client.homes import Volume
    from devctl.client.jobs.job import Job
    from devctl.client.servers import Server
    from devctl.client.users import Use, User

_NONE = Decimal(0)
_OWNER_NOTES = (labels.OWNER_NAME, ephemeral_acceleration_job.OWNER_NAME)


@dataclass(frozen=True)
class Usage:
    """What is used; adding two of them adds each amount."""

    running: int = 0
    """Servers that run, start or stop."""
    stopped: int = 0
    waiting: int = 0
    """Servers that wait for quota, a node or a volume."""
    failed: int = 0
    """Servers that do not run until something is changed."""
    jobs: int = 0
    """Jobs that run."""
    gpus: Decimal = _NONE
    """Requested by pods of servers that are on a node, and by running jobs."""
    cpu: Decimal = _NONE
    """The same, in cores."""
    memory: Decimal = _NONE
    """The same, in bytes."""
    storage: Decimal = _NONE
    """Requested by claims of volumes, in bytes."""

    def __add__(self, other: Usage) -> Usage:
        """Both together."""
        mine, theirs = vars(self), vars(other)
        return Usage(**{name: amount + theirs[name] for name, amount in mine.items()})

    @property
    def raw(self) -> dict[str, Any]:
        """The amounts for a document, with resources as quantities."""
        return {
            "servers": {
                "running": self.running,
                "stopped": self.stopped,
                "waiting": self.waiting,
                "failed": self.failed,
            },
            "jobs": {"running": self.jobs},
            "gpus": written(self.gpus),
            "cpu": written(self.cpu),
            "memory": written(self.memory, binary=True),
            "storage": written(self.storage, binary=True),
        }


_RUNNING = Usage(running=1)
_COUNTED: dict[str, Usage] = {
    Phase.STOPPED: Usage(stopped=1),
    Phase.PENDING: Usage(waiting=1),
    Phase.FAILED: Usage(failed=1),
}
"""One server by its phase; in all other phases it has pods, or is about to."""


@dataclass(frozen=True)
class Row:
    """What one user uses, or one owner of what is in no user's namespace."""

    user: str
    """The name of the DevServerUser; empty if there is none."""
    owner: str
    """The user's name as the API server knows it."""
    team: str = ""
    used: Usage = field(default_factory=Usage)
    quota: Sequence[Use] = ()
    """What the user's quota bounds."""

    @property
    def raw(self) -> dict[str, Any]:
        """The row for a document."""
        who = {"user": self.user or None, "owner": self.owner or None, "team": self.team or None}
        return {**who, **self.used.raw, "quota": document(self.quota)}


@dataclass(frozen=True)
class Report:
    """Who uses what at one moment."""

    rows: Sequence[Row]
    """Users by name, then owners without one."""
    unknown: Sequence[str] = ()
    """Servers (`namespace/name`) with pods whose requests are not known, and not included."""

    @property
    def total(self) -> Usage:
        """What all rows use together."""
        return sum((row.used for row in self.rows), Usage())

    @property
    def raw(self) -> dict[str, Any]:
        """The report as a document."""
        return {"users": [row.raw for row in self.rows], "total": self.total.raw}


def report(  # noqa: PLR0913 - one for each kind
    users: Iterable[User],
    servers: Iterable[Server],
    jobs: Iterable[Job],
    claims: Iterable[Volume],
    *,
    flavors: Iterable[Flavor] = (),
    quotas: Mapping[str, Sequence[Use]] | None = None,
    team: str | None = None,
) -> Report:
    """Who uses what.

    What is in a user's namespace counts as the user's, anything else as its owner's. Volumes
    without an owner there, such as those of other software, do not count.

    Args:
        users: Every user.
        servers: Every server.
        jobs: Every job.
        claims: Every claim of a volume.
        flavors: Every flavor: for servers whose status does not say what their pods request.
        quotas: What is used of users' quotas, by the user's name.
        team: The team whose members are wanted; None for everyone.
    """
    everyone = sorted(users, key=lambda user: (not user.ready, user.name))
    homes: dict[str, str] = {}
    for user in everyone:
        # Of several users with one namespace, only one is ready.
        homes.setdefault(user.space, user.name)
    sizes = _sizes(flavors)
    used: defaultdict[tuple[str, str], Usage] = defaultdict(Usage)
    unknown = []
    for server in servers:
        name = homes.get(server.namespace, "")
        held = _held(server, sizes)
        if held is None:
            unknown.append((name, f"{server.namespace}/{server.name}"))
        one = _COUNTED.get(server.phase, _RUNNING)
        used[name, "" if name else server.owner] += one + (held or Usage())
    for job in jobs:
        if job.phase == ephemeral_acceleration_job.Phase.RUNNING:
            name = homes.get(job.namespace, "")
            used[name, "" if name else job.owner] += _of_job(job)
    for claim in claims:
        name = homes.get(claim.namespace, "")
        owner = "" if name else _owner(claim)
        if name or owner:
            used[name, owner] += Usage(storage=_storage(claim))
    members = {user.name: user for user in everyone if team in {None, user.team}}
    rows = [
        Row(name, user.username, user.team, used[name, ""], (quotas or {}).get(name, ()))
        for name, user in sorted(members.items())
    ]
    if team is None:
        others = sorted(owner for name, owner in used if not name)
        rows += [Row("", owner, used=used["", owner]) for owner in others]
    wanted = {*members, *([""] if team is None else [])}
    return Report(rows, [where for name, where in unknown if name in wanted])


def _sizes(flavors: Iterable[Flavor]) -> dict[str, Mapping[str, Decimal]]:
    """What a pod of each flavor requests; that of the default one is also under an empty name."""
    found: dict[str, Mapping[str, Decimal]] = {}
    for flavor in flavors:
        found[flavor.name] = requests_of(flavor)
        if flavor.default:
            found[""] = found[flavor.name]
    return found


def _held(server: Server, sizes: Mapping[str, Mapping[str, Decimal]]) -> Usage | None:
    """What a server's pods hold on nodes; None if unknown."""
    pods = sum(1 for replica in server.replicas if replica.node)
    if not pods:
        return Usage()
    said = server.status.get("requests")
    requests = _parsed(said) if said else sizes.get(server.flavor)
    return None if requests is None else _requested(requests, pods)


def _of_job(job: Job) -> Usage:
    wanted = job.spec.get("resources") or {}
    requests = _parsed({name: wanted[name] for name in ("cpu", "memory") if name in wanted})
    return Usage(jobs=1) + _requested({**requests, GPU: Decimal(job.gpus)}, 1)


def _requested(requests: Mapping[str, Decimal], pods: int) -> Usage:
    cpu, memory = (pods * requests.get(name, _NONE) for name in ("cpu", "memory"))
    return Usage(gpus=Decimal(pods * gpus_in(requests)), cpu=cpu, memory=memory)


def _parsed(requests: Mapping[str, Any]) -> dict[str, Decimal]:
    return {name: parse_quantity(amount) for name, amount in requests.items()}


def _storage(claim: Volume) -> Decimal:
    requests = (claim.spec.get("resources") or {}).get("requests") or {}
    return parse_quantity(requests.get("storage", 0))


def _owner(claim: Volume) -> str:
    """Whose a volume is that devctl has created; empty for others."""
    notes = claim.raw["metadata"].get("annotations") or {}
    return next((str(notes[note]) for note in _OWNER_NOTES if note in notes), "")
