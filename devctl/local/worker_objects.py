"""What the gateway of the GPU workers API needs and differs in every cluster.

A password and a certificate, and whose tokens are accepted. Named as config/gateway expects it.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from base64 import b64decode
from typing import TYPE_CHECKING, Any

from devctl.api.gpu_worker_job import NAMESPACE
from devctl.local.authentication import authenticator
from devctl.local.certificates import ensure_certificate
from devctl.local.part_objects import certificate_of
from devctl.local.parts import load_parts
from devctl.local.worker_tokens import AUDIENCE, ISSUER, ROLES, ensure_key, key_set

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from devctl.local.paths import ClusterPaths
    from devctl.local.settings import ClusterSettings

Thing = dict[str, Any]

DATABASE, CERTIFICATE = "gpu-workers-database", "gpu-workers-gateway-tls"
SIGNING_KEY, IDENTITY = "gpu-workers-signing-key", "gpu-workers-identity"
SERVICE = "gpu-workers-gateway"
NAMES = (
    f"{SERVICE}.{NAMESPACE}.svc",
    f"{SERVICE}.{NAMESPACE}",
    f"{SERVICE}.{NAMESPACE}.svc.cluster.local",
    "localhost",
)
"""The gateway's, in its certificate."""
_POSTGRES = f"gpu-workers-postgres.{NAMESPACE}.svc"
_FOLDER = "/etc/gateway/identity"
DIGEST = "checksum/identity"
"""Annotation of the ConfigMap: pods with another one are replaced."""


def objects(settings: ClusterSettings, paths: ClusterPaths, folder: Path) -> list[Thing]:
    """The objects of a local cluster; what is random is made once and kept in the folder."""
    file = folder / "password"
    if not file.is_file():
        file.touch(mode=0o600)
        file.write_text(secrets.token_urlsafe(32))
    key = ensure_key(folder)
    files = {name: b64decode(text) for name, text in ensure_certificate(folder, NAMES).items()}
    issuers, more = [own_issuer()], {}
    if "oidc" in settings.parts:
        part = load_parts()["oidc"]
        issuers.append(provider_issuer(authenticator(settings, paths, part)))
        more["oidc.crt"] = b64decode(certificate_of(settings, paths, part)["ca.crt"]).decode()
    return [
        database_secret(file.read_text()),
        certificate_secret(files),
        signing_key_secret(key),
        identity_map(key, issuers, more),
    ]


def database_secret(password: str) -> Thing:
    """The database's password, and its URL for the gateway."""
    url = f"postgresql://gateway:{password}@{_POSTGRES}:5432/gateway"
    return _secret(DATABASE, {"password": password, "url": url})


def certificate_secret(files: Mapping[str, bytes]) -> Thing:
    """The gateway's certificate; agents mount its ca.crt."""
    made = _secret(CERTIFICATE, {name: content.decode() for name, content in files.items()})
    return made | {"type": "kubernetes.io/tls"}


def signing_key_secret(key: bytes) -> Thing:
    """The private key that signs tokens. No pod mounts it."""
    return _secret(SIGNING_KEY, {"signing.key": key.decode()})


def identity_map(
    key: bytes, issuers: Iterable[Thing], more: Mapping[str, str] | None = None
) -> Thing:
    """Whose tokens the gateway accepts.

    Args:
        key: The private key; its public half is in the result.
        issuers: As the gateway reads them.
        more: Further files that these name.
    """
    data = {
        "identity.json": json.dumps(list(issuers), indent=2),
        "jwks.json": json.dumps(key_set(key), indent=2),
        **(more or {}),
    }
    digest = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]
    metadata = {"name": IDENTITY, "namespace": NAMESPACE, "annotations": {DIGEST: digest}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def own_issuer() -> Thing:
    """That of the cluster's own key."""
    return {
        "issuer": ISSUER,
        "audience": AUDIENCE,
        "algorithms": ["RS256"],
        "jwks_file": f"{_FOLDER}/jwks.json",
        "roles_claim": "roles",
        "roles": {role: role for role in ROLES},
    }


def provider_issuer(entry: Thing) -> Thing:
    """The provider of the part `oidc`, given its entry in the API server's configuration.

    Who leads a team operates nodes; everybody else is a user.
    """
    issuer = entry["issuer"]
    return {
        "issuer": issuer["url"],
        "audience": issuer["audiences"][0],
        "algorithms": ["ES256"],
        "jwks_url": f"{issuer['url']}/jwks",
        "ca_file": f"{_FOLDER}/oidc.crt",
        "username_claim": "email",
        "roles_claim": "groups",
        "roles": {"leads": "operator"},
    }


def _secret(name: str, texts: Mapping[str, str]) -> Thing:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "stringData": dict(texts),
    }
