"""How often one may ask: in a moving window of a minute, in each process by itself.

So with four of them behind a balancer, up to four times as many requests pass. It keeps one client
from taking a replica for itself; no promise and no price depends on it.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from math import ceil

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from devctl_gateway.errors import TooManyRequestsError
from devctl_gateway.http.problems import problem_of
from devctl_gateway.http.window import Window

_UNAUTHORIZED = 401
_IPV6_SITE = 64


def client_of(scope: Scope) -> str:
    """The address that a request is from; of IPv6, the network, of which one client has all.

    >>> client_of({"client": ("2001:db8::1:2", 1)}), client_of({"client": ("192.0.2.1", 1)})
    ('2001:db8::', '192.0.2.1')
    """
    return _network_of((scope.get("client") or ("unknown", 0))[0])


@lru_cache(maxsize=1024)  # most requests are from a few
def _network_of(host: str) -> str:
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    rest = 128 - _IPV6_SITE
    return str(IPv6Address(int(address) >> rest << rest))


class Limits:
    """Counts requests.

    Args:
        requests: Of a principal in a minute.
        failures: To prove who asks, from an address in a minute.
    """

    def __init__(self, requests: int, failures: int) -> None:
        """Have counted nothing."""
        self._requests, self._failures = Window(requests), Window(failures)

    def admit(self, principal: str) -> None:
        """Count a request of somebody who is known; not one that is refused.

        Raises:
            TooManyRequestsError: There were too many.
        """
        if self._requests.is_full(principal):
            raise TooManyRequestsError(
                f"more than {self._requests.most} requests in a minute",
                "wait as long as Retry-After says",
                retry_after=_seconds(self._requests, principal),
            )
        self._requests.count(principal)

    def check_failures(self, address: str) -> None:
        """Refuse an address that has failed too often.

        Raises:
            TooManyRequestsError: It has.
        """
        if self._failures.is_full(address):
            raise TooManyRequestsError(
                f"more than {self._failures.most} requests in a minute with wrong credentials",
                "wait as long as Retry-After says, and check your token or key",
                retry_after=_seconds(self._failures, address),
            )

    def failed(self, address: str) -> None:
        """Count a failure to prove who asks."""
        self._failures.count(address)


def _seconds(window: Window, who: str) -> int:
    """Whole seconds until they may ask again."""
    return max(1, ceil(window.wait(who)))


class FailureLimit:
    """Middleware: an address that keeps failing to prove who asks is refused for a while.

    Behind a proxy, uvicorn must be told to trust the proxy's header, or all clients are one.
    """

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        """Stand before an application."""
        self._app, self._limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or "authorization" not in Headers(scope=scope):
            await self._app(scope, receive, send)
            return
        address = client_of(scope)

        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == _UNAUTHORIZED:
                self._limits.failed(address)
            await send(message)

        try:
            self._limits.check_failures(address)
        except TooManyRequestsError as error:
            await problem_of(error).response(scope)(scope, receive, send)
            return
        await self._app(scope, receive, watch)
