"""The node's container runtime, through the socket that the kubelet uses."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from devctl.agents import wire
from devctl.api.node_cache import AGENT_NAMESPACE, CONTAINER
from devctl_cache_agent import leases, messages
from devctl_cache_agent.problems import CacheError

if TYPE_CHECKING:
    from collections.abc import Callable

    Header = tuple[tuple[str, str], ...]
    Call = Callable[[str, bytes, float, Callable[[], None], Header], bytes]
    """A method, its request, how many seconds it may take, what is called meanwhile, a header."""

T = TypeVar("T")
GONE = "NOT_FOUND"
_QUICK = 10.0
_PULL = 6 * 3600.0


class RuntimeRefusedError(CacheError):
    """The runtime did not do what it was asked for.

    Attributes:
        code: What gRPC calls the failure.
    """

    def __init__(self, message: str, code: str = "") -> None:
        """Say why."""
        super().__init__(message)
        self.code = code


class Runtime:
    """What the agent asks of it.

    Args:
        call: Does it.
    """

    def __init__(self, call: Call) -> None:
        """Ask nothing yet."""
        self._call = call

    def image(self, ref: str) -> messages.Image | None:
        """An image; None if the node does not have it."""
        return self._ask(messages.IMAGE, messages.image_request(ref), messages.image)

    def pull(self, ref: str, look: Callable[[], None]) -> None:
        """Pull an image; what `look` raises ends that.

        A pull that fails goes on where it was at the next try, if the runtime is containerd.
        """
        lease = self._lease(ref)
        header = leases.header(lease) if lease else ()
        try:
            self._call(messages.PULL, messages.image_request(ref), _PULL, look, header)
        except RuntimeRefusedError:
            raise
        except BaseException:
            # It is not wanted any more, or the disk is full: the half of it is of no use.
            self._release(lease)
            raise
        self._release(lease)

    def _lease(self, ref: str) -> str:
        """What keeps the image's data until it is whole; empty if there is none."""
        lease = leases.name(ref)
        request = leases.create_request(lease, time.time())
        try:
            self._call(leases.CREATE, request, _QUICK, _nothing, leases.NAMESPACE)
        except RuntimeRefusedError as error:
            # Of any other failure the pull itself will tell.
            return lease if error.code == leases.EXISTS else ""
        return lease

    def _release(self, lease: str) -> None:
        # If that fails, it expires.
        if lease:
            with suppress(RuntimeRefusedError):
                request = leases.delete_request(lease)
                self._call(leases.DELETE, request, _QUICK, _nothing, leases.NAMESPACE)

    def host_paths(self) -> set[str]:
        """The paths of the node that any container has mounted but the agent's own."""
        found: set[str] = set()
        for each in self._ask(messages.LIST, b"", messages.containers):
            if (each.namespace, each.name) == (AGENT_NAMESPACE, CONTAINER):
                continue
            request = messages.container_request(each.id)
            try:
                found.update(self._ask(messages.CONTAINER, request, messages.host_paths))
            except RuntimeRefusedError as error:
                # Removed since the list was made.
                if error.code != GONE:
                    raise
        return found

    def _ask(self, method: str, request: bytes, read: Callable[[bytes], T]) -> T:
        answer = self._call(method, request, _QUICK, _nothing, ())
        try:
            return read(answer)
        except wire.WireError as error:
            raise RuntimeRefusedError(f"the runtime's answer is not valid: {error}") from error


def _nothing() -> None:
    pass


def over(socket: str) -> Call:
    """Calls over gRPC on a Unix socket."""
    # Here, since only the image has it.
    import grpc  # noqa: PLC0415

    channel: Any = grpc.insecure_channel(
        f"unix://{socket}",
        options=[
            ("grpc.default_authority", "localhost"),
            ("grpc.enable_http_proxy", 0),
            ("grpc.max_receive_message_length", 16 << 20),
        ],
    )

    def call(
        method: str, request: bytes, seconds: float, look: Callable[[], None], header: Header
    ) -> bytes:
        # Without serialisers, it takes and gives bytes.
        future = channel.unary_unary(method).future(request, timeout=seconds, metadata=header)
        try:
            while True:
                try:
                    answer: bytes = future.result(timeout=1.0)
                except grpc.FutureTimeoutError:
                    look()
                else:
                    return answer
        except grpc.RpcError as error:
            said = str(error.details()) if hasattr(error, "details") else type(error).__name__
            code = error.code().name if hasattr(error, "code") else ""
            raise RuntimeRefusedError(f"the runtime: {said}", code) from error
        finally:
            future.cancel()

    return call
