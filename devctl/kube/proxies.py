"""The proxy to an API server: the kubeconfig's, else the environment's."""

from __future__ import annotations

import ipaddress
import os
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from devctl.errors import UsageError
from devctl.kube.kubeconfig import is_address

if TYPE_CHECKING:
    from devctl.kube.kubeconfig import Access

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_SCHEMES = ("http", "https", "socks5", "socks5h")


def find_proxy(access: Access) -> str | None:
    """The address of the proxy, if there is one.

    As in kubectl, the kubeconfig's `proxy-url` always counts; HTTPS_PROXY and HTTP_PROXY count
    unless the server is on this machine or in NO_PROXY. So does ALL_PROXY, unlike in kubectl.

    Raises:
        UsageError: The proxy's address is not valid.
    """
    if named := str(access.cluster.get("proxy-url") or ""):
        return _checked(named, "`proxy-url` in the kubeconfig")
    server = urlsplit(access.server)
    port = 443 if server.scheme == "https" else 80
    for name in (f"{server.scheme}_proxy", "all_proxy"):
        if found := _variable(name):
            if _goes_direct(server.hostname or "", server.port or port):
                return None
            return _checked(found if "://" in found else f"http://{found}", f"`{name.upper()}`")
    return None


def shown(proxy: str) -> str:
    """A proxy without its password, for messages.

    >>> shown("http://alice:secret@proxy:3128/")
    'http://proxy:3128'
    """
    parts = urlsplit(proxy)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _variable(name: str) -> str:
    return os.environ.get(name.upper()) or os.environ.get(name) or ""


def _checked(proxy: str, where: str) -> str:
    if not is_address(proxy, _SCHEMES):
        raise UsageError(
            f"{where} is not the address of a proxy",
            f"write it as SCHEME://HOST:PORT, with {', '.join(_SCHEMES[:-1])} or {_SCHEMES[-1]}",
        )
    return proxy


def _goes_direct(host: str, port: int) -> bool:
    """Whether NO_PROXY names a host, as Go reads it; this machine is always direct."""
    address: _Address | None = None
    with suppress(ValueError):
        address = ipaddress.ip_address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    entries = (entry.strip().lower() for entry in _variable("no_proxy").split(","))
    return any(_names(entry, host.lower(), address, port) for entry in entries if entry)


def _names(entry: str, host: str, address: _Address | None, port: int) -> bool:
    if entry == "*":
        return True
    if address is not None:
        with suppress(ValueError):  # an address with a port
            return address in ipaddress.ip_network(entry, strict=False)
    try:
        parts = urlsplit(f"//{entry}")
        name, only_port = (parts.hostname or "").removeprefix("*"), parts.port
    except ValueError:
        return False
    if only_port not in {None, port}:
        return False
    if address is not None:
        return name == str(address)
    return host.endswith(name) if name.startswith(".") else f".{host}".endswith(f".{name}")
