"""The requests of a run, on the official client.

Only GET, LIST, PATCH and DELETE: the operator's proxy adds its own owner reference to everything
created by POST, even to data, and a second one to objects that already have ours.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kubernetes.client import ApiClient
from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import HTTPError

from apply.errors import ApplyError, FieldConflictError, NotFoundError, StaleReadError
from apply.manifests import Key, Kind, Manifest, key_of, to_yaml
from apply.server import kinds
from apply.server.refusals import is_passing, retry_after, translate
from apply.server.retry import Retry
from devctl.api.applied import Reason

# Seconds to connect, and to wait for a response. Admission may be slow, but a run must not be.
_TIMEOUT = (3, 10)
# No object has this version: etcd's first write has 2. An apply with it creates a missing object,
# but is refused for an existing one.
_NO_OBJECTS = "1"
# The client would encode the body as JSON, which is not always YAML. With a parameter in the type,
# which the server ignores, it sends a string unchanged.
_APPLY = "application/apply-patch+yaml; charset=utf-8"


@dataclass
class Cluster:
    """A cluster, seen from one namespace by one field manager.

    Attributes:
        client: The official client, from `apply.server.connection`.
        namespace: The namespace of lists; empty for all namespaces.
        field_manager: The name under which the server records our fields.
        dry_run: Ask the server what it would do, and write nothing.
        retry: The retries of the whole run.
    """

    client: ApiClient
    namespace: str
    field_manager: str
    dry_run: bool = False
    retry: Retry = field(default_factory=Retry)
    _found: dict[Kind, tuple[str, bool]] = field(default_factory=dict, init=False)

    @property
    def host(self) -> str:
        """The URL of the API server, or of the operator's proxy."""
        return str(self.client.configuration.host)

    @property
    def proxied(self) -> bool:
        """Whether this is the operator's proxy: plain HTTP within the pod."""
        return self.host.startswith("http://")

    def list(
        self,
        kind: Kind,
        labels: Mapping[str, str],
        *,
        everywhere: bool = False,
        namespace: str = "",
        cached: bool = True,
    ) -> list[Manifest]:
        """Every object of a kind that has all the labels.

        Args:
            kind: The kind.
            labels: The labels.
            everywhere: List all namespaces.
            namespace: List this namespace instead of the cluster's own.
            cached: Whether a slightly outdated result is acceptable.
        """
        # The operator's proxy answers only equality selectors from its cache.
        form = "{}={}" if cached else "{} in ({})"
        selector = ",".join(form.format(*pair) for pair in labels.items()) or None
        path = self._path(kind, "" if everywhere else namespace or self.namespace)
        found = self._ask(f"{kind.kind} list", "GET", path, query={"labelSelector": selector})
        # The items of a list lack apiVersion and kind.
        heading = {"apiVersion": kind.api_version, "kind": kind.kind}
        return [item | heading for item in found.get("items") or []]

    def get(self, key: Key) -> Manifest | None:
        """One object, if it exists."""
        try:
            return self._ask(str(key), "GET", self._path_of(key))
        except NotFoundError:
            return None

    def is_cached(self, key: Key) -> bool:
        """Whether the operator's proxy answers a GET of the object from its cache.

        It then watches the object's kind for its owner, if it did not before.
        """
        try:
            answer = self._request("GET", self._path_of(key))
        except (ApiException, HTTPError, OSError):
            return False
        return bool(answer.headers.get("X-Cache") == "HIT")

    def make(self, manifest: Manifest) -> Manifest:
        """Server-side apply of a missing object; never changes one that was created meanwhile.

        Raises:
            StaleReadError: It exists by now.
            ApplyError: The server refused it, or cannot be reached.
        """
        metadata = manifest["metadata"] | {"resourceVersion": _NO_OBJECTS}
        try:
            return self.apply(manifest | {"metadata": metadata})
        except FieldConflictError as conflict:  # the server checks this before the version
            raise StaleReadError(str(conflict)) from conflict

    def apply(self, manifest: Manifest, *, force: bool = False) -> Manifest:
        """Server-side apply; returns the object as it is now.

        Args:
            manifest: With metadata.uid, only exactly that object is changed, and none is created.
            force: Take over fields from other managers.

        Raises:
            FieldConflictError: Other managers hold some of its fields, and `force` is not set.
            StaleReadError: The object has changed since it was read.
            ApplyError: The server refused it, or cannot be reached.
        """
        return self._apply(manifest, self.field_manager, force=force)

    def apply_status(self, status: Manifest, manager: str) -> None:
        """Server-side apply of only an object's status, under a separate field manager.

        Args:
            status: With apiVersion, kind, metadata.name, metadata.uid and status.
            manager: The field manager.

        Raises:
            StaleReadError: The object has changed since it was read.
            ApplyError: The server refused it, or cannot be reached.
        """
        # No other manager may own these fields.
        self._apply(status, manager, "/status", force=True)

    def delete(self, thing: Mapping[str, Any]) -> None:
        """Delete exactly the object that was read; does nothing if it is gone already.

        Raises:
            StaleReadError: The object has changed since it was read.
            ApplyError: The server refused it, or cannot be reached.
        """
        key, metadata = key_of(thing), thing["metadata"]
        options: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Background",  # Jobs would orphan their pods otherwise
            "preconditions": {name: metadata[name] for name in ("uid", "resourceVersion")},
        }
        if self.dry_run:
            # In the body: if there is one, the server ignores the query.
            options["dryRun"] = ["All"]
        try:
            self._ask(str(key), "DELETE", self._path_of(key), body=options)
        except NotFoundError:
            return

    def _apply(self, manifest: Manifest, manager: str, part: str = "", *, force: bool) -> Manifest:
        key = key_of(manifest)
        return self._ask(
            str(key),
            "PATCH",
            self._path_of(key) + part,
            query={
                "fieldManager": manager,
                "fieldValidation": "Strict",  # a misspelt field is an error
                "force": "true" if force else None,
                "dryRun": "All" if self.dry_run else None,
            },
            body=to_yaml(manifest).encode("ascii"),
            content_type=_APPLY,
        )

    def _path_of(self, key: Key) -> str:
        """The path of an object.

        Raises:
            ApplyError: It has a namespace although its kind is cluster-scoped, or vice versa.
        """
        _, namespaced = self._collection(key.kind)
        if namespaced and not key.namespace:
            raise ApplyError(Reason.INVALID, f"{key} needs a namespace, since its owner has none")
        if key.namespace and not namespaced:
            message = f"{key} is cluster-scoped: it can have no namespace and no namespaced owner"
            raise ApplyError(Reason.INVALID, message)
        return f"{self._path(key.kind, key.namespace)}/{key.name}"

    def _path(self, kind: Kind, namespace: str) -> str:
        """The path of a kind's objects, in one namespace or in all."""
        plural, namespaced = self._collection(kind)
        place = f"/namespaces/{namespace}" if namespaced and namespace else ""
        return f"{kinds.prefix(kind)}{place}/{plural}"

    def _collection(self, kind: Kind) -> tuple[str, bool]:
        known = kinds.KNOWN.get(kind) or self._found.get(kind)
        if not known:
            known = kinds.discover(kind, lambda path: self._ask(path, "GET", path))
            self._found[kind] = known
        return known

    def _ask(self, subject: str, method: str, path: str, **request: Any) -> Manifest:
        """One request, repeated while its error is transient and the run has time left.

        Repeating is safe: a second apply changes nothing, and a delete carries the UID.
        """
        attempt = 0
        while True:
            wait = 0.0
            try:
                found: Manifest = json.loads(self._request(method, path, **request).data)
            except ApiException as error:
                if not is_passing(error):
                    raise translate(subject, error) from error
                failure, wait = translate(subject, error), retry_after(error)
            except (HTTPError, OSError, ValueError) as error:
                failure = ApplyError(Reason.UNAVAILABLE, f"{subject}: no response: {error}")
            else:
                return found
            if not self.retry.pause(attempt, wait):
                raise failure
            attempt += 1

    def _request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str | None] | None = None,
        body: Any = None,
        content_type: str = "application/json",
    ) -> Any:
        return self.client.call_api(
            path,
            method,
            {},
            [(name, value) for name, value in (query or {}).items() if value],
            {"Accept": "application/json", "Content-Type": content_type},
            body=body,
            auth_settings=["BearerToken"],
            _preload_content=False,
            _return_http_data_only=True,
            _request_timeout=_TIMEOUT,
        )
