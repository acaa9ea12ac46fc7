"""The API server, asked within the process: no program is started and connections are kept.

Tests ask it again and again while they wait; what a user would type goes through kubectl itself.
"""

from __future__ import annotations

import base64
import json
import ssl
import tempfile
import time
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
import yaml
from support.asked import Request, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Thing = dict[str, Any]

_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_APPLY = "application/apply-patch+yaml"
_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_NOT_FOUND = 404
_EVENTS = {"ADDED", "MODIFIED", "DELETED"}


@dataclass(frozen=True)
class Resource:
    """Where the objects of a kind are.

    Attributes:
        prefix: The path of its group and version.
        plural: Its name in paths.
        group: Its group; empty for the core one.
        kind: Its name in manifests.
        namespaced: Whether its objects have a namespace.
    """

    prefix: str
    plural: str
    group: str
    kind: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        """What manifests say."""
        return self.prefix.removeprefix("/apis/").removeprefix("/api/")

    def path(self, namespace: str | None, name: str = "") -> str:
        """The path of an object, or of all where there is no name."""
        place = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return f"{self.prefix}{place}/{self.plural}" + (f"/{name}" if name else "")


class Api:
    """The API server, as the user of a kubeconfig.

    A refusal fails the test with what the API server says, as that of kubectl does.
    """

    def __init__(self, kubeconfig: Path) -> None:
        """Ask nothing yet."""
        self._http = connect(kubeconfig)
        self._resources: dict[str, Resource] = {}
        self._as: list[tuple[str, str]] = []

    def acting(self, user: str, *groups: str) -> Api:
        """The same API server, by the same connections, as another user; itself for nobody."""
        if not user:
            return self
        made = copy(self)
        made._as = [("Impersonate-User", user), *(("Impersonate-Group", each) for each in groups)]  # noqa: SLF001 - its own
        return made

    def send(self, request: Request, namespace: str | None = None) -> httpx2.Response:
        """The answer to a request, whichever it is."""
        place = self.resource(request.kind).path(request.namespace or namespace, request.name)
        return self._ask(
            request.method,
            f"{place}/{request.sub}" if request.sub else place,
            params=dict(request.query),
            headers={"Content-Type": request.media},
            content=json.dumps(request.body) if request.body else None,
        )

    def may(self, verb: str, what: str, namespace: str = "default", *, sub: str = "") -> bool:
        """Whether the user may do something to a kind, or to one object: `kind/name`."""
        kind, _, name = what.partition("/")
        found = self.resource(kind)
        asked = {"verb": verb, "group": found.group, "resource": found.plural, "name": name}
        asked |= {"subresource": sub}
        if found.namespaced and namespace:
            asked["namespace"] = namespace
        return bool(
            self.post(_REVIEWS, {"spec": {"resourceAttributes": asked}})["status"]["allowed"]
        )

    def get(self, kind: str, name: str, namespace: str | None = None) -> Thing | None:
        """An object; None where it is not there."""
        answer = self._ask("GET", self.resource(kind).path(namespace, name))
        return None if answer.status_code == _NOT_FOUND else checked(answer)

    def list(
        self, kind: str, namespace: str | None = None, *, labels: str = "", fields: str = ""
    ) -> list[Thing]:
        """The objects of a kind, or of several with commas between them, as kubectl takes them."""
        query = {"labelSelector": labels, "fieldSelector": fields}
        return [
            {"apiVersion": resource.api_version, "kind": resource.kind} | item
            for resource in map(self.resource, kind.split(","))
            for item in checked(self._ask("GET", resource.path(namespace), params=query))["items"]
        ]

    def apply(self, manifest: Thing) -> Thing:
        """Apply a manifest as kubectl does on the server's side."""
        found = self._of(manifest)
        metadata = manifest["metadata"]
        answer = self._ask(
            "PATCH",
            found.path(metadata.get("namespace"), metadata["name"]),
            params={"fieldManager": "kubectl"},
            headers={"Content-Type": _APPLY},
            content=json.dumps(manifest),
        )
        return checked(answer)

    def create(self, manifest: Thing) -> Thing:
        """Make an object."""
        path = self._of(manifest).path(manifest["metadata"].get("namespace"))
        return checked(self._ask("POST", path, json=manifest))

    def post(self, path: str, manifest: Thing) -> Thing:
        """Send a manifest to a path that is not an object's own, such as a pod's eviction."""
        return checked(self._ask("POST", path, json=manifest))

    def patch(
        self, kind: str, name: str, change: Thing, namespace: str | None = None, sub: str = ""
    ) -> Thing:
        """Merge a change into an object, or into a subresource such as its `status`."""
        path = self.resource(kind).path(namespace, name) + (f"/{sub}" if sub else "")
        headers = {"Content-Type": "application/merge-patch+json"}
        return checked(self._ask("PATCH", path, headers=headers, content=json.dumps(change)))

    def delete(self, kind: str, name: str, namespace: str | None = None) -> None:
        """Delete an object, if it is there; what it owns goes after it."""
        answer = self._ask(
            "DELETE",
            self.resource(kind).path(namespace, name),
            json={"propagationPolicy": "Background"},
        )
        if answer.status_code != _NOT_FOUND:
            checked(answer)

    def watch(
        self, kind: str, namespace: str | None, seconds: float, *, fields: str = ""
    ) -> Iterator[tuple[str, Thing]]:
        """What happens to the objects of a kind, until the time is up: a type and the object each.

        It begins with what there is. An API server that goes away is asked again when it is back,
        and begins anew.
        """
        path, until = self.resource(kind).path(namespace), time.monotonic() + seconds
        query = {"watch": "true", "fieldSelector": fields}
        while (left := until - time.monotonic()) > 0:
            query["timeoutSeconds"] = str(max(1, round(left)))
            try:
                with self._http.stream("GET", path, params=query) as answer:
                    for line in answer.iter_lines():
                        event = json.loads(line)
                        # What has no type is a refusal, as from one that has just started.
                        if event.get("type") in _EVENTS:
                            yield event["type"], event["object"]
            except httpx2.TransportError:
                pass
            time.sleep(0.1)

    def follow(
        self,
        kind: str,
        name: str,
        namespace: str,
        true: Callable[[Thing], bool],
        seconds: float,
    ) -> bool:
        """Watch an object until something is true of it; whether it came to be so in time."""
        events = self.watch(kind, namespace, seconds, fields=f"metadata.name={name}")
        return any(event != "DELETED" and true(found) for event, found in events)

    def resource(self, kind: str) -> Resource:
        """Where the objects of a kind are, by any name that kubectl takes for it.

        What has been installed in the meantime is found by asking again.
        """
        if kind not in self._resources:
            self._discover()
        if kind not in self._resources:
            pytest.fail(f"the API server has no kind `{kind}`")
        return self._resources[kind]

    def _ask(self, method: str, path: str, **fields: Any) -> httpx2.Response:
        headers = [*self._as, *fields.pop("headers", {}).items()]
        try:
            return self._http.request(method, path, headers=headers, **fields)
        except httpx2.TransportError as error:
            pytest.fail(f"{method} {path}: {error}")

    def _of(self, manifest: Thing) -> Resource:
        return self.resource(kind_of(manifest))

    def _discover(self) -> None:
        for root in ("/api", "/apis"):
            answer = checked(self._ask("GET", root, headers={"Accept": _DISCOVERY}))
            for group in answer["items"]:
                name, version = group["metadata"].get("name", ""), group["versions"][0]
                prefix = f"{root}/{name}" if name else root
                # Of a server beside the API server that does not answer, nothing is known.
                for found in version.get("resources", []):
                    self._learn(found, name, f"{prefix}/{version['version']}")

    def _learn(self, found: Thing, group: str, prefix: str) -> None:
        if "responseKind" not in found:
            return
        kind, plural = found["responseKind"]["kind"], found["resource"]
        namespaced = found["scope"] == "Namespaced"
        made = Resource(prefix, plural, group, kind, namespaced)
        names = {plural, found.get("singularResource", ""), kind.lower()}
        for name in names | set(found.get("shortNames", [])):
            # The core group comes first and keeps what others are called, too.
            self._resources.setdefault(name, made)
            if group:
                self._resources[f"{name}.{group}"] = made


