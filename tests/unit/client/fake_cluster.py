"""An API server in memory, and the cluster that commands and the SDK reach it through.

A test puts things in with `add`, reads them back from `things`, makes the server refuse with
`refusals`, and has things change while somebody watches with `then`.
"""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass, field
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any

import httpx2

from devctl.errors import DevctlError
from devctl.kube.cluster import EVERYWHERE, Change, Cluster
from devctl.kube.failures import explained, refusal
from unit.client.objects import NAMESPACE, NOW, Thing, ago, event
from unit.client.selectors import matches_fields, matches_labels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from devctl.kube.rights import Right

__all__ = [
    "NAMESPACE",
    "NOW",
    "SERVER",
    "USER",
    "FakeApi",
    "FakeCluster",
    "Thing",
    "ago",
    "event",
]

SERVER = "https://cluster.example:6443"
USER = "alice@company.com"
PAGE = 500
GLOBAL = {
    "cacheplans",
    "clusterqueues",
    "customresourcedefinitions",
    "deviceclasses",
    "devserverflavors",
    "devserverteams",
    "devserverusers",
    "lifecyclepolicies",
    "namespaces",
    "nodecachestatuses",
    "nodes",
    "resourceslices",
    "storageclasses",
}
"""Plurals of what has no namespace."""
_SILENCE = 0.005
"""Seconds for which a watch lasts in which nothing happens any more."""


@dataclass
class FakeApi:
    """What the API server holds, and what it was asked.

    Attributes:
        things: Objects by plural, namespace (empty where there is none) and name.
        requests: Such as `GET pods/lab-0`, `GET pods` for each page, `WATCH pods`.
        refusals: By verb and plural, the code and the words of the refusal.
        then: What happens one after another while somebody watches; a watch ends after the last.
        made: Told of what is created, by plural and object.
        denied: Verb and plural of what the user may not do, as `allowed` answers.
        answers: By path, what `read` gets.
        managers: By name of an object, who manages which of its fields: an apply is refused.
        namespace: The user's.
        user: Who they are.
    """

    things: dict[tuple[str, str, str], Thing] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    refusals: dict[tuple[str, str], tuple[int, str]] = field(default_factory=dict)
    then: list[Callable[[], object]] = field(default_factory=list)
    made: Callable[[str, Thing], object] = lambda _plural, _thing: None
    denied: set[tuple[str, str]] = field(default_factory=set)
    answers: dict[str, httpx2.Response] = field(default_factory=dict)
    managers: dict[str, dict[str, str]] = field(default_factory=dict)
    namespace: str = NAMESPACE
    user: str = USER
    _count: int = 0

    def cluster(self, namespace: str | None = None) -> Any:
        """The cluster as one user reaches it, who has a namespace."""
        return FakeCluster(self, namespace or self.namespace)

    def connect(
        self,
        kubeconfig: str | None = None,  # noqa: ARG002 - as the original
        context: str | None = None,  # noqa: ARG002
        namespace: str | None = None,
        request_timeout: float | None = None,  # noqa: ARG002
    ) -> Any:
        """To stand in for `Cluster.connect`."""
        return self.cluster(namespace)

    def add(self, plural: str, *things: Thing) -> None:
        """Put copies of objects in; one of the same name is replaced."""
        for thing in things:
            self._put(plural, copy.deepcopy(thing))

    def drop(self, plural: str, name: str) -> None:
        """Take an object away, wherever it is."""
        for key in [key for key in self.things if (key[0], key[2]) == (plural, name)]:
            del self.things[key]

    def names(self, plural: str) -> list[str]:
        """The names of what there is, in all namespaces, in the order in which it came."""
        return [name for found, _, name in self.things if found == plural]

    def get(self, plural: str, name: str, namespace: str | None = None) -> Thing:
        """An object as it is now; to be changed by the test."""
        inside = "" if plural in GLOBAL else namespace or self.namespace
        return self.things[plural, inside, name]

    def _put(self, plural: str, thing: Thing) -> Thing:
        self._count += 1
        meta = thing.setdefault("metadata", {})
        if plural not in GLOBAL:
            meta.setdefault("namespace", self.namespace)
        meta.setdefault("uid", f"uid-{self._count}")
        meta.setdefault("resourceVersion", "1")
        meta.setdefault("creationTimestamp", ago(minutes=5))
        self.things[plural, meta.get("namespace", ""), meta["name"]] = thing
        return thing


