"""A pool of connections that authenticates each request."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import httpx2

from devctl.kube.serial_tls import remember_memory

if TYPE_CHECKING:
    import ssl

    from devctl.kube.credentials import Login

_UNAUTHORIZED = 401
_LIMITS = httpx2.Limits(max_connections=None)  # streams keep theirs for hours


class Authenticated(httpx2.BaseTransport):
    """The network as one user, through a proxy if one is given."""

    def __init__(self, login: Login, proxy: str | None = None) -> None:
        """Connect to nothing yet."""
        self._login = login
        self._proxy = proxy
        self._lock = threading.Lock()
        self._network: httpx2.HTTPTransport | None = None
        self._tls: ssl.SSLContext | None = None

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, again with new credentials if the old ones are refused."""
        own = request.headers.raw
        answer = self._send(request, own)
        if answer.status_code == _UNAUTHORIZED and self._login.renew():
            answer.close()
            answer = self._send(request, own)
        return answer

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            if self._network is not None:
                self._network.close()

    def _send(self, request: httpx2.Request, own: list[tuple[bytes, bytes]]) -> httpx2.Response:
        found = self._login.credentials()
        said = [(name.encode(), value.encode()) for name, value in found.headers]
        request.headers = httpx2.Headers([*own, *said])
        if found.server_name:
            request.extensions = {**request.extensions, "sni_hostname": found.server_name}
        return self._through(found.tls).handle_request(request)

    def _through(self, tls: ssl.SSLContext | None) -> httpx2.HTTPTransport:
        """The pool; a new one for another client certificate."""
        with self._lock:
            if self._network is None or self._tls is not tls:
                self._tls = tls
                self._network = httpx2.HTTPTransport(
                    verify=tls if tls is not None else False,
                    trust_env=False,
                    limits=_LIMITS,
                    proxy=self._through_proxy(),
                )
            return self._network

    def _through_proxy(self) -> httpx2.Proxy | None:
        if not self._proxy:
            return None
        if not self._proxy.startswith("https:"):
            return httpx2.Proxy(self._proxy)
        if self._tls is not None:
            remember_memory(self._tls)
        return httpx2.Proxy(self._proxy, ssl_context=self._login.proxy_tls())
