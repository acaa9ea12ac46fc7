"""One cluster, as one user sees it."""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx2
import msgspec

from devctl.errors import DevctlError, NotFoundError
from devctl.kube import resources
from devctl.kube.credentials import Authenticated, Login
from devctl.kube.failures import NO_SUCH_KIND, check, explained, refusal
from devctl.kube.kubeconfig import Access, find_access
from devctl.kube.patience import ONCE, SILENCE, Pace, Patient
from devctl.kube.proxies import find_proxy, shown

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence

    from devctl.api.kinds import Kind
    from devctl.kube.rights import Right

    Selector = Mapping[str, str | Iterable[str] | None]
    """The value by label or field, or several values; None for any value."""

Object = dict[str, Any]
"""An object as the API server has it."""

EVERYWHERE = "*"
"""In place of a namespace: all of them."""
WINDOW = 300.0
"""How many seconds a watch lives by default."""
FIELD_MANAGER = "devctl"
CONFLICT = "Conflict"
"""The reason of an error if an object was replaced, or changed, since it was read."""
_PAGE = 500
_SLACK = 15.0
"""Seconds by which the API server may be late to end a watch."""
_GONE, _CONFLICT = 410, 409
_APPLY, _MERGE = "application/apply-patch+yaml", "application/merge-patch+json"


class Change(NamedTuple):
    """An event of a watch: ADDED, MODIFIED or DELETED, and the object as of then."""

    type: str
    object: Object


