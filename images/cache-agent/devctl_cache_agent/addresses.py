"""Where a download may lead. Pure."""

from __future__ import annotations

import ipaddress
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

from devctl_cache_agent.problems import CacheError

_PORTS = {"https": 443, "http": 80}


class Origin(NamedTuple):
    """A server."""

    scheme: str
    host: str
    port: int


def origin(url: str) -> Origin:
    """The server of a URL.

    >>> origin("https://huggingface.co/api")
    Origin(scheme='https', host='huggingface.co', port=443)

    Raises:
        CacheError: It is not one of http or https, or has a password.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise CacheError("an address is not valid") from error
    if parts.scheme not in _PORTS or not parts.hostname or parts.username is not None:
        raise CacheError("an address is not one of http or https")
    return Origin(parts.scheme, parts.hostname, port or _PORTS[parts.scheme])


def redirected(url: str, location: str, home: Origin) -> str:
    """Where an answer sends on to.

    Args:
        url: Where it came from.
        location: What it says.
        home: The server of the setting.

    Raises:
        CacheError: A download never goes from https to http.
    """
    there = urljoin(url, location)
    found = origin(there)
    if found.scheme != "https" and found != home:
        raise CacheError(f"it is sent on to {found.host}, without https")
    return there


def is_allowed(address: str, there: Origin, home: Origin) -> bool:
    """Whether an address of a server may be connected to.

    The server of the setting may be anywhere. What it sends on to is in the internet, and not in
    the cluster, on the node, or where clouds give out credentials.

    >>> there, home = origin("https://cdn.example"), origin("http://models.local")
    >>> [is_allowed(each, there, home) for each in ("169.254.169.254", "10.0.0.1", "8.8.8.8")]
    [False, False, True]
    """
    if there == home:
        return True
    found = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(found, "ipv4_mapped", None) or found
    return bool(mapped.is_global) and not mapped.is_multicast
