"""Kubeconfig entries with which devctl and kubectl log in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from devctl.errors import UsageError
from devctl.oidc.registration import Registration


def exec_user(
    issuer: str, client_id: str, ca_file: str | Path | None = None, **more: Any
) -> dict[str, Any]:
    """A kubeconfig's user entry with which people log in by OpenID Connect.

    Args:
        issuer: The provider's issuer identifier.
        client_id: Of the public client that is registered for devctl.
        ca_file: Certificates in PEM to trust instead of the system's; the entry contains them.
        **more: Further fields of a Registration: client_secret, scopes, redirect_uri.

    Raises:
        UsageError: A value is not valid, or the file cannot be read.
    """
    authority = read_authority(ca_file) if ca_file else ""
    return Registration(issuer, client_id, authority, **more).kubeconfig_user()


def read_authority(path: str | Path) -> str:
    """Certificates in PEM.

    Raises:
        UsageError: The file cannot be read, or contains none.
    """
    try:
        text = Path(path).expanduser().read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not PEM"
        raise UsageError(f"`{path}` cannot be read: {why}", "name a file in PEM") from error
    if "-----BEGIN CERTIFICATE-----" not in text:
        raise UsageError(f"`{path}` contains no certificate", "name a file in PEM")
    return text
