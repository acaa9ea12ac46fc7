"""Lists and watches of the API server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx2
import msgspec
from lightkube import ApiError, AsyncClient
from lightkube.config import client_adapter
from lightkube.core import decoders
from lightkube.core.resource import NamespacedResource, api_info
from lightkube.core.selector import build_selector

_RENEW = 45
"""Seconds after which the API server ends a watch, which then resumes where it ended."""
SILENCE = 55.0
"""Seconds without data after which a connection counts as dead: a live watch has ended by then."""


class Source:
    """The source of a Reflector's objects.

    lightkube's own watch requests no bookmarks. Without them, the version from which a quiet watch
    resumes expires, and everything has to be listed again.
    """

    def __init__(self, client: AsyncClient) -> None:
        """Set up without connecting yet."""
        self._client = client
        # One watch per kind is always open, so the pool must hold them all.
        self._http = client_adapter.AsyncClient(
            client.config, client_adapter.ConnectionParams(timeout=httpx2.Timeout(10, read=SILENCE))
        )

    def list(self, kind: Any, selectors: Mapping[str, Any]) -> Any:
        """All objects; the result has its `resourceVersion` once it is read."""
        where: dict[str, Any] = {"namespace": "*"} if issubclass(kind, NamespacedResource) else {}
        return self._client.list(kind, chunk_size=500, **where, **selectors)

    async def watch(
        self, kind: Any, version: str, selectors: Mapping[str, Any]
    ) -> AsyncIterator[tuple[str, Any]]:
        """Every change since a version, forever: the event type and the object.

        Raises:
            httpx2.HTTPError: The connection is dead, or the version has expired: list again.
        """
        params = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(_RENEW)}
        if labels := selectors.get("labels"):
            params["labelSelector"] = build_selector(labels)
        if fields := selectors.get("fields"):
            params["fieldSelector"] = build_selector(fields, for_fields=True)
        while True:
            asked = params | {"resourceVersion": version}
            async with self._http.stream("GET", path_of(kind), params=asked) as answer:
                answer.raise_for_status()
                async for line in answer.aiter_lines():
                    event = decoders.decode_watch_event(line.encode())
                    if event.type == "ERROR":
                        raise ApiError(status=decoders.decode_status(event.object))
                    if event.type == "BOOKMARK":
                        # An almost empty object, which the kinds' classes would reject.
                        mark = msgspec.json.decode(event.object)
                        version = mark["metadata"]["resourceVersion"]
                        continue
                    obj = decoders.decode_object(event.object, kind)
                    version = obj.metadata.resourceVersion
                    yield event.type, obj


def path_of(kind: Any, namespace: str = "") -> str:
    """The URL path of a kind's objects: all of them, or those in a namespace."""
    info = api_info(kind)
    root = "apis" if info.resource.group else "api"
    where = f"namespaces/{namespace}/" if namespace else ""
    return f"{root}/{info.resource.api_version}/{where}{info.plural}"
