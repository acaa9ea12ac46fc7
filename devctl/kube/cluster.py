"""One cluster, as one user sees it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx2
import lightkube
import msgspec
from lightkube.config.kubeconfig import KubeConfig
from lightkube.config.models import Cluster as _Server
from lightkube.config.models import User as _User
from lightkube.core.resource import NamespacedResource, api_info
from lightkube.core.selector import build_selector
from lightkube.types import PatchType

from devctl.errors import DevctlError
from devctl.kube import resources
from devctl.kube.credentials import Login
from devctl.kube.failures import check, explained, refusal
from devctl.kube.kubeconfig import Access, find_access
from devctl.kube.transport import Authenticated

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from devctl.kube.credentials import Credentials

Object = dict[str, Any]
"""What the API server answers, as it is."""

EVERYWHERE = "*"
"""Instead of a namespace: all of them."""
WINDOW = 300.0
"""Seconds for which a watch lives where nobody says how long."""
FIELD_MANAGER = "devctl"
_PAGE = 500
_SLACK = 15.0
"""Seconds by which the API server may end a watch too late."""
_GONE, _CONFLICT = 410, 409


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
        client: lightkube's client, for everything that it has a method for.

    Every method raises of devctl.errors what devctl.kube.failures tells of.
    """

    def __init__(self, access: Access, transport: httpx2.BaseTransport | None = None) -> None:
        """Ask nothing yet.

        Args:
            access: Which cluster, and as whom.
            transport: What carries the requests, for tests; else a network with TLS.
        """
        self.namespace = access.namespace
        self.server = access.server
        self.user = access.user_name
        self._login = Login(access)
        self._patience = httpx2.Timeout(30.0, connect=5.0)
        carrier = transport or Authenticated(self._login)
        # The transport does TLS and names the user; all that lightkube is told is the address.
        server = _Server(server=access.server, insecure=True)
        self.client = lightkube.Client(
            KubeConfig.from_one(cluster=server, user=_User(), namespace=access.namespace),
            timeout=self._patience,
            field_manager=FIELD_MANAGER,
            trust_env=False,
            transport=carrier,
        )
        self._http = httpx2.Client(
            base_url=access.server, transport=carrier, timeout=self._patience, trust_env=False
        )

    @classmethod
    def connect(
        cls,
        kubeconfig: str | None = None,
        context: str | None = None,
        namespace: str | None = None,
    ) -> Cluster:
        """The cluster that a person has chosen; nothing is asked of it yet.

        Args:
            kubeconfig: A file; else those of KUBECONFIG, ~/.kube/config, or a pod's own account.
            context: An entry of it; else that of DEVCTL_CONTEXT, or the current one.
            namespace: Where to act; else that of DEVCTL_NAMESPACE, of the context, or `default`.
        """
        return cls(find_access(kubeconfig, context, namespace))

    def get(self, kind: Any, name: str, namespace: str | None = None) -> Object:
        """One object, of this namespace if its kind has any.

        Raises:
            NotFoundError: It is not there, or the cluster knows no such kind.
        """
        where = self._where(kind, namespace)
        with explained(self.server):
            return _plain(self.client.get(kind, name, **where))

    def list(
        self,
        kind: Any,
        namespace: str | None = None,
        labels: Mapping[str, Any] | None = None,
        *,
        fields: Mapping[str, Any] | None = None,
    ) -> Iterator[Object]:
        """All objects of a kind, page by page, as they are asked for.

        Args:
            kind: What they are.
            namespace: Where they are; EVERYWHERE for all namespaces; else the user's.
            labels: What their labels have to be, as lightkube takes it.
            fields: What their fields have to be, as lightkube takes it.
        """
        where = self._where(kind, namespace)
        with explained(self.server):
            found = self.client.list(
                kind,
                labels=dict(labels) if labels else None,
                fields=dict(fields) if fields else None,
                chunk_size=_PAGE,
                **where,
            )
            for item in found:
                yield _plain(item, kind)

    def watch(  # noqa: PLR0913 - what, where and for how long are each a choice of the caller
        self,
        kind: Any,
        namespace: str | None = None,
        *,
        name: str | None = None,
        labels: Mapping[str, Any] | None = None,
        fields: Mapping[str, Any] | None = None,
        seconds: float = WINDOW,
    ) -> Generator[Change, None, None]:
        """All objects of a kind as ADDED, then every change; ends after some seconds.

        Args:
            kind: What they are.
            namespace: Where they are; EVERYWHERE for all namespaces; else the user's.
            name: Only the object of this name.
            labels: What their labels have to be, as lightkube takes it.
            fields: What their fields have to be, as lightkube takes it.
            seconds: How long.

        Raises:
            DevctlError: The connection is lost, or it cannot be begun.
        """
        if name is not None:
            fields = {**(fields or {}), "metadata.name": name}
        query = {"watch": "true", "timeoutSeconds": str(max(1, round(seconds)))}
        if labels:
            query["labelSelector"] = build_selector(dict(labels))
        if fields:
            query["fieldSelector"] = build_selector(dict(fields), for_fields=True)
        # A connection that has died without a word is given up when its time is over.
        patience = httpx2.Timeout(30.0, connect=5.0, read=seconds + _SLACK)
        path = _path(kind, self._where(kind, namespace).get("namespace"))
        with explained(self.server):
            try:
                with self._stream(path, query, patience) as answer:
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

    def create(self, kind: Any, manifest: Object, *, dry_run: bool = False) -> Object:
        """Make an object; the API server only checks it where `dry_run` is set.

        Raises:
            AlreadyExistsError: There is one of that name.
        """
        where = self._where(kind, manifest["metadata"].get("namespace"))
        with explained(self.server):
            return _plain(self.client.create(kind(manifest), dry_run=dry_run, **where))

    def apply(
        self, kind: Any, manifest: Object, *, dry_run: bool = False, force: bool = True
    ) -> Object:
        """Have an object's fields be as a manifest says; made where it is not there.

        A `metadata.uid` in the manifest has the API server refuse if it is another object by now.

        Raises:
            FieldConflictError: Others manage some of the fields, and `force` is not set.
        """
        where = self._where(kind, manifest["metadata"].get("namespace"))
        with explained(self.server):
            found = self.client.apply(kind(manifest), force=force, dry_run=dry_run, **where)
            return _plain(found)

    def patch(
        self,
        kind: Any,
        name: str,
        change: Object,
        namespace: str | None = None,
        *,
        dry_run: bool = False,
    ) -> Object:
        """Merge a change into an object; None as a value takes a field away.

        A `metadata.uid` in the change has the API server refuse if it is another object by now.
        """
        where = self._where(kind, namespace)
        with explained(self.server):
            return _plain(
                self.client.patch(
                    kind, name, change, patch_type=PatchType.MERGE, dry_run=dry_run, **where
                )
            )

    def delete(self, kind: Any, found: Object, *, unchanged: bool = False) -> None:
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
        path = _path(kind, self._where(kind, meta.get("namespace")).get("namespace"), meta["name"])
        with explained(self.server):
            answer = self._http.request("DELETE", path, json=body)
            if answer.status_code == _CONFLICT:
                raise DevctlError(
                    f"`{meta['name']}` was {'changed' if unchanged else 'made anew'} meanwhile"
                    " and is left alone",
                    "look at it, and repeat the command if you still mean it",
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
        path = f"api/v1/namespaces/{namespace or self.namespace}/pods/{pod}/log"
        # Who follows waits for as long as the container is silent.
        patience = httpx2.Timeout(30.0, connect=5.0, read=None) if follow else self._patience
        with explained(self.server), self._stream(path, query, patience) as answer:
            yield from answer.iter_bytes()

    def read(self, path: str) -> httpx2.Response:
        """What the API server answers at a path that no kind has, such as `version`.

        Raises:
            DevctlError: It answers that it cannot.
        """
        with explained(self.server):
            answer = self._http.get(path.lstrip("/"))
            check(answer)
        return answer

    def whoami(self) -> str:
        """Who the API server takes the user for."""
        review = self.create(resources.SelfSubjectReview, {"metadata": {}})
        return str(review["status"]["userInfo"].get("username", ""))

    def allowed(  # noqa: PLR0913, PLR0917 - a right's parts, as Kubernetes has them
        self,
        verb: str,
        group: str,
        resource: str,
        namespace: str | None = None,
        name: str = "",
        subresource: str = "",
    ) -> bool:
        """Whether the user may do something.

        Args:
            verb: Such as `create`.
            group: The API group; empty for the core one.
            resource: The kind's plural.
            namespace: Where; EVERYWHERE for all namespaces; else the user's.
            name: Of which object; else any.
            subresource: Such as `exec`.
        """
        where = "" if namespace == EVERYWHERE else namespace or self.namespace
        asked = {
            "verb": verb,
            "group": group,
            "resource": resource,
            "namespace": where,
            "name": name,
            "subresource": subresource,
        }
        manifest = {"metadata": {}, "spec": {"resourceAttributes": asked}}
        review = self.create(resources.SelfSubjectAccessReview, manifest)
        return bool(review["status"].get("allowed"))

    def credentials(self) -> Credentials:
        """What a stream needs to be let in: TLS and headers, fresh enough to be used now."""
        return self._login.credentials()

    def renew_credentials(self) -> bool:
        """Get new credentials after the old ones were refused; False where there are no others."""
        return self._login.renew()

    def close(self) -> None:
        """Hang up: no request can be made afterwards."""
        self._http.close()
        self.client.close()

    def _where(self, kind: Any, namespace: str | None) -> dict[str, Any]:
        if not issubclass(kind, NamespacedResource):
            return {}
        return {"namespace": namespace or self.namespace}

    @contextmanager
    def _stream(
        self, path: str, query: dict[str, str], patience: httpx2.Timeout
    ) -> Iterator[httpx2.Response]:
        with self._http.stream("GET", path, params=query, timeout=patience) as answer:
            if answer.is_error:
                answer.read()
                check(answer)
            yield answer


def _path(kind: Any, namespace: str | None, name: str = "") -> str:
    info = api_info(kind)
    group, version = info.resource.group, info.resource.version
    parts = ["apis", group, version] if group else ["api", version]
    if namespace and namespace != EVERYWHERE:
        parts += ["namespaces", namespace]
    return "/".join([*parts, info.plural, *([name] if name else [])])


def _plain(found: Any, kind: Any = None) -> Object:
    """An object as a dict; those of a list are told what they are, which the API leaves out."""
    if kind is None:
        return dict(found)
    about = api_info(kind).resource
    version = f"{about.group}/{about.version}" if about.group else about.version
    return {"apiVersion": version, "kind": about.kind, **found}


def _lines(answer: httpx2.Response) -> Iterator[bytes]:
    """The lines of an answer; httpx2's own would also part at characters such as U+0085."""
    rest = bytearray()
    for piece in answer.iter_bytes():
        rest += piece
        *whole, last = rest.split(b"\n")
        yield from (bytes(line) for line in whole if line)
        rest = last
