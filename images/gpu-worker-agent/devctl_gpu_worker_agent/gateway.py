"""Requests to the gateway."""

from __future__ import annotations

import http.client
import json
import ssl
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from devctl_gpu_worker_agent.text import clean

if TYPE_CHECKING:
    from pathlib import Path

AGENT = "devctl-gpu-worker-agent"
_TIMEOUT = 10.0
_MOST = 1 << 20
"""Bytes of an answer that are read."""
_LOCAL = {"localhost", "127.0.0.1", "::1"}


class GatewayError(Exception):
    """A request that was not done, as far as is known.

    Attributes:
        code: Of the answer; 0 if there was none.
        wait: Seconds after which to come again, if the gateway says so.
    """

    def __init__(self, message: str, code: int = 0, wait: float = 0) -> None:
        """Say why."""
        super().__init__(message)
        self.code, self.wait = code, wait

    @property
    def is_unknown(self) -> bool:
        """Whether the gateway does not know the key, or not its node."""
        return self.code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.NOT_FOUND}


class Gateway:
    """The gateway of the GPU workers API.

    Args:
        url: Its address, without /gpu-workers.
        authority: A file with the authority of its certificate, which may change; None for those
            of the system.

    Raises:
        ValueError: It is no address, or tokens would be sent unprotected.
    """

    def __init__(self, url: str, authority: Path | None = None) -> None:
        """Connect to nothing yet."""
        parts = urlsplit(url)
        host = parts.hostname or ""
        if not host or parts.scheme not in {"http", "https"}:
            raise ValueError(f"`{url}` is not an address: write `https://HOST`")
        if parts.scheme == "http" and host not in _LOCAL:
            raise ValueError(f"`{url}` would send tokens unprotected: write `https://`")
        self._secure = parts.scheme == "https"
        self._host, self._port = host, parts.port or (443 if self._secure else 80)
        self._base = f"{parts.path.rstrip('/')}/gpu-workers"
        self._authority = authority

    def post(self, path: str, token: str, body: dict[str, Any]) -> Any:
        """The object that the gateway answers with.

        Args:
            path: Below /gpu-workers/.
            token: A token or key.
            body: What is sent.

        Raises:
            GatewayError: There was no answer, or a refusal.
        """
        headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Accept": "application/json, application/problem+json",
            "User-Agent": AGENT,
        }
        data = json.dumps(body, separators=(",", ":")).encode()
        try:
            connection = self._connection()
            try:
                connection.request("POST", f"{self._base}/{path}", data, headers)
                response = connection.getresponse()
                content = response.read(_MOST)
            finally:
                connection.close()
        except (OSError, http.client.HTTPException) as error:
            raise GatewayError(f"{type(error).__name__}: {clean(str(error), 512)}") from error
        except ValueError:
            # What it says quotes the header.
            raise GatewayError("the token is not one that a header can have") from None
        answer = _object(content)
        if HTTPStatus.OK <= response.status < HTTPStatus.MULTIPLE_CHOICES:
            return answer
        said = clean(_problem(answer) or content[:255].decode("utf-8", "replace"), 512)
        wait = response.headers.get("Retry-After", "")
        seconds = float(wait) if wait.isascii() and wait.isdecimal() else 0.0
        raise GatewayError(f"HTTP {response.status}: {said}", response.status, seconds)

    def _connection(self) -> http.client.HTTPConnection:
        if not self._secure:
            return http.client.HTTPConnection(self._host, self._port, timeout=_TIMEOUT)
        # A new context each time, since the authority may have been renewed.
        context = ssl.create_default_context(cafile=self._authority and str(self._authority))
        return http.client.HTTPSConnection(
            self._host, self._port, timeout=_TIMEOUT, context=context
        )


def _object(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return None


def _problem(answer: Any) -> str:
    """What problem details (RFC 9457) say."""
    found = answer if isinstance(answer, dict) else {}
    return ": ".join(str(found[name]) for name in ("title", "detail") if found.get(name))
