"""All write requests, and the reads that must bypass the cache."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Generic, TypeVar, cast

import httpx2
from lightkube import ApiError, AsyncClient
from lightkube.config import client_adapter
from lightkube.models.core_v1 import EventSource, ObjectReference
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import Event

from devctl.api.labels import MANAGER
from devctl_observer.control.counted import counted
from devctl_observer.control.election import LeadershipLostError
from devctl_observer.control.kind import Kind
from devctl_observer.judging.clocks import utc_now
from devctl_observer.judging.model import Meta, Transition

FIELD_MANAGER = "devctl-observer"
_OURS = {"fieldManager": FIELD_MANAGER}

_WITHOUT_NAMESPACE = "default"
"""Where Events about cluster-scoped objects are, as Kubernetes demands (ValidateEventCreate)."""

T = TypeVar("T")


@dataclass(frozen=True)
class Fresh(Generic[T]):
    """An object's current state (None if it does not exist), and the API server's time."""

    item: T | None
    clock: datetime


class ClusterApi:
    """Writes status and Events, wakes roles, stops servers, and deletes expired objects.

    Args:
        client: Used for everything that lightkube supports.
        leads: Whether this process may write. After a freeze it may have lost the lease unnoticed.
    """

    def __init__(self, client: AsyncClient, leads: Callable[[], bool]) -> None:
        """Create a second client for what lightkube lacks: preconditions, the Date header."""
        self._client, self._leads = client, leads
        self.refused: dict[str, str] = {}
        """The API server's refusals to let us write, by kind."""
        self._http = client_adapter.AsyncClient(client.config, client_adapter.ConnectionParams())

    async def apply_status(
        self, kind: Kind[Any], meta: Meta, status: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Set our part of a status to exactly this; returns the resulting object."""
        body = kind.resource.Status(
            {"apiVersion": kind.api_version, "kind": kind.name, "status": dict(status)}
        )
        return await self._apply(kind, body, meta, {})

    async def annotate(
        self, kind: Kind[Any], meta: Meta, annotations: Mapping[str, str]
    ) -> dict[str, Any]:
        """Set our annotations to exactly these; returns the resulting object."""
        body = kind.resource({"apiVersion": kind.api_version, "kind": kind.name})
        return await self._apply(kind, body, meta, {"annotations": dict(annotations)})

    async def wake(self, kind: Kind[Any], meta: Meta, value: str) -> dict[str, Any]:
        """Set the wake annotation, which triggers the role; returns the resulting object."""
        return await self.annotate(kind, meta, {kind.wake: value})

    async def _apply(
        self, kind: Kind[Any], body: Any, meta: Meta, metadata: dict[str, Any]
    ) -> dict[str, Any]:
        """Write to exactly the version of an object that was read.

        The UID keeps the apply from recreating an object that was deleted meanwhile. The version
        keeps its successor from getting its status, because the API server ignores the UID of
        status writes.

        Raises:
            LeadershipLostError: Another process may be the leader.
        """
        self._check()
        where: Any = {"namespace": meta.namespace} if meta.namespace else {}
        read = {"name": meta.name, "uid": meta.uid, "resourceVersion": meta.resource_version}
        body["metadata"] = read | where | metadata
        try:
            with counted():
                applied: dict[str, Any] = await self._client.apply(
                    body, meta.name, field_manager=FIELD_MANAGER, force=True, **where
                )
        except ApiError as error:
            if error.status.code == HTTPStatus.FORBIDDEN:
                self.refused[kind.name] = str(error)
            raise
        self.refused.pop(kind.name, None)
        return applied

    async def tell(self, kind: Kind[Any], meta: Meta, version: str, said: Transition) -> None:
        """Create an Event about an object, only once for the same transition."""
        self._check()
        now = utc_now()
        parts = f"{meta.uid}\n{said.of or version}\n{said.reason}\n{said.message}"
        digest = hashlib.sha256(parts.encode()).hexdigest()[:16]
        event = Event(
            metadata=ObjectMeta(
                name=f"{meta.name}.{digest}", namespace=meta.namespace or _WITHOUT_NAMESPACE
            ),
            involvedObject=ObjectReference(
                apiVersion=kind.api_version,
                kind=kind.name,
                name=meta.name,
                namespace=meta.namespace or None,
                uid=meta.uid,
            ),
            type=said.type,
            reason=said.reason,
            message=said.message[:1024],
            source=EventSource(component=FIELD_MANAGER),
            reportingComponent=FIELD_MANAGER,
            count=1,
            firstTimestamp=now,
            lastTimestamp=now,
        )
        try:
            with counted():
                await self._client.create(event)
        except ApiError as error:
            # It exists already, or its namespace is terminating: neither needs action.
            if error.status.code not in {HTTPStatus.CONFLICT, HTTPStatus.FORBIDDEN}:
                raise

    async def read(self, kind: Kind[T], meta: Meta) -> Fresh[T]:
        """An object as the API server has it now, bypassing our cache."""
        answer = await self._http.get(kind.path(meta))
        gone = answer.status_code == HTTPStatus.NOT_FOUND and _names(answer.json(), meta.name)
        if not gone:
            answer.raise_for_status()
        clock = parsedate_to_datetime(answer.headers["Date"])
        return Fresh(None if gone else kind.parse(answer.json()), clock)

    async def time(self) -> datetime:
        """The API server's time, to the second."""
        answer = await self._http.get("version")
        answer.raise_for_status()
        return parsedate_to_datetime(answer.headers["Date"])

    async def list_now(
        self, resource: Any, namespace: str | None = None, name: str = ""
    ) -> list[Any]:
        """All objects of a kind as the API server has them now, bypassing our cache.

        Args:
            resource: lightkube's class for the kind.
            namespace: Where to look; None for a cluster-scoped kind.
            name: If given, only the object of this name.
        """
        where: Any = {"namespace": namespace} if namespace else {}
        where |= {"fields": {"metadata.name": name}} if name else {}
        return [item async for item in self._client.list(resource, chunk_size=500, **where)]

    async def create(self, kind: Kind[Any], obj: Mapping[str, Any]) -> Mapping[str, Any]:
        """Create an object; returns it.

        Raises:
            ApiError: It exists already, for instance.
        """
        self._check()
        body = {"apiVersion": kind.api_version, "kind": kind.name, **obj}
        with counted():
            made = await self._client.create(kind.resource(body), field_manager=FIELD_MANAGER)
        return cast("Mapping[str, Any]", made)

    async def change(
        self,
        kind: Kind[Any],
        meta: Meta,
        spec: Mapping[str, Any],
        annotations: Mapping[str, str | None] | None = None,
    ) -> bool:
        """Set fields of exactly this version of an object; returns whether it was that one.

        It is a merge patch in the name of devctl's commands, like a user's `devctl stop`: `devctl
        apply` takes such fields over without a conflict.

        Args:
            kind: Its kind.
            meta: The version.
            spec: The fields.
            annotations: Annotations to set; None removes one.
        """
        metadata: dict[str, Any] = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        if annotations:
            metadata["annotations"] = dict(annotations)
        body = {"metadata": metadata, "spec": dict(spec)}
        params = {"fieldManager": MANAGER}
        return await self._exactly("PATCH", kind.path(meta), body, params) is not None

    async def record(
        self, kind: Kind[Any], meta: Meta, spec: Mapping[str, Any]
    ) -> Mapping[str, Any] | None:
        """Set fields of exactly this version of an object that only the observer writes.

        Returns:
            The object with them; None if it was not that version.
        """
        version = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        body = {"metadata": version, "spec": dict(spec)}
        return await self._exactly("PATCH", kind.path(meta), body, _OURS)

    async def label(self, kind: Kind[Any], meta: Meta, labels: Mapping[str, str | None]) -> bool:
        """Set labels that nobody else writes, in whatever version of an object; None removes one.

        Returns:
            Whether it was that very object.
        """
        body = {"metadata": {"uid": meta.uid, "labels": dict(labels)}}
        return await self._exactly("PATCH", kind.path(meta), body, _OURS) is not None

    async def offer(self, kind: Kind[Any], meta: Meta, amounts: Mapping[str, str | None]) -> bool:
        """Set resources of a node that nobody else offers; None removes one.

        Returns:
            Whether there is such a node.
        """
        # The kubelet makes allocatable what is in the capacity, at its next report.
        body = {"status": {"capacity": dict(amounts), "allocatable": dict(amounts)}}
        return await self._exactly("PATCH", f"{kind.path(meta)}/status", body, _OURS) is not None

    async def delete(self, kind: Kind[Any], meta: Meta) -> bool:
        """Delete exactly this version of an object; returns False if it is not the current one.

        Its children are garbage-collected in the background.
        """
        body = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "propagationPolicy": "Background",
            "preconditions": {"uid": meta.uid, "resourceVersion": meta.resource_version},
        }
        return await self._exactly("DELETE", kind.path(meta), body) is not None

    async def _exactly(
        self,
        method: str,
        path: str,
        body: Any,
        params: Mapping[str, str] | None = None,
    ) -> Mapping[str, Any] | None:
        """Send what holds for one version of an object; returns the answer, None if it was not."""
        self._check()
        media = "application/json" if method == "DELETE" else "application/merge-patch+json"
        headers = {"Content-Type": media}
        try:
            with counted():
                answer = await self._http.request(
                    method, path, json=body, headers=headers, params=params
                )
                answer.raise_for_status()
        except httpx2.HTTPStatusError as error:
            if error.response.status_code in {HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT}:
                return None
            raise
        return cast("Mapping[str, Any]", answer.json())

    def _check(self) -> None:
        if not self._leads():
            raise LeadershipLostError("the lease was not renewed in time: refusing to write")


def _names(status: Any, name: str) -> bool:
    """Whether a NotFound is about that object, and not about a kind that is not served yet."""
    if not isinstance(status, dict) or status.get("reason") != "NotFound":
        return False
    return (status.get("details") or {}).get("name") == name
