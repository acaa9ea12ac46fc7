"""The one request that the agent makes: a report to the API server."""

from __future__ import annotations

import http.client
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from devctl.agents import api_server
from devctl.agents.api_server import FAILURES
from devctl.api.node_activity import AGENT, API_VERSION, PLURAL
from devctl_node_agent.schedule import Answer
from devctl_node_agent.text import clean, decode

if TYPE_CHECKING:
    from collections.abc import Mapping


class ReportError(Exception):
    """A report was not accepted.

    Attributes:
        answer: What it means for the next one.
    """

    def __init__(self, message: str, answer: Answer = Answer.FAILED) -> None:
        """Say why."""
        super().__init__(message)
        self.answer = answer


class ApiServer(api_server.ApiServer):
    """The cluster's API server, as the agent uses it."""

    agent = AGENT

    def report(self, node: str, status: Mapping[str, Any]) -> Any:
        """Write the status of a node's NodeActivity; the object as it is then.

        Raises:
            ReportError: It was not written, as far as is known.
        """
        path = f"/apis/{API_VERSION}/{PLURAL}/{quote(node, safe='')}/status?fieldManager={AGENT}"
        try:
            code, data = self.fetch("PATCH", path, {"status": status})
            answer = json.loads(data) if code == http.client.OK else None
        except FAILURES as error:
            raise ReportError(f"{type(error).__name__}: {error}") from error
        if code == http.client.NOT_FOUND:
            raise ReportError("the observer has not created it yet", Answer.ABSENT)
        if answer is None:
            raise ReportError(f"HTTP {code}: {clean(_message(data), 512)}")
        return answer


def _message(data: bytes) -> str:
    """What a Status object says, or the start of whatever else came."""
    try:
        answer = json.loads(data)
    except ValueError:
        answer = None
    found = answer.get("message") if isinstance(answer, dict) else None
    return found if isinstance(found, str) else decode(data[:512])
