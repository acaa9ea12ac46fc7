"""Lists and watches of one kind, as the API server gives them."""

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
"""Seconds after which the API server ends a watch, which is then taken up where it ended."""
SILENCE = 55.0
"""Seconds without a byte after which a connection counts as dead: a live one has ended by then."""


class Source:
    """Where a Reflector's objects come from.

    lightkube's own watch asks for no bookmarks. Without them the version from which a quiet watch
    is taken up again grows old, until all has to be listed anew.
    """

    def __init__(self, client: AsyncClient) -> None:
        """Connect nothing yet."""
        self._client = client
        # A watch for each kind is open all the time, so the pool must hold them all.
        self._http = client_adapter.AsyncClient(
            client.config, client_adapter.ConnectionParams(timeout=httpx2.Timeout(10, read=SILENCE))
        )

    def list(self, kind: Any, selectors: Mapping[str, Any]) -> Any:
        """All objects; the answer knows its `resourceVersion` once it was read."""
        where: dict[str, Any] = {"namespace": "*"} if issubclass(kind, NamespacedResource) else {}
        return self._client.list(kind, chunk_size=500, **where, **selectors)

    async def watch(
        self, kind: Any, version: str, selectors: Mapping[str, Any]
    ) -> AsyncIterator[tuple[str, Any]]:
        """Each change since a version, for ever: what happened, and the object.

        Raises:
            httpx2.HTTPError: The connection is dead, or the version is too old: list again.
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
                        # An empty object, that none of the kinds' classes would take.
                        mark = msgspec.json.decode(event.object)
                        version = mark["metadata"]["resourceVersion"]
                        continue
                    obj = decoders.decode_object(event.object, kind)
                    version = obj.metadata.resourceVersion
                    yield event.type, obj


def path_of(kind: Any, namespace: str = "") -> str:
    """Where the objects of a kind are: all of them, or those of a namespace."""
    info = api_info(kind)
    root = "apis" if info.resource.group else "api"
    where = f"namespaces/{namespace}/" if namespace else ""
    return f"{root}/{info.resource.api_version}/{where}{info.plural}"
