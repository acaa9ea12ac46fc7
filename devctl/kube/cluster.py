"""One cluster, as one user sees it."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx2
import msgspec

from devctl.errors import DevctlError, NotFoundError
from devctl.kube import resources
from devctl.kube.credentials import Login
from devctl.kube.failures import NO_SUCH_KIND, check, explained, refusal
from devctl.kube.kubeconfig import Access, find_access
from devctl.kube.patience import SILENCE, Pace, Patient
from devctl.kube.proxies import find_proxy, shown
from devctl.kube.transport import Authenticated

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence

    from devctl.kube.resources import Kind
    from devctl.kube.rights import Right

    Selector = Mapping[str, str | Iterable[str] | None]
    """By label or field its value, or any of several; None where it only has to be there."""

Object = dict[str, Any]
"""What the API server answers, as it is."""

EVERYWHERE = "*"
"""Instead of a namespace: all of them."""
WINDOW = 300.0
"""Seconds for which a watch lives where nobody says how long."""
FIELD_MANAGER = "devctl"
CONFLICT = "Conflict"
"""The reason of an error where an object is another one, or has changed, since it was read."""
_PAGE = 500
_SLACK = 15.0
"""Seconds by which the API server may end a watch too late."""
_GONE, _CONFLICT = 410, 409
_APPLY, _MERGE = "application/apply-patch+yaml", "application/merge-patch+json"


class Change(NamedTuple):
    """What a watch tells: ADDED, MODIFIED or DELETED, and the object as it is since."""

    type: str
    object: Object


class Cluster:
    """The requests that devctl makes, for one user.

    Attributes:
        namespace: Where it acts where nobody says where.
        server: The address of the API server.
        user: What the kubeconfig calls the user.
        route: The server's address, and the proxy that leads there, for what people are told.

    Every method raises of devctl.errors what devctl.kube.failures tells of.
    """

    def __init__(
        self,
        access: Access,
        transport: httpx2.BaseTransport | None = None,
        request_timeout: float | None = None,
    ) -> None:
        """Ask nothing yet.

        Args:
            access: Which cluster, and as whom.
            transport: What carries the requests, for tests; else a network with TLS.
            request_timeout: Seconds in which each request has to be answered; 0 for ever, else
                what is usual. What streams, such as a watch, may go on for longer.

        Raises:
            UsageError: The kubeconfig or the environment asks for what devctl cannot do.
        """
        self.namespace = access.namespace
        self.server = access.server
        self.user = access.user_name
        proxy = find_proxy(access)
        self.route = f"{access.server} through {shown(proxy)}" if proxy else access.server
        carrier = transport or Authenticated(Login(access), proxy)
        self._http = httpx2.Client(
            base_url=access.server,
            transport=Patient(carrier, self.route, request_timeout),
            timeout=SILENCE,
            trust_env=False,
        )
        self._paces: dict[str, Pace] = {}

    @classmethod
    def connect(
        cls,
        kubeconfig: str | None = None,
        context: str | None = None,
        namespace: str | None = None,
        request_timeout: float | None = None,
    ) -> Cluster:
        """The cluster that a person has chosen; nothing is asked of it yet.

        Args:
            kubeconfig: A file; else those of KUBECONFIG, ~/.kube/config, or a pod's own account.
            context: An entry of it; else that of DEVCTL_CONTEXT, or the current one.
            namespace: Where to act; else that of DEVCTL_NAMESPACE, of the context, or `default`.
            request_timeout: Seconds in which each request has to be answered; 0 for ever.
        """
        access = find_access(kubeconfig, context, namespace)
        return cls(access, request_timeout=request_timeout)

    def get(self, kind: Kind, name: str, namespace: str | None = None) -> Object:
        """One object, of this namespace if its kind has any.

        Raises:
            NotFoundError: It is not there, or the cluster knows no such kind.
        """
        return self._ask("GET", self._path(kind, namespace, name))

    def find(self, kind: Kind, name: str, namespace: str | None = None) -> Object | None:
        """One object, or None where there is none of that name.

        Raises:
            NotFoundError: The cluster knows no such kind.
        """
        try:
            return self.get(kind, name, namespace)
        except NotFoundError as error:
            if error.reason == NO_SUCH_KIND:
                raise
            return None

    def list(
        self,
        kind: Kind,
        namespace: str | None = None,
        labels: Selector | None = None,
        *,
        fields: Selector | None = None,
    ) -> Iterator[Object]:
        """All objects of a kind, page by page, as they are asked for.

        Args:
            kind: What they are.
            namespace: Where they are; EVERYWHERE for all namespaces; else the user's.
            labels: What their labels have to be.
            fields: What their fields have to be.
        """
        query = {"limit": str(_PAGE), **_selectors(labels, fields)}
        # The API leaves out of a list what its objects are.
        about = {"apiVersion": kind.api_version, "kind": kind.name}
        while True:
            page = self._ask("GET", self._path(kind, namespace), query)
            yield from (about | item for item in page.get("items") or [])
            query["continue"] = (page.get("metadata") or {}).get("continue") or ""
            if not query["continue"]:
                return

    def watch(  # noqa: PLR0913 - what, where and for how long are each a choice of the caller
        self,
        kind: Kind,
        namespace: str | None = None,
        *,
        name: str | None = None,
        labels: Selector | None = None,
        fields: Selector | None = None,
        seconds: float = WINDOW,
    ) -> Generator[Change, None, None]:
        """All objects of a kind as ADDED, then every change; ends after some seconds.

        Args:
            kind: What they are.
            namespace: Where they are; EVERYWHERE for all namespaces; else the user's.
            name: Only the object of this name.
            labels: What their labels have to be.
            fields: What their fields have to be.
            seconds: How long.

        Raises:
            DevctlError: The connection is lost, or it cannot be begun.
        """
        if name is not None:
            fields = {**(fields or {}), "metadata.name": name}
        query = {"watch": "true", "timeoutSeconds": str(max(1, round(seconds)))}
        query |= _selectors(labels, fields)
        path = self._path(kind, namespace)
        pace = self._paces.setdefault(f"{path} {query}", Pace())
        pace.wait(seconds)
        began = time.monotonic()
        try:
            yield from self._watch(path, query, seconds)
        except DevctlError:
            pace.ended(time.monotonic() - began, seconds)
            raise
        pace.ended(time.monotonic() - began, seconds)

    def _watch(
        self, path: str, query: dict[str, str], seconds: float
    ) -> Generator[Change, None, None]:
        # A connection that has died without a word is given up when its time is over.
        silence = httpx2.Timeout(SILENCE, read=seconds + _SLACK)
        with explained(self.route):
            try:
                with self._stream(path, query, silence) as answer:
                    for line in _lines(answer):
                        change = Change(**msgspec.json.decode(line))
                        if change.type == "ERROR":
                            if change.object.get("code") == _GONE:
                                return  # the caller's next watch begins with all objects
                            raise refusal(change.object)
                        if change.type != "BOOKMARK":
                            yield change
            except httpx2.ReadTimeout:
                return

    def create(self, kind: Kind, manifest: Object, *, dry_run: bool = False) -> Object:
        """Make an object; the API server only checks it where `dry_run` is set.

        Raises:
            AlreadyExistsError: There is one of that name.
        """
        path = self._path(kind, manifest["metadata"].get("namespace"))
        return self._ask("POST", path, _writing(dry_run=dry_run), _whole(kind, manifest))

    def apply(
        self, kind: Kind, manifest: Object, *, dry_run: bool = False, force: bool = True
    ) -> Object:
        """Have an object's fields be as a manifest says; made where it is not there.

        A `metadata.uid` in the manifest has the API server refuse if it is another object by now.

        Raises:
            FieldConflictError: Others manage some of the fields, and `force` is not set.
        """
        meta = manifest["metadata"]
        path = self._path(kind, meta.get("namespace"), meta["name"])
        query = {"force": str(force).lower(), **_writing(dry_run=dry_run)}
        return self._ask("PATCH", path, query, _whole(kind, manifest), _APPLY)

    def patch(
        self,
        kind: Kind,
        name: str,
        change: Object,
        namespace: str | None = None,
        *,
        dry_run: bool = False,
    ) -> Object:
        """Merge a change into an object; None as a value takes a field away.

        A `metadata.uid` in the change has the API server refuse if it is another object by now.
        """
        path = self._path(kind, namespace, name)
        return self._ask("PATCH", path, _writing(dry_run=dry_run), change, _MERGE)

    def delete(self, kind: Kind, found: Object, *, unchanged: bool = False) -> None:
        """Delete exactly this object, by its UID: never another one that took its name.

        Args:
            kind: Its kind.
            found: The object as it was read.
            unchanged: Whether only if nothing in it has changed since.

        Raises:
            DevctlError: It is another one by now.
            NotFoundError: It is gone.
        """
        meta = found["metadata"]
        conditions = {"uid": meta["uid"]}
        if unchanged:
            conditions["resourceVersion"] = meta["resourceVersion"]
        body = {"preconditions": conditions, "propagationPolicy": "Background"}
        path = self._path(kind, meta.get("namespace"), meta["name"])
        with explained(self.route):
            answer = self._http.request("DELETE", path, json=body)
            if answer.status_code == _CONFLICT:
                raise DevctlError(
                    f"`{meta['name']}` was {'changed' if unchanged else 'recreated'} meanwhile"
                    " and is left alone",
                    "look at it, and repeat the command if you still mean it",
                    reason=CONFLICT,
                )
            check(answer)

    def log(
        self,
        pod: str,
        namespace: str | None = None,
        *,
        follow: bool = False,
        tail: int | None = None,
    ) -> Generator[bytes, None, None]:
        """What a pod's only container has printed, piece by piece.

        Args:
            pod: Its name.
            namespace: Its namespace; else the user's.
            follow: Whether to go on until the container ends.
            tail: Only so many of the last lines.
        """
        query = {"follow": str(follow).lower()}
        if tail is not None:
            query["tailLines"] = str(tail)
        path = f"{self._path(resources.Pod, namespace, pod)}/log"
        # Who follows waits for as long as the container is silent.
        silence = httpx2.Timeout(SILENCE, read=None if follow else SILENCE)
        with explained(self.route), self._stream(path, query, silence) as answer:
            yield from answer.iter_bytes()

    def read(self, path: str) -> httpx2.Response:
        """What the API server answers at a path that no kind has, such as `version`.

        Raises:
            DevctlError: It answers that it cannot.
        """
        with explained(self.route):
            answer = self._http.get(path.lstrip("/"))
            check(answer)
        return answer

    def whoami(self) -> str:
        """Who the API server takes the user for."""
        review = self.create(resources.SelfSubjectReview, {"metadata": {}})
        return str(review["status"]["userInfo"].get("username", ""))

    def allowed(self, rights: Sequence[Right]) -> Sequence[bool]:
        """Whether the user may do each of several things in their namespace.

        One request tells, unless somebody has a say there who cannot list rules, such as a webhook.
        """
        spec: Object = {"namespace": self.namespace}
        review = self.create(resources.SelfSubjectRulesReview, {"metadata": {}, "spec": spec})
        rules = review["status"].get("resourceRules") or []
        found = [any(map(right.is_covered_by, rules)) for right in rights]
        if not review["status"].get("incomplete"):
            return found
        return [known or self._may(right) for known, right in zip(found, rights, strict=True)]

    def _may(self, right: Right) -> bool:
        asked = {"namespace": self.namespace, **right._asdict()}
        manifest = {"metadata": {}, "spec": {"resourceAttributes": asked}}
        review = self.create(resources.SelfSubjectAccessReview, manifest)
        return bool(review["status"].get("allowed"))

    def upgrade(self, path: str, headers: Sequence[tuple[str, str]]) -> httpx2.Response:
        """Ask for another protocol; the answer, which says whether, is the caller's to close.

        Args:
            path: Of the API server, with its query, quoted as it is to be sent.
            headers: What the protocol wants to be said.
        """
        base = self._http.base_url
        request = self._http.build_request(
            "GET",
            base,
            headers=headers,
            # A command may be longer than httpx2 lets addresses be.
            extensions={"target": base.raw_path.rstrip(b"/") + f"/{path}".encode()},
        )
        return self._http.send(request, stream=True)

    def close(self) -> None:
        """Hang up: no request can be made afterwards."""
        self._http.close()

    def _path(self, kind: Kind, namespace: str | None, name: str = "") -> str:
        if not kind.namespaced or namespace == EVERYWHERE:
            return kind.path(None, name)
        return kind.path(namespace or self.namespace, name)

    def _ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Object | None = None,
        content_type: str = "application/json",
    ) -> Object:
        with explained(self.route):
            answer = self._http.request(
                method,
                path,
                params=query,
                content=None if body is None else msgspec.json.encode(body),
                headers=None if body is None else {"Content-Type": content_type},
            )
            check(answer)
            return msgspec.json.decode(answer.content, type=Object)

    @contextmanager
    def _stream(
        self, path: str, query: dict[str, str], silence: httpx2.Timeout
    ) -> Iterator[httpx2.Response]:
        with self._http.stream("GET", path, params=query, timeout=silence) as answer:
            if answer.is_error:
                answer.read()
                check(answer)
            yield answer


def _whole(kind: Kind, manifest: Object) -> Object:
    return {"apiVersion": kind.api_version, "kind": kind.name, **manifest}


def _writing(*, dry_run: bool) -> dict[str, str]:
    return {**({"dryRun": "All"} if dry_run else {}), "fieldManager": FIELD_MANAGER}


def _selectors(labels: Selector | None, fields: Selector | None) -> dict[str, str]:
    """Selectors as the API server takes them.

    >>> _selectors({"app": "web", "tier": None, "zone": ("a", "b")}, {"metadata.name": "x"})
    {'labelSelector': 'app=web,tier,zone in (a,b)', 'fieldSelector': 'metadata.name=x'}
    """
    found = {"labelSelector": labels, "fieldSelector": fields}
    return {name: ",".join(map(_term, each.items())) for name, each in found.items() if each}


def _term(pair: tuple[str, str | Iterable[str] | None]) -> str:
    name, wanted = pair
    if wanted is None:
        return name
    return f"{name}={wanted}" if isinstance(wanted, str) else f"{name} in ({','.join(wanted)})"


def _lines(answer: httpx2.Response) -> Iterator[bytes]:
    """The lines of an answer; httpx2's own would also part at characters such as U+0085."""
    rest = bytearray()
    for piece in answer.iter_bytes():
        rest += piece
        *whole, last = rest.split(b"\n")
        yield from (bytes(line) for line in whole if line)
        rest = last