@dataclass
class FakeCluster:
    """The methods of devctl.kube.cluster.Cluster, over a FakeApi; it fails in the same words."""

    api: FakeApi
    namespace: str
    server: str = SERVER
    closed: bool = False
    method: str = "client certificate"

    @property
    def user(self) -> str:
        """Who the user is."""
        return self.api.user

    def close(self) -> None:
        """Hang up."""
        self.closed = True

    def get(self, kind: Any, name: str, namespace: str | None = None) -> Thing:
        """One object."""
        with explained(self.server):
            self._request("GET", kind, name)
            return copy.deepcopy(self._find(kind, name, namespace))

    def list(
        self,
        kind: Any,
        namespace: str | None = None,
        labels: Mapping[str, Any] | None = None,
        *,
        fields: Mapping[str, Any] | None = None,
    ) -> Iterator[Thing]:
        """All objects, by pages."""
        found = self._select(kind, namespace, labels, fields)
        for start in range(0, len(found) or 1, PAGE):
            with explained(self.server):
                self._request("GET", kind)
            yield from copy.deepcopy(found[start : start + PAGE])

    def watch(  # noqa: PLR0913 - as the original
        self,
        kind: Any,
        namespace: str | None = None,
        *,
        name: str | None = None,
        labels: Mapping[str, Any] | None = None,
        fields: Mapping[str, Any] | None = None,
        seconds: float = 300.0,
    ) -> Iterator[Change]:
        """All objects, then what `FakeApi.then` does to them."""
        fields = {**(fields or {}), **({"metadata.name": name} if name else {})}

        def look() -> dict[str, Thing]:
            found = copy.deepcopy(self._select(kind, namespace, labels, fields))
            return {f"{t['metadata'].get('namespace')}/{t['metadata']['name']}": t for t in found}

        with explained(self.server):
            self._request("WATCH", kind)
        before = look()
        yield from (Change("ADDED", thing) for thing in before.values())
        while self.api.then:
            self.api.then.pop(0)()
            with explained(self.server):
                self._refuse("GET", kind)
            after = look()
            yield from _changes(before, after)
            before = after
        time.sleep(min(seconds, _SILENCE))

    def create(self, kind: Any, manifest: Thing, *, dry_run: bool = False) -> Thing:
        """Make an object."""
        with explained(self.server):
            self._request("POST", kind)
            meta = manifest["metadata"]
            key = self._key(kind, meta["name"], meta.get("namespace"))
            if key in self.api.things:
                raise _error(409, f'{key[0]} "{key[2]}" already exists', "AlreadyExists")
            thing = copy.deepcopy(manifest)
            if key[1]:
                thing["metadata"]["namespace"] = key[1]
            if not dry_run:
                self.api.made(key[0], self.api._put(key[0], thing))  # noqa: SLF001 - one thing
            return copy.deepcopy(thing)

    def apply(
        self, kind: Any, manifest: Thing, *, dry_run: bool = False, force: bool = True
    ) -> Thing:
        """Have an object's fields be as a manifest says."""
        meta = manifest["metadata"]
        if not force and (fields := self.api.managers.get(meta["name"])):
            with explained(self.server):
                raise _error(409, "Apply failed", "Conflict", causes=_conflicts(fields))
        key = self._key(kind, meta["name"], meta.get("namespace"))
        if key in self.api.things:
            return self.patch(kind, meta["name"], manifest, meta.get("namespace"), dry_run=dry_run)
        with explained(self.server):
            self._request("PATCH", kind, meta["name"])
            thing = copy.deepcopy(manifest)
            if not dry_run:
                self.api.made(key[0], self.api._put(key[0], thing))  # noqa: SLF001
            return copy.deepcopy(thing)

    def patch(
        self,
        kind: Any,
        name: str,
        change: Thing,
        namespace: str | None = None,
        *,
        dry_run: bool = False,
    ) -> Thing:
        """Merge a change into an object."""
        with explained(self.server):
            self._request("PATCH", kind, name)
            there = self._find(kind, name, namespace)
            wanted = change.get("metadata", {})
            for what in ("uid", "resourceVersion"):
                has = there["metadata"][what]
                if wanted.get(what, has) != has:
                    said = f"Precondition failed: UID in precondition: {wanted[what]}, got {has}"
                    raise _error(409, said, "Conflict")
            thing = _merged(there, change)
            if not dry_run:
                number = int(there["metadata"]["resourceVersion"]) + 1
                thing["metadata"]["resourceVersion"] = str(number)
                self.api.things[self._key(kind, name, namespace)] = thing
            return copy.deepcopy(thing)

    find = Cluster.find

    def delete(self, kind: Any, found: Thing, *, unchanged: bool = False) -> None:
        """Delete exactly this object."""
        meta = found["metadata"]
        with explained(self.server):
            self._request("DELETE", kind, meta["name"])
            there = self._find(kind, meta["name"], meta.get("namespace"))["metadata"]
        same = ("uid", "resourceVersion") if unchanged else ("uid",)
        if any(there[what] != meta[what] for what in same):
            how = "changed" if unchanged else "recreated"
            raise DevctlError(
                f"`{meta['name']}` was {how} meanwhile and is left alone",
                "look at it, and repeat the command if you still mean it",
                reason="Conflict",
            )
        del self.api.things[self._key(kind, meta["name"], meta.get("namespace"))]

    def log(
        self,
        pod: str,
        namespace: str | None = None,
        *,
        follow: bool = False,
        tail: int | None = None,
    ) -> Iterator[bytes]:
        """What a pod has printed: the text under its key `log`."""
        key = ("pods", namespace or self.namespace, pod)
        with explained(self.server):
            self._refuse("GET", "pods")
            self.api.requests.append(f"GET pods/{pod}/log{' follow' if follow else ''}")
            if key not in self.api.things:
                raise _error(404, f'pods "{pod}" not found', "NotFound")
        lines = str(self.api.things[key].get("log", "")).encode().splitlines(keepends=True)
        yield from lines if tail is None else lines[len(lines) - min(tail, len(lines)) :]

    def read(self, path: str, *, once: bool = False) -> httpx2.Response:  # noqa: ARG002
        """What a path outside of the resources says; see FakeApi.answers."""
        self.api.requests.append(f"GET {path}")
        with explained(self.server):
            self._refuse("GET", path.strip("/"))
        version = {"gitVersion": "v1.34.0", "major": "1", "minor": "34"}
        dated = {"Date": format_datetime(NOW, usegmt=True)}
        return self.api.answers.get(path.strip("/")) or httpx2.Response(
            200, json=version, headers=dated
        )

    def whoami(self) -> str:
        """Who the user is."""
        self.api.requests.append("POST selfsubjectreviews")
        with explained(self.server):
            self._refuse("POST", "selfsubjectreviews")
        return self.api.user

    def review(self) -> Any:
        """The same, with groups."""
        who = {"username": self.whoami(), "groups": ["ml", "system:authenticated"]}
        about = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        return {**about, "metadata": {}, "status": {"userInfo": who}}

    def allowed(self, rights: Sequence[Right]) -> Sequence[bool]:
        """Whether the user may; see FakeApi.denied."""
        self.api.requests.append("POST selfsubjectrulesreviews")
        named = [tuple(str(right).split(" ", 1)) for right in rights]
        return [right not in self.api.denied for right in named]

    def _request(self, verb: str, kind: Any, name: str = "") -> None:
        plural = _plural(kind)
        refused = self.api.refusals.get(("GET" if verb == "WATCH" else verb, plural))
        self.api.requests.append(f"{verb} {plural}/{name}" if name else f"{verb} {plural}")
        if refused:
            raise _error(*refused)

    def _refuse(self, verb: str, kind: Any) -> None:
        plural = kind if isinstance(kind, str) else _plural(kind)
        if refused := self.api.refusals.get((verb, plural)):
            raise _error(*refused)

    def _key(self, kind: Any, name: str, namespace: str | None) -> tuple[str, str, str]:
        plural = _plural(kind)
        return plural, "" if plural in GLOBAL else namespace or self.namespace, name

    def _find(self, kind: Any, name: str, namespace: str | None) -> Thing:
        key = self._key(kind, name, namespace)
        if key not in self.api.things:
            what = f"{key[0]}.{kind.group}" if kind.group else key[0]
            raise _error(404, f'{what} "{name}" not found', "NotFound")
        return self.api.things[key]

    def _select(
        self,
        kind: Any,
        namespace: str | None,
        labels: Mapping[str, Any] | None,
        fields: Mapping[str, Any] | None,
    ) -> Sequence[Thing]:
        plural = _plural(kind)
        wanted = "" if plural in GLOBAL else namespace or self.namespace
        return [
            thing
            for (found, inside, _), thing in self.api.things.items()
            if found == plural
            and wanted in {EVERYWHERE, inside}
            and matches_labels(thing, labels or {})
            and matches_fields(thing, fields or {})
        ]


def _plural(kind: Any) -> str:
    return str(kind.plural)


def _conflicts(fields: Mapping[str, str]) -> list[Thing]:
    return [
        {"reason": "FieldManagerConflict", "message": f'conflict with "{who}" using v1', "field": f}
        for f, who in fields.items()
    ]


def _error(code: int, message: str, reason: str = "", causes: Sequence[Thing] = ()) -> DevctlError:
    reasons = {401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 410: "Expired"}
    return refusal(
        {
            "code": code,
            "message": message,
            "reason": reason or reasons.get(code, "InternalError"),
            "details": {"causes": list(causes)},
        }
    )


def _changes(before: dict[str, Thing], after: dict[str, Thing]) -> Iterator[Change]:
    for key, thing in after.items():
        if key not in before:
            yield Change("ADDED", thing)
        elif thing != before[key]:
            yield Change("MODIFIED", thing)
    yield from (Change("DELETED", before[key]) for key in before.keys() - after.keys())


def _merged(there: Any, change: Any) -> Any:
    if not isinstance(change, dict):
        return copy.deepcopy(change)
    result = dict(there) if isinstance(there, dict) else {}
    for key, value in change.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merged(result.get(key), value)
    return result
