"""What identifies devctl to a provider, and how a kubeconfig's exec entry names it."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from devctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

COMMAND = "credential"
"""The command of devctl that kubectl runs."""
API_VERSION = "client.authentication.k8s.io/v1"
"""Of the ExecCredential that it prints."""
_INSTALL = "install devctl: pip install 'devctl[oidc]'"
_FIX = "ask your cluster's administrator for both, or for a kubeconfig that names them"


@dataclass(frozen=True)
class Registration:
    """A provider, and the public client that is registered there for devctl.

    Attributes:
        issuer: The provider's issuer identifier, an https address.
        client_id: As registered.
        authority: Certificates in PEM to trust instead of the system's; empty for the system's.
        client_secret: Only for providers that give public clients one, such as Google.
        scopes: To request besides `openid`, `email`, `profile` and `offline_access`.
        redirect_uri: As registered, for providers that allow no other port; empty for any free one.
    """

    issuer: str
    client_id: str
    authority: str = ""
    client_secret: str = ""
    scopes: tuple[str, ...] = ()
    redirect_uri: str = ""

    def __post_init__(self) -> None:
        """Check the addresses.

        Raises:
            UsageError: The issuer, the client or the redirect URI is not valid.
        """
        if not is_https(self.issuer):
            raise UsageError(f"the issuer `{self.issuer}` is not an https:// address", _FIX)
        if not self.client_id or not self.client_id.isprintable():
            raise UsageError("no OpenID Connect client ID is named", _FIX)
        if self.redirect_uri and not is_loopback(self.redirect_uri):
            raise UsageError(
                f"the redirect URI `{self.redirect_uri}` does not lead to a port of this machine",
                "register and name one such as http://127.0.0.1:8000/",
            )

    @property
    def key(self) -> str:
        """Names the session with this provider and client."""
        return sha256(f"{self.issuer}\n{self.client_id}".encode()).hexdigest()[:32]

    def arguments(self) -> list[str]:
        """The arguments of devctl with which kubectl gets a credential."""
        authority = base64.b64encode(self.authority.encode()).decode()
        optional = {
            "--ca-data": authority,
            "--client-secret": self.client_secret,
            "--redirect-uri": self.redirect_uri,
        }
        return [
            COMMAND,
            f"--issuer={self.issuer}",
            f"--client-id={self.client_id}",
            *(f"{name}={value}" for name, value in optional.items() if value),
            *(f"--scope={scope}" for scope in self.scopes),
        ]

    def kubeconfig_user(self) -> dict[str, Any]:
        """The user entry of a kubeconfig with which people log in."""
        return {
            "exec": {
                "apiVersion": API_VERSION,
                "command": "devctl",
                "args": self.arguments(),
                "installHint": _INSTALL,
                "interactiveMode": "IfAvailable",
                "provideClusterInfo": False,
            }
        }

    @classmethod
    def from_arguments(cls, arguments: list[str]) -> Registration | None:
        """The reverse; None if devctl is called with something else.

        Raises:
            UsageError: A value is not valid.
        """
        if arguments[:1] != [COMMAND]:
            return None
        found: dict[str, str] = {}
        scopes = []
        for argument in arguments[1:]:
            name, equals, value = argument.partition("=")
            if name not in _FIELDS or not equals:
                return None
            if name == "--scope":
                scopes.append(value)
            else:
                found[_FIELDS[name]] = value
        if not {"issuer", "client_id"} <= found.keys():
            return None
        found["authority"] = decode_authority(found.get("authority", ""))
        return cls(**found, scopes=tuple(scopes))


_FIELDS = {
    "--issuer": "issuer",
    "--client-id": "client_id",
    "--ca-data": "authority",
    "--client-secret": "client_secret",
    "--redirect-uri": "redirect_uri",
    "--scope": "scopes",
}


def decode_authority(data: str) -> str:
    """Certificates from base64.

    Raises:
        UsageError: They are not valid.
    """
    try:
        return base64.b64decode(data, validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError) as error:
        raise UsageError(
            "the certificates of the OpenID Connect provider are not base64 of PEM",
            "get a new kubeconfig",
        ) from error


def from_exec(entry: Mapping[str, Any]) -> Registration | None:
    """The registration that a kubeconfig's exec entry names; None if its program is not devctl.

    Raises:
        UsageError: A value is not valid.
    """
    name = str(entry.get("command") or "").rpartition("/")[2]
    if name != "devctl" or entry.get("env"):
        return None
    return Registration.from_arguments([str(each) for each in entry.get("args") or []])


def is_https(url: str) -> bool:
    """Whether an address is an https one with a host."""
    try:
        parts = urlsplit(url)
        return parts.scheme == "https" and bool(parts.hostname) and url.isprintable()
    except ValueError:
        return False


def is_loopback(url: str) -> bool:
    """Whether an address leads to a given port of this machine."""
    try:
        parts = urlsplit(url)
        return parts.scheme == "http" and bool(parts.port) and parts.hostname in _LOOPBACK
    except ValueError:
        return False


_LOOPBACK = ("127.0.0.1", "localhost")