class Cluster:
    """The requests of one user. All methods raise the errors of devctl.kube.failures.

    Attributes:
        user: The user's name in the kubeconfig.
        method: How that user authenticates, in a few words.
        route: The server's address and the proxy on the way, for messages.
    """

    def __init__(
        self,
        access: Access,
        transport: httpx2.BaseTransport | None = None,
        request_timeout: float | None = None,
    ) -> None:
        """Prepare requests without sending any; tests replace the network by `transport`.

        `request_timeout` limits the seconds to each answer, but not to the end of its stream; 0 is
        no limit.

        Raises:
            UsageError: The kubeconfig or the environment asks for what devctl does not support.
        """
        self.namespace = access.namespace
        self.server = access.server
        self.user = access.user_name
        self.method = access.method
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
        """The chosen cluster, without a request yet; see `find_access`."""
        return cls(find_access(kubeconfig, context, namespace), request_timeout=request_timeout)

    def get(self, kind: Kind, name: str, namespace: str | None = None) -> Object:
        """One object; raises NotFoundError if it, or its kind, does not exist."""
        return self._ask("GET", self._path(kind, namespace, name))

    def find(self, kind: Kind, name: str, namespace: str | None = None) -> Object | None:
        """One object, or None; raises NotFoundError if its kind does not exist."""
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
        """All objects of a kind in a namespace or EVERYWHERE, fetched in pages as needed."""
        query = {"limit": str(_PAGE), **_selectors(labels, fields)}
        # The objects of a list lack both.
        about = {"apiVersion": kind.api_version, "kind": kind.name}
        while True:
            page = self._ask("GET", self._path(kind, namespace), query)
            yield from (about | item for item in page.get("items") or [])
            query["continue"] = (page.get("metadata") or {}).get("continue") or ""
            if not query["continue"]:
                return

    def watch(  # noqa: PLR0913 - each is a choice of the caller
        self,
        kind: Kind,
        namespace: str | None = None,
        *,
        name: str | None = None,
        labels: Selector | None = None,
        fields: Selector | None = None,
        seconds: float = WINDOW,
    ) -> Generator[Change, None, None]:
        """All objects of a kind, or the one of a name, as ADDED, and then every change."""
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
        # A dead connection is noticed when its time is over.
        silence = httpx2.Timeout(SILENCE, read=seconds + _SLACK)
        quiet = suppress(httpx2.ReadTimeout)
        with explained(self.route), quiet, self._stream(path, query, silence) as answer:
            for line in _lines(answer):
                change = Change(**msgspec.json.decode(line))
                if change.type == "ERROR":
                    if change.object.get("code") == _GONE:
                        return  # the caller's next watch starts with all objects
                    raise refusal(change.object)
                if change.type != "BOOKMARK":
                    yield change

    def create(self, kind: Kind, manifest: Object, *, dry_run: bool = False) -> Object:
        """Create an object, of a new name; with `dry_run` the API server only checks it."""
        path = self._path(kind, manifest["metadata"].get("namespace"))
        return self._ask("POST", path, _writing(dry_run=dry_run), _whole(kind, manifest))

    def apply(
        self, kind: Kind, manifest: Object, *, dry_run: bool = False, force: bool = True
    ) -> Object:
        """Apply a manifest server-side; one with a `metadata.uid` to that very object only.

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
        """Merge a change into an object; None as a value removes a field.

        A change with a `metadata.uid` applies to that very object only.
        """
        path = self._path(kind, namespace, name)
        return self._ask("PATCH", path, _writing(dry_run=dry_run), change, _MERGE)

    def send(  # noqa: PLR0913, PLR0917 - what names a subresource
        self, method: str, kind: Kind, name: str, part: str, body: Object, namespace: str = ""
    ) -> Object:
        """Send a whole object to a subresource, such as the `token` of a service account."""
        return self._ask(method, f"{self._path(kind, namespace, name)}/{part}", None, body)

    def delete(self, kind: Kind, found: Object, *, unchanged: bool = False) -> None:
        """Delete exactly the object that was read, by its UID; with `unchanged` only as it was.

        Raises:
            DevctlError: It was replaced, or changed.
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
        """The output of a pod's only container in pieces, at most its last `tail` lines.

        With `follow` it continues until the container ends.
        """
        query = {"follow": str(follow).lower()}
        if tail is not None:
            query["tailLines"] = str(tail)
        path = f"{self._path(resources.Pod, namespace, pod)}/log"
        # A followed container may be silent for any time.
        silence = httpx2.Timeout(SILENCE, read=None if follow else SILENCE)
        with explained(self.route), self._stream(path, query, silence) as answer:
            yield from answer.iter_bytes()

    def read(self, path: str, *, once: bool = False) -> httpx2.Response:
        """The answer at a path outside of all kinds, such as `version`.

        With `once`, a server behind the API server that is unavailable is not waited for.
        """
        extensions = {ONCE: True} if once else {}
        with explained(self.route):
            answer = self._http.get(path.lstrip("/"), extensions=extensions)
            check(answer)
        return answer

    def whoami(self) -> str:
        """The user's name, as authenticated by the API server."""
        return str(self.review()["status"]["userInfo"].get("username", ""))

    def review(self) -> Object:
        """The SelfSubjectReview: the user's name, groups and more, as the API server sees them."""
        return self.create(resources.SelfSubjectReview, {"metadata": {}})

    def allowed(self, rights: Sequence[Right]) -> Sequence[bool]:
        """Whether the user has each of some rights in their namespace.

        This takes one request, unless an authorizer such as a webhook cannot list its rules.
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
        """Ask for another protocol, at a quoted path; the caller closes the answer."""
        base = self._http.base_url
        request = self._http.build_request(
            "GET",
            base,
            headers=headers,
            # A command may be longer than httpx2 allows in a URL.
            extensions={"target": base.raw_path.rstrip(b"/") + f"/{path}".encode()},
        )
        return self._http.send(request, stream=True)

    def close(self) -> None:
        """Close all connections, for good."""
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
            check(answer)
            yield answer


def _whole(kind: Kind, manifest: Object) -> Object:
    return {"apiVersion": kind.api_version, "kind": kind.name, **manifest}


def _writing(*, dry_run: bool) -> dict[str, str]:
    return {**({"dryRun": "All"} if dry_run else {}), "fieldManager": FIELD_MANAGER}


def _selectors(labels: Selector | None, fields: Selector | None) -> dict[str, str]:
    """Selectors in the API server's notation.

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
    """The lines of an answer; httpx2 would also split at characters such as U+0085."""
    rest = bytearray()
    for piece in answer.iter_bytes():
        rest += piece
        *whole, last = rest.split(b"\n")
        yield from (bytes(line) for line in whole if line)
        rest = last
