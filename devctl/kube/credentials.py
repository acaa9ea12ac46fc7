"""Authentication of a user to the API server, also by login programs, and of that server."""

from __future__ import annotations

import base64
import binascii
import json
import os
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from datetime import datetime  # noqa: TC003 - msgspec reads the annotation
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx2
import msgspec

from devctl.errors import DeniedError, DevctlError, UsageError
from devctl.kube.failures import one_line
from devctl.kube.serial_tls import remember_memory
from devctl.oidc import session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devctl.kube.kubeconfig import Access

_UNAUTHORIZED = 401
_LIMITS = httpx2.Limits(max_connections=None)  # streams keep theirs for hours
_JUST_NOW = 5.0
"""Seconds within which refused credentials are not renewed again."""
LIFE = 60.0
"""Seconds for which an answer without an expiry is used."""
_EARLY = 10.0
"""Seconds by which an answer expires early: a request takes time."""
_GROUP = "client.authentication.k8s.io"
_VERSIONS = (f"{_GROUP}/v1", f"{_GROUP}/v1beta1")
_PROVIDED = (
    "tls-server-name",
    "insecure-skip-tls-verify",
    "certificate-authority-data",
    "proxy-url",
)
"""What plugins are told of the cluster if they want to know."""


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
        """Fetch nothing yet; raises UsageError if devctl does not support a way to log in."""
        self._access = access
        self._lock = threading.Lock()
        self._answer: _Answer | None = None
        self._asked_at = 0.0
        self._until = 0.0
        self._tls: ssl.SSLContext | None = None
        self._refused = ""
        self.own = access.provider
        """devctl as its own login program: it need not start itself."""
        if access.user.get("auth-provider"):
            raise UsageError(
                "the kubeconfig asks for `auth-provider`, which devctl does not support",
                "use an exec plugin to log in",
            )

    def credentials(self) -> Credentials:
        """The credentials to use now; raises DevctlError if a file or a login program fails."""
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
                self._refused = (self._answer and self._answer.token) or ""
                self._answer = None
                return True
            return bool(user.get("tokenFile"))

    def _plugin(self) -> _Answer | None:
        user = self._access.user
        if not user.get("exec") or user.get("token") or user.get("tokenFile"):
            return None
        if self._answer is None or time.time() >= self._until:
            self._asked_at = time.monotonic()
            if self.own:
                found = session.current(self.own, refused=self._refused)
                self._answer = _Answer(token=found.id_token)
                self._until = found.expires_at - _EARLY
                # A stored token is older than a login program's answer.
                self._asked_at -= max(0.0, time.time() - found.received_at)
                return self._answer
            self._answer = _run_plugin(self._access)
            ends = self._answer.expiration_timestamp
            self._until = ends.timestamp() - _EARLY if ends else time.time() + LIFE
            self._tls = None
        return self._answer

    def _headers(self, answer: _Answer | None) -> list[tuple[str, str]]:
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

    def _token(self, answer: _Answer | None) -> str:
        user = self._access.user
        if path := user.get("tokenFile"):
            with _usable(f"token file `{path}`"):
                # Each time, as the kubelet renews it every hour.
                return Path(path).read_text().strip()
        return str(user.get("token") or (answer and answer.token) or "")

    def _context(self, answer: _Answer | None) -> ssl.SSLContext | None:
        if self._tls is None and self._access.server.startswith("https:"):
            context = self.trust()
            context.set_alpn_protocols(["http/1.1"])
            if self._access.cluster.get("insecure-skip-tls-verify"):
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            self._add_certificate(context, answer)
            self._tls = context
        return self._tls

    def trust(self, *, of_proxy: bool = False) -> ssl.SSLContext:
        """Trust in the kubeconfig's authority; in the system's for a proxy, or if there is none."""
        with _usable("certificate-authority"):
            authority = _bytes(self._access.cluster, "certificate-authority").decode()
            if authority and not of_proxy:
                context = ssl.create_default_context(cadata=authority)
            else:
                # httpx2's context trusts what the system trusts, on macOS the keychain.
                context = httpx2.create_ssl_context()
                if authority:
                    context.load_verify_locations(cadata=authority)
        # Certificates of clusters often lack what newer Pythons require.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        return context

    def _add_certificate(self, context: ssl.SSLContext, answer: _Answer | None) -> None:
        user = self._access.user
        with _usable("client certificate"):
            if answer and answer.client_certificate_data:
                certificate = answer.client_certificate_data.encode()
                key = (answer.client_key_data or "").encode()
            elif user.get("client-certificate-data") or user.get("client-certificate"):
                certificate = _bytes(user, "client-certificate")
                key = _bytes(user, "client-key")
            else:
                return
            with tempfile.TemporaryDirectory(prefix="devctl-") as folder:
                # OpenSSL reads certificates and keys from files only.
                certificate_file, key_file = Path(folder, "certificate"), Path(folder, "key")
                certificate_file.write_bytes(certificate)
                key_file.write_bytes(key)
                context.load_cert_chain(certificate_file, key_file)


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
        if answer.status_code == _UNAUTHORIZED and (provider := self._login.own):
            answer.close()
            raise DeniedError(
                f"the API server does not accept your login at {provider.issuer}",
                "run `devctl login`; if that does not help, ask the cluster's administrator",
            )
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
        return httpx2.Proxy(self._proxy, ssl_context=self._login.trust(of_proxy=True))


