"""What the agent asks of the API server."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from devctl.agents import api_server
from devctl.agents.api_server import ApiError
from devctl_gpu_worker_agent.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["ApiError", "ApiServer"]

_PAGE = 50
"""Pods that are read at once: all of a node's may be many megabytes."""
_SLICES = "/apis/resource.k8s.io/v1/resourceslices"
_DRIVER = "canhazgpu.com"


class ApiServer(api_server.ApiServer):
    """The cluster's API server, as the agent uses it."""

    agent = "devctl-gpu-worker-agent"

    def node(self, name: str) -> dict[str, Any]:
        """A Node.

        Raises:
            ApiError: It is not known.
        """
        return self._found(f"/api/v1/nodes/{name}")

    def pods(self, node: str) -> Iterator[dict[str, Any]]:
        """The pods of a Node.

        Raises:
            ApiError: They are not known.
        """
        asked = {"fieldSelector": f"spec.nodeName={node}", "limit": str(_PAGE)}
        while True:
            page = self._found(f"/api/v1/pods?{urlencode(asked)}")
            yield from page.get("items") or ()
            following = (page.get("metadata") or {}).get("continue")
            if not following:
                return
            asked["continue"] = following

    def slices(self, node: str) -> list[dict[str, Any]]:
        """A Node's ResourceSlices of the driver canhazgpu.com; none in a cluster without the kind.

        Raises:
            ApiError: They are not known.
        """
        selected = f"spec.driver={_DRIVER},spec.nodeName={node}"
        code, answer = self.ask("GET", f"{_SLICES}?{urlencode({'fieldSelector': selected})}")
        if code == HTTPStatus.NOT_FOUND:
            return []
        return list(_accepted(code, answer).get("items") or ())

    def _found(self, path: str) -> dict[str, Any]:
        return _accepted(*self.ask("GET", path))


def _accepted(code: int, answer: Any) -> dict[str, Any]:
    if code == HTTPStatus.OK and isinstance(answer, dict):
        return answer
    said: Mapping[str, Any] = answer if isinstance(answer, dict) else {"message": answer}
    raise ApiError(f"the API server: HTTP {code}: {clean(str(said.get('message', '')), 512)}")
