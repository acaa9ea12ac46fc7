"""Who the API server takes a request to be from, and how that server proves itself."""

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

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devctl.kube.kubeconfig import Access

_MEND = "fix it, or get a new kubeconfig"
_JUST_NOW = 5.0
"""Seconds in which credentials that were refused are not asked for again."""


class Credentials(NamedTuple):
    """What a connection needs to be let in."""

    tls: ssl.SSLContext | None
    """None where the server's address is http://."""
    server_name: str
    """The name that the server's certificate has to hold; empty for that of its address."""
    headers: list[tuple[str, str]]


class Login:
    """A user's credentials, asked for as late and as seldom as can be; for several threads."""

    def __init__(self, access: Access) -> None:
        """Read and run nothing yet.

        Raises:
            UsageError: The kubeconfig asks for something that devctl cannot do.
        """
        self._access = access
        self._lock = threading.Lock()
        self._answer: Answer | None = None
        self._asked_at = 0.0
        self._tls: ssl.SSLContext | None = None
        self._tls_answer: Answer | None = None
        if access.user.get("auth-provider"):
            raise UsageError(
                "the kubeconfig asks for `auth-provider`, which devctl cannot do",
                "use an exec plugin to log in",
            )

    def credentials(self) -> Credentials:
        """What to use now.

        Raises:
            DevctlError: The kubeconfig names files that cannot be used, or its login program fails.
        """
        with self._lock:
            answer = self._plugin()
            name = str(self._access.cluster.get("tls-server-name") or "")
            return Credentials(self._context(answer), name, self._headers(answer))

    def renew(self) -> bool:
        """Forget credentials that were refused; returns whether there may be others."""
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
            try:
                # Each time: the kubelet changes it every hour.
                return Path(path).read_text().strip()
            except (OSError, ValueError) as error:
                raise _unusable(f"token file `{path}`", error) from error
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
        """How a proxy proves itself: to the kubeconfig's authority or the system's."""
        context = httpx2.create_ssl_context()
        if authority := self._authority():
            context.load_verify_locations(cadata=authority)
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        return context

    def _authority(self) -> str:
        """The kubeconfig's certificates; empty where it has none."""
        cluster = self._access.cluster
        try:
            return _bytes(cluster, "certificate-authority").decode()
        except (OSError, ValueError) as error:
            raise _unusable("certificate-authority", error) from error

    def _server_checks(self) -> ssl.SSLContext:
        cluster, authority = self._access.cluster, self._authority()
        try:
            # Without, those that the system trusts: on macOS they are in the keychain.
            context = (
                ssl.create_default_context(cadata=authority)
                if authority
                else httpx2.create_ssl_context()
            )
        except (OSError, ValueError) as error:
            raise _unusable("certificate-authority", error) from error
        # Certificates of clusters often lack what newer Pythons would have them hold.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        context.set_alpn_protocols(["http/1.1"])
        if cluster.get("insecure-skip-tls-verify"):
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context

    def _add_certificate(self, context: ssl.SSLContext, answer: Answer | None) -> None:
        user = self._access.user
        try:
            if answer and answer.certificate:
                with _files(answer.certificate.encode(), answer.key.encode()) as paths:
                    context.load_cert_chain(*paths)
            elif user.get("client-certificate-data") or user.get("client-certificate"):
                with _files(
                    _bytes(user, "client-certificate"), _bytes(user, "client-key")
                ) as paths:
                    context.load_cert_chain(*paths)
        except (OSError, ValueError) as error:
            raise _unusable("client certificate", error) from error


def _bytes(entry: dict[str, str], name: str) -> bytes:
    if data := entry.get(f"{name}-data"):
        return _decoded(data)
    return Path(entry[name]).read_bytes() if entry.get(name) else b""


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=False)
    except binascii.Error as error:
        raise ValueError(f"not base64: {error}") from error


@contextmanager
def _files(*contents: bytes) -> Iterator[list[str]]:
    """Files that only this user can read: OpenSSL takes certificates and keys from nothing else."""
    with tempfile.TemporaryDirectory(prefix="devctl-") as folder:
        paths = [Path(folder, str(number)) for number in range(len(contents))]
        for path, content in zip(paths, contents, strict=True):
            path.write_bytes(content)
        yield [str(path) for path in paths]


def _unusable(what: str, error: Exception) -> DevctlError:
    return DevctlError(f"the {what} of the kubeconfig cannot be used: {error}", _MEND)