def _bytes(entry: dict[str, str], name: str) -> bytes:
    if data := entry.get(f"{name}-data"):
        try:
            return base64.b64decode(data, validate=False)
        except binascii.Error as error:
            raise ValueError(f"not base64: {error}") from error
    return Path(entry[name]).read_bytes() if entry.get(name) else b""


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


class _Answer(msgspec.Struct, rename="camel"):
    """The status of an ExecCredential, as a plugin prints it."""

    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: datetime | None = None


class _ExecCredential(msgspec.Struct):
    status: _Answer


def _run_plugin(access: Access) -> _Answer:
    """Run the plugin of a kubeconfig's user, which may ask the person."""
    about: dict[str, Any] = access.user["exec"]
    version, command = str(about.get("apiVersion", "")), str(about.get("command") or "")
    if version not in _VERSIONS or not command:
        raise UsageError(
            f"the login program `{command}` in the kubeconfig asks for `{version}`",
            f"have it use {_VERSIONS[0]}",
        )
    if os.sep in command:
        command = str(access.home / command)  # relative to the kubeconfig, as kubectl has it
    mode = str(about.get("interactiveMode") or "IfAvailable")
    terminal = mode != "Never" and sys.stdin is not None and sys.stdin.isatty()
    if mode == "Always" and not terminal:
        raise UsageError(
            f"the login program `{command}` wants to ask you, and there is no terminal",
            "run the command on a terminal",
        )
    try:
        ended = subprocess.run(
            [command, *map(str, about.get("args") or [])],
            env=_environment(access, about, version, terminal=terminal),
            stdin=None if terminal else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            check=False,
        )
    except OSError as error:
        raise DevctlError(
            f"the login program `{command}` of the kubeconfig cannot be run: {error.strerror}",
            one_line(str(about.get("installHint") or "install it, or fix the kubeconfig")),
        ) from error
    if ended.returncode:
        raise DeniedError(
            f"the login program `{command}` failed with exit code {ended.returncode}",
            "log in as its provider asks you to, and repeat the command",
        )
    return _parse(command, ended.stdout)


def _environment(
    access: Access, about: dict[str, Any], version: str, *, terminal: bool
) -> dict[str, str]:
    spec: dict[str, Any] = {"interactive": terminal}
    if about.get("provideClusterInfo"):
        known = {name: access.cluster[name] for name in _PROVIDED if access.cluster.get(name)}
        spec["cluster"] = {"server": access.server, **known}
    info = {"apiVersion": version, "kind": "ExecCredential", "spec": spec}
    own = {str(pair["name"]): str(pair.get("value", "")) for pair in about.get("env") or []}
    return {**os.environ, **own, "KUBERNETES_EXEC_INFO": json.dumps(info)}


def _parse(command: str, output: bytes) -> _Answer:
    fix = "run it by hand, and fix what it prints"
    try:
        answer = msgspec.json.decode(output, type=_ExecCredential).status
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        message = f"the login program `{command}` does not print an ExecCredential"
        raise DevctlError(message, fix) from error
    if not answer.token and not (answer.client_certificate_data and answer.client_key_data):
        raise DevctlError(
            f"the login program `{command}` gives neither a token nor a certificate with its key",
            fix,
        )
    return answer
