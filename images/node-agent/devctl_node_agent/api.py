"""The one request that the agent makes: a report to the API server."""

from __future__ import annotations

import http.client
import json
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from devctl.api.node_activity import AGENT, API_VERSION, PLURAL
from devctl_node_agent.schedule import Answer
from devctl_node_agent.text import clean, decode

if TYPE_CHECKING:
    from collections.abc import Mapping

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_TIMEOUT = 10.0
_MAX_ANSWER = 8 << 20


class ReportError(Exception):
    """A report was not accepted.

    Attributes:
        answer: What it means for the next one.
    """

    def __init__(self, message: str, answer: Answer = Answer.FAILED) -> None:
        """Say why."""
        super().__init__(message)
        self.answer = answer


class ApiServer:
    """The cluster's API server.

    Args:
        host: Its name or address.
        port: Its port.
        account: The folder with the account's token and the cluster's CA, which both rotate.
    """

    def __init__(self, host: str, port: int, account: Path = ACCOUNT) -> None:
        """Connect to nothing yet."""
        self._host, self._port, self._account = host, port, account

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> ApiServer:
        """The server that the kubelet names.

        Raises:
            KeyError: It names none.
            ValueError: The port is not a number.
        """
        return cls(
            environment["KUBERNETES_SERVICE_HOST"],
            int(environment["KUBERNETES_SERVICE_PORT"]),
        )

    def report(self, node: str, status: Mapping[str, Any]) -> Any:
        """Write the status of a node's NodeActivity; the object as it is then.

        Raises:
            ReportError: It was not written, as far as is known.
        """
        path = f"/apis/{API_VERSION}/{PLURAL}/{quote(node, safe='')}/status?fieldManager={AGENT}"
        body = json.dumps({"status": status}, separators=(",", ":")).encode()
        try:
            token = (self._account / "token").read_text().strip()
            code, data = self._patch(path, body, token)
            answer = json.loads(data) if code == http.client.OK else None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise ReportError(f"{type(error).__name__}: {error}") from error
        if code == http.client.NOT_FOUND:
            raise ReportError("the observer has not created it yet", Answer.ABSENT)
        if answer is None:
            raise ReportError(f"HTTP {code}: {clean(_message(data), 512)}")
        return answer

    def _patch(self, path: str, body: bytes, token: str) -> tuple[int, bytes]:
        # A new context each time, since the CA may have changed. It is not Python's default one,
        # which refuses CAs without key identifiers; older clusters have such.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(self._account / "ca.crt")
        connection = http.client.HTTPSConnection(
            self._host, self._port, timeout=_TIMEOUT, context=context
        )
        try:
            headers = {
                "Authorization": f"Bearer {token}",
                "Content-Type": "application/merge-patch+json",
                "Accept": "application/json",
                "User-Agent": AGENT,
            }
            connection.request("PATCH", path, body, headers)
            response = connection.getresponse()
            data = response.read(_MAX_ANSWER)
        finally:
            connection.close()
        return response.status, data


def _message(data: bytes) -> str:
    """What a Status object says, or the start of whatever else came."""
    try:
        answer = json.loads(data)
    except ValueError:
        answer = None
    found = answer.get("message") if isinstance(answer, dict) else None
    return found if isinstance(found, str) else decode(data[:512])
