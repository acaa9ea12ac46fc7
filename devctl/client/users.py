"""Users of devctl, for administrators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypedDict

from devctl.api.devserver_user import (
    COUNTED,
    LABEL,
    NAME,
    NAME_RULE,
    QUOTA,
    namespace_of,
    object_name,
)
from devctl.api.quantities import parse_quantity
from devctl.client.objects import Field, NamedCollection, Provisioned, camel_case, mapping, text
from devctl.client.waiting import follow
from devctl.errors import DevctlError, UsageError, WaitTimeoutError
from devctl.kube import resources
from devctl.kube.cluster import EVERYWHERE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Unpack

    from devctl.api.kinds import Kind
    from devctl.client.queues.team_quota import TeamQuota
    from devctl.client.report import Report
    from devctl.kube.cluster import Cluster, Object

Method = Literal["certificate", "token", "oidc"]
TIMEOUT = 60.0
_KIND = resources.DevServerUser
_HARMLESS = {"Applying", "Creating", "Counting", "Terminating", "Unavailable"}
"""Reasons of a user who is not ready yet, and will be without anybody's help."""


class Spec(TypedDict, total=False):
    """What an administrator decides for a user; a None removes what was decided."""

    email: str | None
    groups: Sequence[str] | None
    namespace: str
    """Default: `dev-` and the user's name."""
    quota: Mapping[str, str | int | None]
    """By `gpus`, `cpu`, `memory`, `storage`, `servers`."""
    default_flavor: str | None
    team: str | None
    priority: Literal["low", "normal", "high"]
    """The highest priority of the user's servers in the team's queue, and their default."""
    shared_storage: Mapping[str, str] | None
    """`size` and `storageClassName`."""
    budget: Mapping[str, str | int | bool] | None
    """`perMonth`, `currency`, `warnAtPercent` and `refuse`."""


@dataclass(frozen=True)
class User(Provisioned):
    """A user at one moment."""

    username = Field(text, "spec", "username")
    """As the API server knows the user."""
    email = Field(text, "spec", "email")
    suspended = Field(bool, "spec", "suspended")
    default_flavor = Field(text, "spec", "defaultFlavor")
    team = Field(text, "spec", "team")
    priority = Field(text, "spec", "priority")
    quota = Field(mapping, "spec", "quota")

    @property
    def space(self) -> str:
        """The user's namespace."""
        return namespace_of(self.name, self.spec.get("namespace"))


@dataclass(frozen=True)
class Use:
    """How much of a bounded resource is used."""

    what: str
    used: str
    hard: str

    @property
    def free(self) -> str:
        """What is left, in the unit of the bound where that is a whole number of it."""
        left = parse_quantity(self.hard) - parse_quantity(self.used)
        unit = self.hard.lstrip("0123456789.")
        scaled = left / parse_quantity(f"1{unit}") if unit and left else left
        return f"{max(0, scaled):.3f}".rstrip("0").rstrip(".") + unit


def document(uses: Sequence[Use]) -> dict[str, dict[str, str]]:
    """What is used, free and bounded, by what it is."""
    return {use.what: {"used": use.used, "free": use.free, "quota": use.hard} for use in uses}


_NAMES = {counted: field for field, counted in COUNTED.items()}


def uses(quota: Object) -> Sequence[Use]:
    """What a ResourceQuota bounds, and how much of it is used.

    >>> uses({"status": {"hard": {"requests.cpu": "4"}, "used": {"requests.cpu": "1500m"}}})[0].free
    '2.5'
    """
    status = quota.get("status") or {}
    hard, used = status.get("hard") or {}, status.get("used") or {}
    order = [*_NAMES, *sorted(hard.keys() - _NAMES.keys())]
    return [
        Use(_NAMES.get(key, key), str(used.get(key, "0")), str(hard[key]))
        for key in order
        if key in hard
    ]


