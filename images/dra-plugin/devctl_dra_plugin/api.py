"""What the plugin asks of the API server."""

from __future__ import annotations

import http.client
from typing import TYPE_CHECKING, Any, Protocol

from devctl.agents import api_server
from devctl.agents.api_server import ApiError
from devctl_dra_plugin.names import AGENT

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Api", "ApiError", "ApiServer"]

_MAX_MESSAGE = 512


class Api(Protocol):
    """What the plugin asks of the API server."""

    def get(self, path: str) -> dict[str, Any] | None:
        """An object or a list; None if it is not there."""

    def create(self, path: str, body: Mapping[str, Any]) -> None:
        """Create an object."""

    def replace(self, path: str, body: Mapping[str, Any]) -> None:
        """Replace an object, if nobody has changed it since it was read."""


class ApiServer(api_server.ApiServer):
    """The cluster's API server, as the plugin uses it."""

    agent = AGENT
    most = 64 << 20

    def get(self, path: str) -> dict[str, Any] | None:
        """An object or a list; None if it is not there.

        Raises:
            ApiError: It is not known.
        """
        code, answer = self.ask("GET", path)
        if code == http.client.NOT_FOUND:
            return None
        return _accepted(code, answer)

    def create(self, path: str, body: Mapping[str, Any]) -> None:
        """Create an object.

        Raises:
            ApiError: It was not created.
        """
        _accepted(*self.ask("POST", f"{path}?fieldManager={AGENT}", body))

    def replace(self, path: str, body: Mapping[str, Any]) -> None:
        """Replace an object, if nobody has changed it since it was read.

        Raises:
            ApiError: It was not replaced.
        """
        _accepted(*self.ask("PUT", f"{path}?fieldManager={AGENT}", body))


def _accepted(code: int, answer: Any) -> dict[str, Any]:
    if code in {http.client.OK, http.client.CREATED} and isinstance(answer, dict):
        return answer
    said = answer.get("message") if isinstance(answer, dict) else answer
    raise ApiError(f"HTTP {code}: {str(said)[:_MAX_MESSAGE]}")
