"""Kubeconfig files, as kubectl reads them: which cluster, user and namespace."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import yaml

from devctl.checkout import has_local_cluster
from devctl.errors import DevctlError, UsageError
from devctl.oidc.registration import from_exec

if TYPE_CHECKING:
    from devctl.oidc.registration import Registration

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where pods have the credentials of their service accounts."""
_FILES = ("certificate-authority", "client-certificate", "client-key", "tokenFile")
_METHODS = {
    "token": "token",
    "tokenFile": "token in a file",
    "username": "password",
    "client-certificate-data": "client certificate",
    "client-certificate": "client certificate",
}
_KINDS = {"clusters": "cluster", "contexts": "context", "users": "user"}
_FIX = "fix it, or name another one with --kubeconfig"
_Entries = dict[tuple[str, str], tuple[dict[str, Any], Path]]
"""What several kubeconfigs hold by kind and name, and the folder of each entry's file."""


@dataclass(frozen=True)
class Access:
    """A context of a kubeconfig, and the entries of its cluster and user, with absolute paths.

    Only login programs are relative, to `home`: the folder of the user's file.
    """

    server: str
    namespace: str = "default"
    context: str = ""
    user_name: str = ""
    cluster: dict[str, Any] = field(default_factory=dict)
    user: dict[str, Any] = field(default_factory=dict, repr=False)
    home: Path = Path()

    @property
    def provider(self) -> Registration | None:
        """With what the user logs in; None if not by devctl.

        Raises:
            UsageError: The user's entry is not valid.
        """
        entry = self.user.get("exec")
        return from_exec(entry) if isinstance(entry, dict) else None

    @property
    def method(self) -> str:
        """How the user authenticates, in a few words.

        >>> Access("https://x", user={"token": "secret", "as": "bob"}).method
        'token, as `bob`'
        """
        user = self.user
        acting = f", as `{user['as']}`" if user.get("as") else ""
        for name, words in _METHODS.items():
            if user.get(name):
                return words + acting
        if not isinstance(entry := user.get("exec"), dict):
            return f"no credentials{acting}"
        own = self.provider
        found = f"OpenID Connect at {own.issuer}" if own else f"program `{entry.get('command')}`"
        return found + acting


def find_access(
    kubeconfig: str | None = None, context: str | None = None, namespace: str | None = None
) -> Access:
    """The chosen cluster and user.

    Args:
        kubeconfig: A file; else KUBECONFIG's, ~/.kube/config, or a pod's service account.
        context: Else DEVCTL_CONTEXT, or the current one.
        namespace: Else DEVCTL_NAMESPACE, the context's, or `default`.

    Raises:
        UsageError: There is no such context.
        DevctlError: There is no kubeconfig, or it cannot be read.
    """
    context = context or os.environ.get("DEVCTL_CONTEXT")
    namespace = namespace or os.environ.get("DEVCTL_NAMESPACE")
    paths = _paths(kubeconfig)
    found = [path for path in paths if path.exists()]
    if not found:
        if not kubeconfig and not os.environ.get("KUBECONFIG") and _in_pod():
            return _service_account(namespace)
        looked = f"`{paths[0]}`" if len(paths) == 1 else "any file of KUBECONFIG"
        raise DevctlError(f"there is no kubeconfig: {looked} does not exist", _where_from())
    current = ""
    entries: _Entries = {}
    for path in found:
        config = _read(path)
        current = current or str(config.get("current-context") or "")
        _add(entries, path, config)
    return _access(entries, context or current, namespace, found)


def _where_from() -> str:
    named = "name one with --kubeconfig or KUBECONFIG"
    if has_local_cluster():
        return f"{named}; `devctl local up` makes a cluster on this machine"
    return f"{named}; your cluster's administrator has it"


def _paths(kubeconfig: str | None) -> list[Path]:
    if kubeconfig:
        return [Path(kubeconfig).expanduser()]
    named = [part for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    return [Path(part).expanduser() for part in named] or [Path("~/.kube/config").expanduser()]


def _read(path: Path) -> dict[str, Any]:
    try:
        # The C loader is ten times as fast, and large kubeconfigs are common.
        config = yaml.load(path.read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe
    except (OSError, ValueError, yaml.YAMLError) as error:
        why = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise DevctlError(f"kubeconfig `{path}` cannot be read: {why}", _FIX) from error
    if config is not None and not isinstance(config, dict):
        raise DevctlError(f"`{path}` is not a kubeconfig", "name another one with --kubeconfig")
    return config or {}


def _add(entries: _Entries, path: Path, config: dict[str, Any]) -> None:
    """Add the entries of a file, to which their paths are relative; the first of a name counts."""
    home = path.absolute().parent
    try:
        for section, kind in _KINDS.items():
            for entry in config.get(section) or []:
                value = dict(entry.get(kind) or {})
                value |= {name: str(home / value[name]) for name in _FILES if value.get(name)}
                entries.setdefault((kind, str(entry["name"])), (value, home))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DevctlError(f"`{path}` is not a kubeconfig", _FIX) from error


def _access(entries: _Entries, name: str, namespace: str | None, paths: list[Path]) -> Access:
    """The access of a context."""
    where = ", ".join(f"`{path}`" for path in paths)
    if not name:
        raise UsageError(
            f"{where} has no current context",
            "choose one with --context, or `kubectl config use-context`",
        )
    context = entries.get(("context", name))
    if context is None:
        known = ", ".join(sorted(name for kind, name in entries if kind == "context"))
        raise UsageError(
            f"there is no context `{name}` in {where}",
            f"choose one of {known} with --context" if known else _where_from(),
        )
    about, _ = context
    fix = "fix it, or choose another one with --context"
    cluster, _ = entries.get(("cluster", str(about.get("cluster", ""))), ({}, Path()))
    if not cluster.get("server"):
        raise UsageError(f"context `{name}` in {where} names no cluster with an address", fix)
    server = str(cluster["server"]).rstrip("/")
    if not is_address(server, ("http", "https")):
        raise UsageError(
            f"`{server}` is not an address of an API server", f"fix `server` in {where}"
        )
    user_name = str(about.get("user") or "")
    user = entries.get(("user", user_name)) if user_name else ({}, Path())
    if user is None:
        message = f"context `{name}` in {where} names user `{user_name}`, which does not exist"
        raise UsageError(message, fix)
    return Access(
        server=server,
        namespace=namespace or str(about.get("namespace") or "default"),
        context=name,
        user_name=user_name,
        cluster=cluster,
        user=user[0],
        home=user[1],
    )


def is_address(url: str, schemes: tuple[str, ...]) -> bool:
    """Whether a URL has one of the schemes, a host, and a valid port."""
    try:
        parts = urlsplit(url)
        return parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _in_pod() -> bool:
    return "KUBERNETES_SERVICE_HOST" in os.environ and (SERVICE_ACCOUNT / "token").exists()


def _service_account(namespace: str | None) -> Access:
    host = os.environ["KUBERNETES_SERVICE_HOST"]
    port = os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    own = SERVICE_ACCOUNT / "namespace"
    return Access(
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        namespace=namespace or (own.read_text().strip() if own.exists() else "default"),
        context="in-cluster",
        user_name="service account",
        cluster={"certificate-authority": str(SERVICE_ACCOUNT / "ca.crt")},
        user={"tokenFile": str(SERVICE_ACCOUNT / "token")},
    )
