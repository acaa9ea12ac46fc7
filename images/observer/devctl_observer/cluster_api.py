"""The few requests that change something."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from lightkube import ApiError
from lightkube.config import client_adapter
from lightkube.models.core_v1 import EventSource, ObjectReference
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import Event

from devctl.api.labels import GROUP, VERSION, WAKE
from devctl_observer import kinds
from devctl_observer.model import parse_server
from devctl_observer.timestamps import utc_now

if TYPE_CHECKING:
    from datetime import datetime

    from lightkube import AsyncClient

    from devctl_observer.model import Meta, Server
    from devctl_observer.transitions import Transition

FIELD_MANAGER = "devctl-observer"
_API_VERSION = f"{GROUP}/{VERSION}"


@dataclass(frozen=True)
class Fresh:
    """A server as it is now, and the API server's own time."""

    server: Server
    clock: datetime


class ClusterApi:
    """Writes status and events, wakes roles, and deletes what has expired.

    Args:
        client: For everything that lightkube has a method for.
    """

    def __init__(self, client: AsyncClient) -> None:
        """Open a second client for what lightkube cannot say: preconditions, the Date header."""
        self._client = client
        self._http = client_adapter.AsyncClient(client.config, client_adapter.ConnectionParams())

    async def apply_status(self, kind: Any, meta: Meta, status: dict[str, Any]) -> dict[str, Any]:
        """Make our part of a status exactly this; returns the object that resulted.

        The UID keeps the status of a deleted object from being written to its successor.
        """
        metadata = {"name": meta.name, "uid": meta.uid}
        body = kind.Status({"apiVersion": _API_VERSION, "kind": kind.__name__, "status": status})
        body["metadata"] = metadata | ({"namespace": meta.namespace} if meta.namespace else {})
        where: Any = {"namespace": meta.namespace} if meta.namespace else {}
        applied: dict[str, Any] = await self._client.apply(
            body, meta.name, field_manager=FIELD_MANAGER, force=True, **where
        )
        return applied

    async def wake(self, server: Server, value: str) -> dict[str, Any]:
        """Annotate a server so that its role runs again; returns the object that resulted.

        The UID keeps a server that was deleted meanwhile from being made anew.
        """
        meta = server.metadata
        body = kinds.DevServer(apiVersion=_API_VERSION, kind="DevServer")
        body["metadata"] = {
            "name": meta.name,
            "namespace": meta.namespace,
            "uid": meta.uid,
            "annotations": {WAKE: value},
        }
        applied: dict[str, Any] = await self._client.apply(
            body, field_manager=FIELD_MANAGER, force=True
        )
        return applied

    async def tell(self, server: Server, version: str, said: Transition) -> None:
        """Post an Event about a server; the same transition gives the same Event."""
        meta, now = server.metadata, utc_now()
        parts = f"{meta.uid}\n{version}\n{said.reason}\n{said.message}"
        digest = hashlib.sha256(parts.encode()).hexdigest()[:16]
        event = Event(
            metadata=ObjectMeta(name=f"{meta.name}.{digest}", namespace=meta.namespace),
            involvedObject=ObjectReference(
                apiVersion=_API_VERSION,
                kind="DevServer",
                name=meta.name,
                namespace=meta.namespace,
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
            await self._client.create(event)
        except ApiError as error:
            # It is there already, or its namespace goes: in neither case is anything to be done.
            if error.status.code not in {HTTPStatus.CONFLICT, HTTPStatus.FORBIDDEN}:
                raise

    async def read(self, server: Server) -> Fresh | None:
        """The server as the API server has it now, past our cache; None where it is gone."""
        answer = await self._http.get(_path(server))
        if answer.status_code == HTTPStatus.NOT_FOUND:
            return None
        answer.raise_for_status()
        clock = parsedate_to_datetime(answer.headers["Date"])
        return Fresh(parse_server(answer.json()), clock)

    async def delete(self, server: Server) -> bool:
        """Delete exactly this version of a server; returns whether it was that one.

        Its children go by their owner references, in the background; its homes have none.
        """
        meta = server.metadata
        body = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "propagationPolicy": "Background",
            "preconditions": {"uid": meta.uid, "resourceVersion": meta.resource_version},
        }
        answer = await self._http.request("DELETE", _path(server), json=body)
        if answer.status_code in {HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT}:
            return False
        answer.raise_for_status()
        return True


def _path(server: Server) -> str:
    meta = server.metadata
    return f"apis/{_API_VERSION}/namespaces/{meta.namespace}/devservers/{meta.name}"
