"""Which URLs and addresses may be fetched: nothing inside the user's network (SSRF).

A URL given to `egpu copy-file` may come from anyone, and the user's machine reaches hosts that its
author cannot: the user's own services, the cluster's, a cloud's metadata service with its keys.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from devctl.errors import DeniedError, UsageError
from devctl.text import readable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Address = IPv4Address | IPv6Address

_LENGTH = 8192
_PORTS = {"http": 80, "https": 443}

_NEVER = {
    # Services that give out keys to anyone who asks from inside.
    "an address of a cloud's metadata or link-local": (
        "169.254.0.0/16",  # AWS, GCP, Azure, and most others
        "100.100.100.200/32",  # Alibaba
        "168.63.129.16/32",  # Azure's wire server, a public address
        "192.0.0.192/32",  # Oracle
        "fd00:ec2::/32",  # AWS
        "fd20:ce::/32",  # GCP
        "fd00:c1::/32",  # Oracle
    ),
    "an address that leads to no host": ("0.0.0.0/8", "::/128"),
    "a link-local address": ("fe80::/10", "fec0::/10"),
    "a multicast address": ("224.0.0.0/4", "ff00::/8"),
    "an address that embeds another one": (
        "::ffff:0:0/96",  # IPv4-mapped
        "::ffff:0:0:0/96",  # IPv4-translated
        "64:ff9b::/96",  # NAT64
        "64:ff9b:1::/48",  # local-use NAT64
        "2002::/16",  # 6to4
        "2001::/32",  # Teredo
        "192.88.99.0/24",  # relays of 6to4
    ),
    # Those that some release of Python takes for global ones, wholly or in part.
    "a reserved address": (
        "192.0.0.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.175.48.0/24",
        "2001::/23",
        "2620:4f:8000::/48",
        "3fff::/20",
    ),
}
"""Refused always; the first that matches says why."""

_INSIDE = {
    "a private address": (
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "fc00::/7",
        "100.64.0.0/10",
    ),
    "an address of this machine": ("127.0.0.0/8", "::1/128"),
}
"""Refused unless --allow-private is given, for a store inside one's own network."""

_GLOBAL = "2000::/3"
"""The part of IPv6 in use; the rest is reserved."""
_ISATAP = {0x00005EFE, 0x02005EFE}


class Target(NamedTuple):
    """Where a URL leads."""

    scheme: str
    host: str
    port: int
    url: str
    """Without the fragment, which no server gets."""


def check_url(url: str) -> Target:
    """Where a URL leads; raises UsageError if it is not one that can be fetched."""
    shown = readable(url[:200])
    if len(url) > _LENGTH or not url.isascii() or not url.isprintable() or " " in url:
        raise UsageError(
            f"`{shown}` is not a URL that can be fetched",
            "write it in ASCII without blanks, and everything else as %20 and the like",
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"`{shown}` is not a URL: {error}", "write https://HOST/PATH") from error
    if parts.scheme not in _PORTS:
        raise UsageError(f"`{shown}` is neither http nor https", "write https://HOST/PATH")
    if "@" in parts.netloc:
        raise UsageError("the URL contains a name or a password", "use a signed or public URL")
    host = (parts.hostname or "").rstrip(".")
    if not host or "%" in host or "\\" in parts.netloc:
        raise UsageError(f"`{shown}` has no host", "write https://HOST/PATH")
    if port == 0:
        raise UsageError(f"`{shown}` has no valid port", "leave it out, or name 1 to 65535")
    plain = parts._replace(fragment="").geturl()
    return Target(parts.scheme, host, port or _PORTS[parts.scheme], plain)


def problem(text: str, *, allow_private: bool = False) -> str:
    """Why an address is refused; empty if it is not.

    >>> problem("10.0.0.1"), problem("1.1.1.1"), problem("host")
    ('a private address', '', 'not an address')
    """
    try:
        address = ip_address(text)
    except ValueError:
        return "not an address"
    for what, networks in _NEVER.items():
        if _within(address, *networks):
            return what
    for what, networks in _INSIDE.items():
        if _within(address, *networks):
            return "" if allow_private else what
    if isinstance(address, IPv6Address):
        # IPv4-compatible, in the network of :: and ::1; ISATAP, with an IPv4 one in the lower half.
        if _within(address, "::/96") or (int(address) >> 32) & 0xFFFFFFFF in _ISATAP:
            return "an address that embeds another one"
        if address.scope_id is not None or not _within(address, _GLOBAL):
            return "a reserved address"
    # Python's own registry has the addresses for documentation, benchmarks and future use.
    return "" if address.is_global else "a reserved address"


def allowed(host: str, found: Iterable[str], *, allow_private: bool = False) -> Sequence[str]:
    """The addresses of a host, if all of them may be fetched from.

    One bad address refuses the host: a name that resolves to both kinds is trying to be checked by
    the one and connected to by the other.

    Raises:
        DeniedError: One may not.
        UsageError: There are none.
    """
    addresses = list(dict.fromkeys(found))
    if not addresses:
        raise UsageError(f"`{readable(host)}` has no address", "check its name")
    for text in addresses:
        if why := problem(text, allow_private=allow_private):
            private = not allow_private and not problem(text, allow_private=True)
            raise DeniedError(
                f"`{readable(host)}` leads to {readable(text)}, {why}: it is not fetched",
                "if it is a store inside your own network, add --allow-private"
                if private
                else "name a host that is reachable by everyone",
            )
    return addresses


def _within(address: Address, *networks: str) -> bool:
    return any(address in ip_network(text) for text in networks)
