"""Which addresses on the network we fetch from: what a URL names must not lead inside.

Whoever types `egpu copy-file JOB URL` has the URL from somewhere, and their machine reaches what
the writer of the URL does not: their own services, the cluster's, a cloud's metadata with its keys.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import SplitResult, urlsplit

from devctl.errors import DeniedError, UsageError
from devctl.text import readable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Address = IPv4Address | IPv6Address

_LENGTH = 8192
_PORTS = {"http": 80, "https": 443}

_METADATA = [
    ip_network(text)
    for text in (
        "169.254.0.0/16",  # AWS, GCP, Azure, and most others
        "100.100.100.200/32",  # Alibaba
        "168.63.129.16/32",  # Azure's wire server, a public address
        "192.0.0.192/32",  # Oracle
        "fd00:ec2::/32",  # AWS
        "fd20:ce::/32",  # GCP
        "fd00:c1::/32",  # Oracle
    )
]
"""Services of clouds that give keys to whoever asks from inside: never."""

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
"""What may be a store inside one's own network."""

_NEVER = {
    "an address that leads to no host": ("0.0.0.0/8", "::/128"),
    "a link-local address": ("169.254.0.0/16", "fe80::/10", "fec0::/10"),
    "a multicast address": ("224.0.0.0/4", "ff00::/8"),
    "an address that has another one inside": (
        "::ffff:0:0/96",  # IPv4-mapped
        "::ffff:0:0:0/96",  # IPv4-translated
        "64:ff9b::/96",  # NAT64
        "64:ff9b:1::/48",  # NAT64 of one's own
        "2002::/16",  # 6to4
        "2001::/32",  # Teredo
        "192.88.99.0/24",  # relays of 6to4
    ),
    "a reserved address": (
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "240.0.0.0/4",
        "100::/64",
        "2001::/23",
        "2001:db8::/32",
        "2620:4f:8000::/48",
        "3fff::/20",
        "5f00::/16",
    ),
}
_GLOBAL = ip_network("2000::/3")
"""All of IPv6 that is given out; the rest is reserved."""
_ISATAP = {0x00005EFE, 0x02005EFE}


class Target(NamedTuple):
    """Where a URL leads."""

    scheme: str
    host: str
    port: int
    url: str


def check_url(url: str) -> Target:
    """Where a URL leads.

    Raises:
        UsageError: It is none that we fetch.
    """
    shown = readable(url[:200])
    if len(url) > _LENGTH or not url.isascii() or not url.isprintable() or " " in url:
        raise UsageError(
            f"`{shown}` is not a URL that can be fetched",
            "write it in ASCII, without blanks: others as %20 and the like",
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"`{shown}` is not a URL: {error}", "write https://HOST/PATH") from error
    if parts.scheme not in _PORTS:
        raise UsageError(
            f"`{shown}` is neither http nor https", "name a URL that begins with https://"
        )
    if "@" in parts.netloc:
        raise UsageError(
            "the URL holds a name or a password", "use one that is signed, or needs none"
        )
    host = (parts.hostname or "").rstrip(".")
    if not host or "%" in host or "\\" in parts.netloc:
        raise UsageError(f"`{shown}` names no host", "write https://HOST/PATH")
    if port == 0:
        raise UsageError(f"`{shown}` names no port", "leave it out, or name one from 1 to 65535")
    return Target(parts.scheme, host, port or _PORTS[parts.scheme], _rebuilt(parts))


def problem(address: Address, *, allow_private: bool = False) -> str:
    """Why we do not fetch from an address; empty where we do.

    >>> problem(ip_address("10.0.0.1")), problem(ip_address("1.1.1.1"))
    ('a private address', '')
    """
    if any(_within(address, network) for network in _METADATA):
        return "an address of a cloud's metadata or link-local"
    for what, networks in _NEVER.items():
        if any(_within(address, ip_network(text)) for text in networks):
            return what
    for what, networks in _INSIDE.items():
        if any(_within(address, ip_network(text)) for text in networks):
            return "" if allow_private else what
    # IPv4-compatible ones, after those two of them that are this machine and nothing.
    if _within(address, ip_network("::/96")) or _is_isatap(address):
        return "an address that has another one inside"
    if isinstance(address, IPv6Address) and (
        address.scope_id is not None or not _within(address, _GLOBAL)
    ):
        return "a reserved address"
    # What Python's own registry knows and we did not think of.
    return "" if address.is_global else "a reserved address"


def allowed(host: str, found: Iterable[str], *, allow_private: bool = False) -> Sequence[str]:
    """The addresses of a host, if all of them are ones that we fetch from.

    One that is not refuses the whole: who answers with both wants to be believed for the one and
    connected to the other.

    Raises:
        DeniedError: One is not.
        UsageError: There is none.
    """
    addresses = list(dict.fromkeys(found))
    if not addresses:
        raise UsageError(f"`{readable(host)}` has no address", "see whether its name is right")
    for text in addresses:
        try:
            why = problem(ip_address(text), allow_private=allow_private)
        except ValueError:
            why = "no address"
        if why:
            known = allow_private or not _is_inside(text)
            raise DeniedError(
                f"`{readable(host)}` leads to {readable(text)}, {why}: it is not fetched",
                "name a host that everybody can reach"
                if known
                else "if it is a store inside your own network, add --allow-private",
            )
    return addresses


def _is_inside(text: str) -> bool:
    try:
        return not problem(ip_address(text), allow_private=True)
    except ValueError:
        return False


def _within(address: Address, network: object) -> bool:
    found: bool = address in network  # type: ignore[operator] # of either version
    return found


def _is_isatap(address: Address) -> bool:
    """Whether an IPv6 address carries an IPv4 one in its lower half, as ISATAP has it."""
    return isinstance(address, IPv6Address) and (int(address) >> 32) & 0xFFFFFFFF in _ISATAP


def _rebuilt(parts: SplitResult) -> str:
    """The URL without its fragment, which no server is to see."""
    return parts._replace(fragment="").geturl()
