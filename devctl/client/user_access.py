"""Credentials that an administrator issues to a user, as a kubeconfig."""

from __future__ import annotations

import base64
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import yaml

from devctl.api.devserver_user import AUTOMATION
from devctl.client.settings import login_arguments
from devctl.errors import DevctlError, HostError, UsageError
from devctl.kube import resources
from devctl.kube.kubeconfig import find_access
from devctl.oidc.registration import COMMAND, Registration

if TYPE_CHECKING:
    from devctl.client.users import Method, User
    from devctl.kube.cluster import Cluster, Object
    from devctl.kube.kubeconfig import Access

_SIGNER = "kubernetes.io/kube-apiserver-client"
_SHORTEST = 600
"""Seconds; the API server issues nothing for less (certificates.k8s.io, TokenRequest)."""
_PATIENCE = 15.0
"""Seconds until a certificate is there; the controller takes less than one."""


def kubeconfig(  # noqa: PLR0913, PLR0917 - who, how, how long, where
    cluster: Cluster,
    user: User,
    method: Method,
    seconds: int,
    file: str | None = None,
    context: str | None = None,
) -> str:
    """A kubeconfig for a user, in YAML: a secret, unless the user has to log in with it.

    Args:
        cluster: As an administrator.
        user: Who.
        method: `certificate` is the user. `token` is the service account that acts for the user.
            With `oidc`, the user logs in, and the kubeconfig is not a secret.
        seconds: How long certificate or token are valid.
        file: The administrator's kubeconfig, where the cluster's address is found.
        context: The context in that.

    Raises:
        UsageError: The time is too short, or how users log in is not set or not valid.
        DevctlError: The cluster issues no such credentials.
    """
    if seconds < _SHORTEST:
        raise UsageError(f"credentials cannot expire after {seconds} s", "use 10m or longer")
    issue = {"certificate": _certificate, "token": _token, "oidc": _login}[method]
    access = find_access(file, context)
    return document(access, user, issue(cluster, user, seconds))


def document(access: Access, user: User, credentials: Object) -> str:
    """A kubeconfig with one cluster, as an administrator reaches it, and one user.

    Raises:
        HostError: The cluster's certificate cannot be read.
    """
    cluster = {
        key: value
        for key, value in access.cluster.items()
        if key in {"server", "certificate-authority-data", "tls-server-name", "proxy-url"}
    }
    if authority := access.cluster.get("certificate-authority"):
        try:
            content = Path(authority).read_bytes()
        except OSError as error:
            raise HostError(f"cannot read `{authority}`: {error.strerror}", "fix it") from error
        cluster["certificate-authority-data"] = base64.b64encode(content).decode()
    context = {"cluster": "devctl", "user": user.name, "namespace": user.space}
    whole: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "devctl",
        "clusters": [{"name": "devctl", "cluster": cluster}],
        "contexts": [{"name": "devctl", "context": context}],
        "users": [{"name": user.name, "user": credentials}],
    }
    return yaml.safe_dump(whole, sort_keys=False)


def _certificate(cluster: Cluster, user: User, seconds: int) -> Object:
    """A certificate of a new key, which never leaves this machine but in the kubeconfig."""
    key, request = _key_and_request(user.username, user.spec.get("groups") or [])
    name = f"devctl-{user.name}-{uuid4().hex[:8]}"
    asked = {
        "request": base64.b64encode(request).decode(),
        "signerName": _SIGNER,
        "usages": ["client auth"],
        "expirationSeconds": seconds,
    }
    kind = resources.CertificateSigningRequest
    made = cluster.create(kind, {"metadata": {"name": name}, "spec": asked})
    approved = {
        "type": "Approved",
        "status": "True",
        "reason": "IssuedByAdministrator",
        "message": f"devctl admin user kubeconfig {user.name}",
    }
    cluster.send("PUT", kind, name, "approval", made | {"status": {"conditions": [approved]}})
    until = time.monotonic() + _PATIENCE
    while not (issued := cluster.get(kind, name).get("status", {}).get("certificate")):
        if time.monotonic() > until:
            raise DevctlError(
                "the cluster signs no client certificates, as EKS does not",
                "use --method token",
            )
        time.sleep(0.2)
    return {
        "client-certificate-data": issued,
        "client-key-data": base64.b64encode(key).decode(),
    }


def _key_and_request(username: str, groups: list[str]) -> tuple[bytes, bytes]:
    """A private key and a signing request, in PEM."""
    try:
        from cryptography import x509  # noqa: PLC0415 - only administrators have it
        from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415
        from cryptography.x509.oid import NameOID  # noqa: PLC0415
    except ImportError as error:
        raise HostError(
            "certificates need the library `cryptography`",
            "install `devctl[admin]`, or use --method token",
        ) from error
    key = ec.generate_private_key(ec.SECP256R1())
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    with warnings.catch_warnings():
        # X.509 bounds a common name to 64 characters (RFC 5280, ub-common-name), Kubernetes does
        # not.
        warnings.simplefilter("ignore")
        common = x509.NameAttribute(NameOID.COMMON_NAME, username, _validate=False)
    subject = x509.Name([*parts, common])
    request = x509.CertificateSigningRequestBuilder().subject_name(subject)
    pem = serialization.Encoding.PEM
    form, secret = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return (
        key.private_bytes(pem, form, secret),
        request.sign(key, hashes.SHA256()).public_bytes(pem),
    )


def _token(cluster: Cluster, user: User, seconds: int) -> Object:
    """A bound token of the service account that acts for the user."""
    asked = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": seconds},
    }
    account = resources.ServiceAccount
    made = cluster.send("POST", account, AUTOMATION, "token", asked, user.space)
    return {"token": str(made["status"]["token"])}


def _login(cluster: Cluster, _user: User, _seconds: int) -> Object:
    """What has devctl log the user in at the cluster's provider."""
    registration = Registration.from_arguments([COMMAND, *login_arguments(cluster)])
    if registration is None:
        raise UsageError(
            "the cluster's settings do not say how users log in",
            "set `login` in the ConfigMap `devctl-settings`, for example to "
            "`--issuer=https://login.company.com --client-id=devctl`",
        )
    return registration.kubeconfig_user()
