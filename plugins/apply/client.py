"""The requests of a run, on the official client's dynamic API.

Only GET, LIST, PATCH and DELETE: the operator's proxy adds an owner reference of its own to
whatever is made by POST, data among it, and a second one to what already has ours.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import HTTPError

from apply import resources, yaml_text
from apply.api_errors import is_passing, retry_after, translate
from apply.errors import ApplyError, FieldConflictError, NotFoundError, StaleReadError
from apply.manifests import Key, Kind, Manifest, key_of
from apply.retry import Retry
from devctl.api.applied import Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kubernetes.dynamic import DynamicClient
    from kubernetes.dynamic.resource import Resource

# Seconds to connect and to wait for an answer. Admission may take its time, a run may not.
_TIMEOUT = (3, 10)
# etcd's first write has 2. An apply that names it is refused where there is an object; where there
# is none, it makes one.
_NO_OBJECTS = "1"


@dataclass
class Cluster:
    """A cluster, seen from one namespace by one field manager.

    Attributes:
        client: The official dynamic client, from `apply.connection`.
        namespace: Where lists look; empty for everywhere.
        field_manager: The name under which the server records what is ours.
        dry_run: Ask the server what it would do, and write nothing.
        retry: The pauses that the whole run may make.
    """

    client: DynamicClient
    namespace: str
    field_manager: str
    dry_run: bool = False
    retry: Retry = field(default_factory=Retry)
    _handles: dict[Kind, Resource] = field(default_factory=dict, init=False)

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
        handle = self._handle(kind)
        namespace = "" if everywhere else self.namespace
        found = self._ask(
            f"{kind.kind} list", handle.get, label_selector=selector, namespace=namespace
        )
        # Items of a list come without what the list says once.
        heading = {"apiVersion": kind.api_version, "kind": kind.kind}
        return [item | heading for item in found.get("items") or []]

    def get(self, key: Key) -> Manifest | None:
        """One object, if it exists."""
        try:
            return self._ask(str(key), self._at(key).get, name=key.name, namespace=key.namespace)
        except NotFoundError:
            return None

    def is_cached(self, key: Key) -> bool:
        """Whether the operator's proxy answers for an object from its cache.

        It then watches the object's kind for its owner, if it did not before.
        """
        try:
            answer = self._handle(key.kind).get(
                name=key.name,
                namespace=key.namespace,
                serialize=False,
                _request_timeout=_TIMEOUT,
            )
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
        key = key_of(manifest)
        return self._ask(
            str(key),
            # Not `server_side_apply`, whose JSON is no YAML (yaml_text says why). The parameter in
            # the type makes the client send the text as it is; the server does not look at it.
            self._at(key).patch,
            name=key.name,
            namespace=key.namespace,
            body=yaml_text.dump(manifest),
            content_type="application/apply-patch+yaml; charset=utf-8",
            field_manager=self.field_manager,
            force_conflicts="true" if force else None,
            # A misspelt field is an error, not silence.
            query_params=[("fieldValidation", "Strict")],
            dry_run="All" if self.dry_run else None,
        )

    def apply_status(self, status: Manifest, manager: str) -> None:
        """Server-side apply of an object's status alone, under a manager of its own.

        Args:
            status: With apiVersion, kind, metadata.name, metadata.uid and status.
            manager: Who writes these fields.

        Raises:
            StaleReadError: The object is no longer what was read.
            ApplyError: The server refused it, or cannot be reached.
        """
        key = key_of(status)
        path = self._at(key).path(key.name, key.namespace)
        self._ask(
            str(key),
            lambda **options: self.client.request("patch", f"{path}/status", **options),
            body=yaml_text.dump(status),
            content_type="application/apply-patch+yaml; charset=utf-8",
            field_manager=manager,
            # The fields are this manager's alone; whoever else wrote them was wrong.
            force_conflicts="true",
            dry_run="All" if self.dry_run else None,
        )

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
            "preconditions": {
                "uid": metadata["uid"],
                "resourceVersion": metadata["resourceVersion"],
            },
        }
        if self.dry_run:
            # In here: with a body, the server does not look at the query.
            options["dryRun"] = ["All"]
        try:
            handle = self._at(key)
            self._ask(str(key), handle.delete, name=key.name, namespace=key.namespace, body=options)
        except NotFoundError:
            return

    def _at(self, key: Key) -> Resource:
        """The handle of an object's kind.

        Raises:
            ApplyError: It has a namespace and its kind has none, or the other way round.
        """
        handle = self._handle(key.kind)
        if handle.namespaced and not key.namespace:
            raise ApplyError(Reason.INVALID, f"{key} lacks a namespace, and so does its owner")
        if key.namespace and not handle.namespaced:
            message = f"{key} is of a kind without namespaces, which no object in one can own"
            raise ApplyError(Reason.INVALID, message)
        return handle

    def _handle(self, kind: Kind) -> Resource:
        if kind not in self._handles:
            self._handles[kind] = resources.find(kind, self._read_path, self.client)
        return self._handles[kind]

    def _read_path(self, path: str) -> Manifest:
        return self._ask(path, lambda **options: self.client.request("get", path, **options))

    def _ask(self, subject: str, call: Callable[..., Any], **options: Any) -> Manifest:
        """One request, again while the fault is a passing one and the run has time left.

        Again is safe: an apply that got through changes nothing the second time, and a delete
        names the UID.
        """
        attempt = 0
        while True:
            wait = 0.0
            try:
                # The client extends query parameters in place: each attempt gets its own list.
                fresh = {name: list(v) if isinstance(v, list) else v for name, v in options.items()}
                answer = call(serialize=False, _request_timeout=_TIMEOUT, **fresh)
                found: Manifest = json.loads(answer.data)
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
