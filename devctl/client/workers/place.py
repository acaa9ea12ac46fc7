"""Where the GPU workers API is, and what proves who asks it."""

from __future__ import annotations

import ipaddress
from typing import NamedTuple

import httpx2

from devctl.client.settings import preferred
from devctl.errors import UsageError

PREFIX = "/gpu-workers"
"""What the paths of the API begin with."""
URL, TOKEN = "workers_url", "workers_token"
_EXAMPLE = "write for example `https://workers.example`"


class Place(NamedTuple):
    """Where the API is."""

    url: str
    """Without the slash at its end, and with PREFIX."""
    token: str
    """A JSON Web Token, or an API key."""


def place_of(url: str | None = None, token: str | None = None) -> Place:
    """Where the API is: as said, else DEVCTL_WORKERS_URL and _TOKEN, else the settings.

    Raises:
        UsageError: It is said nowhere, or is no address to which a token may be sent.
    """
    found = url or preferred(URL)[0]
    if not found:
        raise UsageError(
            "the GPU workers API has no address",
            f"set DEVCTL_WORKERS_URL, or call `devctl config set {URL} URL`",
        )
    secret = token or preferred(TOKEN)[0]
    if not secret:
        raise UsageError(
            "there is no token for the GPU workers API",
            f"set DEVCTL_WORKERS_TOKEN, or call `devctl config set {TOKEN} TOKEN`",
        )
    if not (secret.isascii() and secret.isprintable() and " " not in secret):
        raise UsageError("the token is not one word of ASCII", "copy it again, as a whole")
    return Place(address(str(found)), str(secret))


def address(url: str) -> str:
    """The address that all paths follow.

    >>> address("https://workers.example/"), address("http://localhost:8000/gpu-workers")
    ('https://workers.example/gpu-workers', 'http://localhost:8000/gpu-workers')

    Raises:
        UsageError: It is none, or others could read the token on the way.
    """
    try:
        found = httpx2.URL(url.strip())
    except httpx2.InvalidURL:
        raise UsageError(f"`{url}` is not an address", _EXAMPLE) from None
    if found.scheme not in {"http", "https"} or not found.host:
        raise UsageError(f"`{url}` is not an address", _EXAMPLE)
    if found.query or found.fragment or found.userinfo:
        raise UsageError(f"`{url}` is more than an address", _EXAMPLE)
    if found.scheme == "http" and not _is_here(found.host):
        raise UsageError(
            f"`{url}` is not encrypted: others could read the token on its way",
            "use https://, or forward a port to this machine",
        )
    path = found.path.rstrip("/").removesuffix(PREFIX)
    return f"{found.scheme}://{found.netloc.decode()}{path}{PREFIX}"


def _is_here(host: str) -> bool:
    """Whether a host is this machine.

    >>> _is_here("localhost"), _is_here("127.0.0.1"), _is_here("::1"), _is_here("127.example")
    (True, True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