class Users(NamedCollection[User]):
    """The users of a cluster.

    ::

        alice = client.users.create("alice@company.com", name="alice", quota={"gpus": 2})
        client.users.wait_ready("alice")
        print(client.users.kubeconfig("alice", "certificate"))
    """

    _kind, _item = _KIND, User
    _noun, _see = "user", "see the users with `devctl admin user list`"

    def __init__(
        self, cluster: Cluster, kubeconfig: str | None = None, context: str | None = None
    ) -> None:
        """Ask nothing yet."""
        super().__init__(cluster)
        self._place = (kubeconfig, context)

    @staticmethod
    def _check_name(name: str) -> None:
        if not NAME.fullmatch(name):
            raise UsageError(f"`{name}` cannot be a user's name", f"names {NAME_RULE}")

    def create(
        self,
        username: str,
        *,
        name: str | None = None,
        dry_run: bool = False,
        **spec: Unpack[Spec],
    ) -> User:
        """Create a user; the namespace follows within seconds.

        Args:
            username: As the API server knows the user.
            name: Of the user's object and in the namespace's; default: made of the user name.
            dry_run: Only have the API server check it.
            spec: What else is decided.

        Raises:
            AlreadyExistsError: There is a user of that name.
        """
        name = object_name(username) if name is None else name
        self._check_name(name)
        made = {"metadata": {"name": name}, "spec": {"username": username, **camel_case(spec)}}
        return User(self._cluster.create(_KIND, made, dry_run=dry_run))

    def change(self, name: str, **spec: Unpack[Spec]) -> User:
        """Change what is decided for a user, and leave the rest."""
        return self._change(name, camel_case(spec))

    def suspend(self, name: str) -> User:
        """Stop the user's servers, and let none start."""
        return self._change(name, {"suspended": True})

    def resume(self, name: str) -> User:
        """Let a suspended user work again; the user starts the servers."""
        return self._change(name, {"suspended": False})

    def wait_ready(
        self,
        name: str,
        seconds: float | None = TIMEOUT,
        progress: Callable[[User], None] = lambda _user: None,
    ) -> User:
        """Wait until a user's namespace is set up.

        Raises:
            WaitTimeoutError: It takes longer.
            DevctlError: Somebody has to change something first.
        """
        last: User | None = None
        gone = "create it again"
        for last in map(User, follow(self._cluster, _KIND, name, seconds, gone)):
            progress(last)
            if last.ready:
                return last
            if last.reason and last.reason not in _HARMLESS:
                fix = f"look with `devctl admin user describe {name}`"
                raise DevctlError(f"`{name}` is not ready: {last.message}", fix)
        raise WaitTimeoutError(
            f"`{name}` is not ready after {seconds or 0:.0f} s"
            + (f": {last.message}" if last and last.message else ""),
            "check with `devctl doctor` whether the operator runs",
        )

    def quotas(self, name: str | None = None) -> Mapping[str, Sequence[Use]]:
        """What every user, or the one of a name, has used of their quota, by the user's name."""
        found = self._cluster.list(resources.ResourceQuota, EVERYWHERE, {LABEL: name})
        return {
            quota["metadata"]["labels"][LABEL]: uses(quota)
            for quota in found
            if quota["metadata"]["name"] == QUOTA
        }

    def report(self, team: str | None = None) -> Report:
        """Who uses what now, by user, as an administrator; `team` selects its members.

        This takes one list request per kind, however many users there are.
        """
        # Rarely used.
        from devctl.client.flavors import Flavors  # noqa: PLC0415
        from devctl.client.homes import Volume  # noqa: PLC0415
        from devctl.client.jobs.job import Job  # noqa: PLC0415
        from devctl.client.report import report  # noqa: PLC0415
        from devctl.client.servers import Server  # noqa: PLC0415

        def everywhere(kind: Kind) -> Iterator[Object]:
            return self._cluster.list(kind, EVERYWHERE)

        return report(
            self.list(),
            map(Server, everywhere(resources.DevServer)),
            map(Job, everywhere(resources.EphemeralAccelerationJob)),
            map(Volume, everywhere(resources.PersistentVolumeClaim)),
            flavors=Flavors(self._cluster).list(),
            quotas=self.quotas(),
            team=team,
        )

    def own_quota(self) -> Sequence[Use]:
        """What is used of the bounds of this namespace."""
        found = self._cluster.list(resources.ResourceQuota)
        # Those with scopes count only some pods, and are no user's bound.
        return [
            use for quota in found if not quota["spec"].get("scopeSelector") for use in uses(quota)
        ]

    def team_quotas(self) -> Sequence[TeamQuota] | None:
        """What this namespace's team has of each flavor; None if that may not be seen."""
        from devctl.client.flavors import Flavors  # noqa: PLC0415 - rarely used
        from devctl.client.queues.team_quota import team_quotas  # noqa: PLC0415

        return team_quotas(self._cluster, Flavors(self._cluster).list())

    def kubeconfig(self, name: str, method: Method = "certificate", seconds: int = 86400) -> str:
        """A kubeconfig with which a user works; see devctl.client.user_access."""
        from devctl.client.user_access import kubeconfig  # noqa: PLC0415 - rarely used

        return kubeconfig(self._cluster, self.get(name), method, seconds, *self._place)
