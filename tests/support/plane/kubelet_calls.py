"""What a kubelet asks a DRA plugin and the API server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import grpc
from devctl_dra_plugin import messages
from devctl_dra_plugin.api import ApiServer
from devctl_dra_plugin.names import DRIVER

from devctl.agents import wire

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from devctl_dra_plugin.messages import ClaimRef

Thing = dict[str, Any]
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims/{}"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
_TIMEOUT = 20.0


class PluginError(Exception):
    """The plugin has not answered, or not as was hoped."""


@dataclass(frozen=True)
class Prepared:
    """What a claim's pod gets.

    Attributes:
        devices: Their names.
        cdi: What the container runtime looks up.
    """

    devices: tuple[str, ...]
    cdi: tuple[str, ...]


class Plugin:
    """The plugin of a node, which is found by its sockets.

    Args:
        root: The kubelet's folder.
    """

    def __init__(self, root: Path) -> None:
        """Know of none yet."""
        self._registration = root / "plugins_registry" / f"{DRIVER}-reg.sock"
        self._endpoint, self._known = "", (0, 0)

    def find(self) -> None:
        """Let a plugin register whose socket has newly appeared."""
        try:
            found = self._registration.stat()
        except FileNotFoundError:
            return
        if (which := (found.st_ino, found.st_ctime_ns)) == self._known:
            return
        service, where = messages.REGISTRATION, str(self._registration)
        info = wire.texts(_call(where, f"{service}/GetInfo", b""))
        _call(where, f"{service}/NotifyRegistrationStatus", wire.number(1, 1))
        self._endpoint, self._known = info[3], which

    def prepare(self, refs: Iterable[ClaimRef]) -> dict[str, Prepared]:
        """Prepare a pod's claims, by UID.

        Raises:
            PluginError: One of them is not prepared.
        """
        answer = self._ask("NodePrepareResources", refs)
        return {uid: _prepared(said) for uid, said in _entries(answer)}

    def unprepare(self, refs: Iterable[ClaimRef]) -> None:
        """Have claims forgotten.

        Raises:
            PluginError: One of them may not be.
        """
        for _, said in _entries(self._ask("NodeUnprepareResources", refs)):
            if error := wire.texts(said).get(1):
                raise PluginError(error)

    def _ask(self, method: str, refs: Iterable[ClaimRef]) -> bytes:
        wanted = [
            wire.text(1, ref.namespace) + wire.text(2, ref.uid) + wire.text(3, ref.name)
            for ref in refs
        ]
        request = b"".join(wire.nested(1, each) for each in wanted)
        answer = _call(self._endpoint, f"{messages.PLUGIN}/{method}", request)
        if len(list(wire.fields(answer))) != len(wanted):
            raise PluginError("it has not answered for every claim")
        return answer


class Server(ApiServer):
    """The API server, for what a kubelet does there and the plugin does not."""

    def pods(self, node: str) -> list[Thing]:
        """Those of the node."""
        found = self.get(f"/api/v1/pods?fieldSelector=spec.nodeName%3D{quote(node)}")
        return list((found or {}).get("items", []))

    def remove_slices(self, node: str) -> None:
        """What a kubelet does when it starts: whoever offers devices is to do so again."""
        self.ask("DELETE", f"{SLICES}?fieldSelector=spec.nodeName%3D{quote(node)}")

    def tell(self, pod: Thing, status: Thing) -> None:
        """Write parts of a pod's status, unless it is another pod by now."""
        where = "/api/v1/namespaces/{namespace}/pods/{name}".format(**pod["metadata"])
        found = self.get(where)
        if found is not None and found["metadata"]["uid"] == pod["metadata"]["uid"]:
            self.replace(f"{where}/status", {**found, "status": {**found["status"], **status}})


def _call(socket: str, method: str, request: bytes) -> bytes:
    try:
        with grpc.insecure_channel(f"unix:{socket}") as channel:
            return bytes(channel.unary_unary(f"/{method}")(request, timeout=_TIMEOUT))
    except grpc.RpcError as error:
        raise PluginError(str(error)) from error


def _entries(answer: bytes) -> Iterator[tuple[str, bytes]]:
    """A map from UIDs to messages."""
    for _, entry in wire.fields(answer):
        assert isinstance(entry, bytes)
        said = dict(wire.fields(entry))
        uid, value = said[1], said.get(2, b"")
        assert isinstance(uid, bytes)
        assert isinstance(value, bytes)
        yield uid.decode(), value


def _prepared(said: bytes) -> Prepared:
    devices, cdi = [], []
    for number, value in wire.fields(said):
        assert isinstance(value, bytes)
        if number != 1:
            raise PluginError(value.decode())
        devices.append(wire.texts(value)[3])
        cdi += [
            each.decode() for n, each in wire.fields(value) if n == 4 and isinstance(each, bytes)
        ]
    return Prepared(tuple(devices), tuple(cdi))