def connect(kubeconfig: Path) -> httpx2.Client:
    """Connections to the API server of a kubeconfig, as its user."""
    config = yaml.safe_load(kubeconfig.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    tls = ssl.create_default_context(
        cadata=_content(cluster, "certificate-authority", kubeconfig).decode()
    )
    headers = {}
    if "token" in user:
        headers["Authorization"] = f"Bearer {user['token']}"
    else:
        _present(tls, user, kubeconfig)
    return httpx2.Client(
        base_url=cluster["server"],
        headers=headers,
        timeout=httpx2.Timeout(30, read=60),
        transport=httpx2.HTTPTransport(verify=tls, retries=2, trust_env=False),
    )


def objection(answer: httpx2.Response) -> str:
    """What the API server says against a request, as kubectl shows it; empty if it does it."""
    if not answer.is_error:
        return ""
    try:
        said = answer.json()
    except ValueError:
        return f"Error from server ({answer.status_code}): {answer.text}"
    return (
        f"Error from server ({said.get('reason', answer.status_code)}): {said.get('message', '')}"
    )


def checked(answer: httpx2.Response) -> Thing:
    """The object of an answer; a refusal fails the test."""
    if answer.is_error:
        pytest.fail(f"{answer.request.method} {answer.request.url}: {objection(answer)}")
    found: Thing = answer.json()
    return found


def _content(entry: Thing, name: str, kubeconfig: Path) -> bytes:
    """What a kubeconfig's entry holds itself, or names a file for."""
    if f"{name}-data" in entry:
        return base64.b64decode(str(entry[f"{name}-data"]))
    return (kubeconfig.parent / str(entry[name])).read_bytes()


def _present(tls: ssl.SSLContext, user: Thing, kubeconfig: Path) -> None:
    """Have a connection show the user's certificate: Python reads it from files alone."""
    pair = (_content(user, f"client-{name}", kubeconfig) for name in ("certificate", "key"))
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"\n".join(pair))
        file.flush()
        tls.load_cert_chain(file.name)
