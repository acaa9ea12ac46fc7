"""Requests to the API server, over plain HTTPS: a whole client would take 125 MiB on every node."""

from __future__ import annotations

import http.client
import json
import ssl
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Self

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
TIMEOUT = 10.0
FAILURES = (OSError, http.client.HTTPException, ValueError)
"""What a request raises that was not answered."""
_MAX_TEXT = 512


class ApiError(Exception):
    """A request that was not done, as far as is known."""


class ApiServer:
    """The cluster's API server.

    Attributes:
        agent: Who asks.
        most: How many bytes of an answer are read.

    Args:
        host: Its name or address.
        port: Its port.
        account: The folder with the account's token and the cluster's CA, which both rotate.
    """

    agent: ClassVar[str]
    most: ClassVar[int] = 8 << 20

    def __init__(self, host: str, port: int, account: Path = ACCOUNT) -> None:
        """Connect to nothing yet."""
        self._host, self._port, self._account = host, port, account

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """The server that the kubelet names.

        Raises:
            KeyError: It names none.
            ValueError: The port is not a number.
        """
        return cls(
            environment["KUBERNETES_SERVICE_HOST"], int(environment["KUBERNETES_SERVICE_PORT"])
        )

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> tuple[int, Any]:
        """The code of an answer, and the object in it.

        What else answers, such as a proxy, has the start of its text there.

        Raises:
            ApiError: There was none.
        """
        try:
            code, data = self.fetch(method, path, body)
        except FAILURES as error:
            raise unanswered(error) from error
        try:
            return code, json.loads(data)
        except ValueError:
            return code, data[:_MAX_TEXT].decode("utf-8", "replace")

    def fetch(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> tuple[int, bytes]:
        """The code and the content of an answer; raises FAILURES."""
        with self.answer(method, path, body) as response:
            return response.status, response.read(self.most)

    @contextmanager
    def answer(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        seconds: float = TIMEOUT,
    ) -> Iterator[http.client.HTTPResponse]:
        """An answer that is being read; raises FAILURES."""
        data = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        token = (self._account / "token").read_text().strip()
        # A new context each time, since the CA may have changed. It is not Python's default one,
        # which refuses CAs without key identifiers; older clusters have such.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(self._account / "ca.crt")
        connection = http.client.HTTPSConnection(
            self._host, self._port, timeout=seconds, context=context
        )
        patch = "application/merge-patch+json"
        headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": patch if method == "PATCH" else "application/json",
            "Accept": "application/json",
            "User-Agent": self.agent,
        }
        try:
            connection.request(method, path, data, headers)
            yield connection.getresponse()
        finally:
            connection.close()


def unanswered(error: Exception) -> ApiError:
    """One of FAILURES, as an error of ours."""
    return ApiError(f"the API server: {type(error).__name__}: {error}")
