"""The requests of a run, on the official client.

Only GET, LIST, PATCH and DELETE: the operator's proxy adds an owner reference of its own to
whatever is made by POST, data among it, and a second one to what already has ours.
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

# Seconds to connect and to wait for an answer. Admission may take its time, a run may not.
_TIMEOUT = (3, 10)
# etcd's first write has 2. An apply that names it is refused where there is an object; where there
# is none, it makes one.
_NO_OBJECTS = "1"
# The client would write what is applied as JSON, which is not always YAML: with a parameter in the
# type it sends a text as it is. The server does not look at that.
_APPLY = "application/apply-patch+yaml; charset=utf-8"


@dataclass
class Cluster:
    """A cluster, seen from one namespace by one field manager.

    Attributes:
        client: The official client, from `apply.server.connection`.
        namespace: Where lists look; empty for everywhere.
        field_manager: The name under which the server records what is ours.
        dry_run: Ask the server what it would do, and write nothing.
        retry: The pauses that the whole run may make.
    """

    client: ApiClient
    namespace: str
    field_manager: str
    dry_run: bool = False
    retry: Retry = field(default_factory=Retry)
    _found: dict[Kind, tuple[str, bool]] = field(default_factory=dict, init=False)

    @property
    def host(self) -> str:
        """Who answers."""
        return str(self.client.configuration.host)

    @property
    def proxied(self) -> bool:
        """Whether the operator's proxy answers: plain HTTP, to the same pod."""
        return self.host.startswith("http://")

    def list(
        self,
        kind: Kind,
        labels: Mapping[str, str],
        *,
        everywhere: bool = False,
        cached: bool = True,
    ) -> list[Manifest]:
        """Every object of a kind that carries all the labels.

        Args:
            kind: The kind.
            labels: The labels.
            everywhere: Look in all namespaces.
            cached: Whether what was so a moment ago will do.
        """
        # The operator's proxy answers what asks for equality from its cache, and nothing else.
        form = "{}={}" if cached else "{} in ({})"
        selector = ",".join(form.format(*pair) for pair in labels.items()) or None
        path = self._path(kind, "" if everywhere else self.namespace)
        found = self._ask(f"{kind.kind} list", "GET", path, query={"labelSelector": selector})
        # Items of a list come without what the list says once.
        heading = {"apiVersion": kind.api_version, "kind": kind.kind}
        return [item | heading for item in found.get("items") or []]

    def get(self, key: Key) -> Manifest | None:
        """One object, if it exists."""
        try:
            return self._ask(str(key), "GET", self._path_of(key))
        except NotFoundError:
            return None

    def is_cached(self, key: Key) -> bool:
        """Whether the operator's proxy answers for an object from its cache.

        It then watches the object's kind for its owner, if it did not before.
        """
        try:
            answer = self._request("GET", self._path_of(key))
        except (ApiException, HTTPError, OSError):
            return False
        return bool(answer.headers.get("X-Cache") == "HIT")

    def make(self, manifest: Manifest) -> Manifest:
        """Server-side apply of what is not there, and of nothing that somebody makes meanwhile.

        Raises:
            StaleReadError: It is there by now.
            ApplyError: The server refused it, or cannot be reached.
        """
        metadata = manifest["metadata"] | {"resourceVersion": _NO_OBJECTS}
        try:
            return self.apply(manifest | {"metadata": metadata})
        except FieldConflictError as conflict:  # of the two refusals the one that comes first
            raise StaleReadError(str(conflict)) from conflict

    def apply(self, manifest: Manifest, *, force: bool = False) -> Manifest:
        """Server-side apply; returns the object as it is now.

        Args:
            manifest: With metadata.uid, only that very object is changed, and none is made.
            force: Take fields over from other managers.

        Raises:
            FieldConflictError: Other managers hold fields of it, and `force` is not set.
            StaleReadError: The object is no longer what was read.
            ApplyError: The server refused it, or cannot be reached.
        """
        return self._apply(manifest, self.field_manager, force=force)

    def apply_status(self, status: Manifest, manager: str) -> None:
        """Server-side apply of an object's status alone, under a manager of its own.

        Args:
            status: With apiVersion, kind, metadata.name, metadata.uid and status.
            manager: Who writes these fields.

        Raises:
            StaleReadError: The object is no longer what was read.
            ApplyError: The server refused it, or cannot be reached.
        """
        # The fields are this manager's alone; whoever else wrote them was wrong.
        self._apply(status, manager, "/status", force=True)

    def delete(self, thing: Mapping[str, Any]) -> None:
        """Delete exactly the object that was read; one that is gone already is fine.

        Raises:
            StaleReadError: The object is no longer what was read.
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
            # In here: with a body, the server does not look at the query.
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
                "fieldValidation": "Strict",  # a misspelt field is an error, not silence
                "force": "true" if force else None,
                "dryRun": "All" if self.dry_run else None,
            },
            body=to_yaml(manifest).encode("ascii"),
            content_type=_APPLY,
        )

    def _path_of(self, key: Key) -> str:
        """The path of an object.

        Raises:
            ApplyError: It has a namespace and its kind has none, or the other way round.
        """
        _, namespaced = self._collection(key.kind)
        if namespaced and not key.namespace:
            raise ApplyError(Reason.INVALID, f"{key} lacks a namespace, and so does its owner")
        if key.namespace and not namespaced:
            message = f"{key} is of a kind without namespaces, which no object in one can own"
            raise ApplyError(Reason.INVALID, message)
        return f"{self._path(key.kind, key.namespace)}/{key.name}"

    def _path(self, kind: Kind, namespace: str) -> str:
        """The path of a kind's objects, those of one namespace or all of them."""
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
        """One request, again while the fault is a passing one and the run has time left.

        Again is safe: an apply that got through changes nothing the second time, and a delete
        names the UID.
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
                failure = ApplyError(Reason.UNAVAILABLE, f"{subject}: no answer: {error}")
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
