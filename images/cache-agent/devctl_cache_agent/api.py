"""What the agent asks of the API server."""

from __future__ import annotations

import http.client
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from devctl.agents import api_server
from devctl.agents.api_server import FAILURES, TIMEOUT, ApiError, unanswered
from devctl.api.node_cache import AGENT, API_VERSION, KIND, PLAN, PLAN_PLURAL, PLURAL
from devctl_cache_agent.text import clean

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ApiError", "ApiServer"]

_PLANS = f"/apis/{API_VERSION}/{PLAN_PLURAL}?fieldSelector=metadata.name%3D{PLAN}"


class ApiServer(api_server.ApiServer):
    """The cluster's API server, as the agent uses it."""

    agent = AGENT

    def node(self, name: str) -> dict[str, Any]:
        """A node.

        Raises:
            ApiError: It is not known.
        """
        return self._accepted(*self.ask("GET", f"/api/v1/nodes/{quote(name, safe='')}"))

    def plan(self) -> tuple[dict[str, Any] | None, str]:
        """The CachePlan, which may not exist, and from where to watch it.

        Raises:
            ApiError: It is not known.
        """
        listed = self._accepted(*self.ask("GET", _PLANS))
        items = listed.get("items") or []
        version = (listed.get("metadata") or {}).get("resourceVersion") or ""
        return (items[0] if items else None), str(version)

    def wait_for_plan(self, version: str, seconds: int) -> None:
        """Come back once the CachePlan changes, or after so many seconds.

        Raises:
            ApiError: Changes cannot be seen.
        """
        path = f"{_PLANS}&watch=true&resourceVersion={quote(version)}&timeoutSeconds={seconds}"
        try:
            with self.answer("GET", path, seconds=seconds + TIMEOUT) as response:
                if response.status != http.client.OK:
                    raise ApiError(f"HTTP {response.status} for a watch")
                # An error is an event as well; the next request for the plan tells.
                response.readline(self.most)
        except FAILURES as error:
            raise unanswered(error) from error

    def report(self, node: Mapping[str, Any], status: Mapping[str, Any]) -> None:
        """Write the status of a node's NodeCacheStatus, and create it if need be.

        Raises:
            ApiError: It was not written, as far as is known.
        """
        metadata = node.get("metadata") or {}
        name = str(metadata.get("name"))
        path = f"/apis/{API_VERSION}/{PLURAL}"
        own = f"{path}/{quote(name, safe='')}/status?fieldManager={AGENT}"
        code, answer = self.ask("PATCH", own, {"status": status})
        if code == http.client.NOT_FOUND:
            owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": metadata.get("uid")}
            made = {
                "apiVersion": API_VERSION,
                "kind": KIND,
                # It goes with its node.
                "metadata": {"name": name, "ownerReferences": [owner]},
            }
            self._accepted(*self.ask("POST", f"{path}?fieldManager={AGENT}", made))
            code, answer = self.ask("PATCH", own, {"status": status})
        self._accepted(code, answer)

    @staticmethod
    def _accepted(code: int, answer: Any) -> dict[str, Any]:
        if code in {http.client.OK, http.client.CREATED} and isinstance(answer, dict):
            return answer
        said = answer.get("message") if isinstance(answer, dict) else answer
        raise ApiError(f"HTTP {code}: {clean(str(said))}")
