"""Authentication of a user to the API server, and of that server."""

from __future__ import annotations

import base64
import binascii
import ssl
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import httpx2

from devctl.errors import DevctlError, UsageError
from devctl.kube.exec_plugin import Answer, run_plugin
from devctl.kube.serial_tls import remember_memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devctl.kube.kubeconfig import Access

_UNAUTHORIZED = 401
_LIMITS = httpx2.Limits(max_connections=None)  # streams keep theirs for hours
_JUST_NOW = 5.0
"""Seconds within which refused credentials are not renewed again."""


class Credentials(NamedTuple):
    """What requests need to be accepted."""

    tls: ssl.SSLContext | None
    """None for http://."""
    server_name: str
    """The name in the server's certificate; empty for its address."""
    headers: list[tuple[str, str]]


class Login:
    """A user's credentials, fetched late and seldom; thread-safe."""

    def __init__(self, access: Access) -> None:
        """Fetch nothing yet.

        Raises:
            UsageError: The kubeconfig asks for something that devctl does not support.
        """
        self._access = access
        self._lock = threading.Lock()
        self._answer: Answer | None = None
        self._asked_at = 0.0
        self._tls: ssl.SSLContext | None = None
        self._tls_answer: Answer | None = None
        if access.user.get("auth-provider"):
            raise UsageError(
                "the kubeconfig asks for `auth-provider`, which devctl does not support",
                "use an exec plugin to log in",
            )

    def credentials(self) -> Credentials:
        """The credentials to use now.

        Raises:
            DevctlError: A file of the kubeconfig cannot be used, or its login program fails.
        """
        with self._lock:
            answer = self._plugin()
            name = str(self._access.cluster.get("tls-server-name") or "")
            return Credentials(self._context(answer), name, self._headers(answer))

    def renew(self) -> bool:
        """Forget refused credentials; whether there may be new ones."""
        user = self._access.user
        with self._lock:
            if user.get("exec"):
                if time.monotonic() - self._asked_at < _JUST_NOW:
                    return False
                self._answer = None
                return True
            return bool(user.get("tokenFile"))

    def _plugin(self) -> Answer | None:
        user = self._access.user
        if not user.get("exec") or user.get("token") or user.get("tokenFile"):
            return None
        if self._answer is None or not self._answer.alive:
            self._answer = run_plugin(self._access)
            self._asked_at = time.monotonic()
        return self._answer

    def _headers(self, answer: Answer | None) -> list[tuple[str, str]]:
        user = self._access.user
        headers = []
        if token := self._token(answer):
            headers.append(("Authorization", f"Bearer {token}"))
        elif user.get("username"):
            both = f"{user['username']}:{user.get('password') or ''}".encode()
            headers.append(("Authorization", f"Basic {base64.b64encode(both).decode()}"))
        if user.get("as"):
            headers.append(("Impersonate-User", str(user["as"])))
        headers += [("Impersonate-Group", str(group)) for group in user.get("as-groups") or []]
        if any(not value.isprintable() for _, value in headers):
            raise DevctlError(
                "the credentials in the kubeconfig hold a line break", "get a new kubeconfig"
            )
        return headers

    def _token(self, answer: Answer | None) -> str:
        user = self._access.user
        if path := user.get("tokenFile"):
            with _usable(f"token file `{path}`"):
                # Each time, as the kubelet renews it every hour.
                return Path(path).read_text().strip()
        return str(user.get("token") or (answer.token if answer else ""))

    def _context(self, answer: Answer | None) -> ssl.SSLContext | None:
        if not self._access.server.startswith("https:"):
            return None
        if self._tls is None or self._tls_answer is not answer:
            context = self._server_checks()
            self._add_certificate(context, answer)
            self._tls, self._tls_answer = context, answer
        return self._tls

    def proxy_tls(self) -> ssl.SSLContext:
        """Trust in a proxy: the kubeconfig's authority and the system's."""
        context = httpx2.create_ssl_context()
        if authority := self._authority():
            context.load_verify_locations(cadata=authority)
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        return context

    def _authority(self) -> str:
        """The kubeconfig's certificates, if any."""
        with _usable("certificate-authority"):
            return _bytes(self._access.cluster, "certificate-authority").decode()

    def _server_checks(self) -> ssl.SSLContext:
        authority = self._authority()
        with _usable("certificate-authority"):
            # httpx2's context trusts what the system trusts, on macOS the keychain.
            context = (
                ssl.create_default_context(cadata=authority)
                if authority
                else httpx2.create_ssl_context()
            )
        # Certificates of clusters often lack what newer Pythons require.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        context.set_alpn_protocols(["http/1.1"])
        if self._access.cluster.get("insecure-skip-tls-verify"):
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context

    def _add_certificate(self, context: ssl.SSLContext, answer: Answer | None) -> None:
        user = self._access.user
        with _usable("client certificate"):
            if answer and answer.certificate:
                pair = answer.certificate.encode(), answer.key.encode()
            elif user.get("client-certificate-data") or user.get("client-certificate"):
                pair = _bytes(user, "client-certificate"), _bytes(user, "client-key")
            else:
                return
            with _files(*pair) as paths:
                context.load_cert_chain(*paths)


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


def _bytes(entry: dict[str, str], name: str) -> bytes:
    if data := entry.get(f"{name}-data"):
        try:
            return base64.b64decode(data, validate=False)
        except binascii.Error as error:
            raise ValueError(f"not base64: {error}") from error
    return Path(entry[name]).read_bytes() if entry.get(name) else b""


@contextmanager
def _files(*contents: bytes) -> Iterator[list[str]]:
    """Private files: OpenSSL reads certificates and keys from nothing else."""
    with tempfile.TemporaryDirectory(prefix="devctl-") as folder:
        paths = [Path(folder, str(number)) for number in range(len(contents))]
        for path, content in zip(paths, contents, strict=True):
            path.write_bytes(content)
        yield [str(path) for path in paths]


@contextmanager
def _usable(what: str) -> Iterator[None]:
    """Say which part of a kubeconfig cannot be used."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise DevctlError(
            f"the {what} of the kubeconfig cannot be used: {error}",
            "fix it, or get a new kubeconfig",
        ) from error
