"""Messages of the container runtime interface (runtime.v1), written by hand: four methods. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from devctl.agents import wire

if TYPE_CHECKING:
    from collections.abc import Iterator

PULL = "/runtime.v1.ImageService/PullImage"
IMAGE = "/runtime.v1.ImageService/ImageStatus"
LIST = "/runtime.v1.RuntimeService/ListContainers"
CONTAINER = "/runtime.v1.RuntimeService/ContainerStatus"


class Image(NamedTuple):
    """An image that the runtime has."""

    id: str
    length: int
    """Its bytes, unpacked or not: as the runtime counts."""


def image_request(ref: str) -> bytes:
    """The request of PULL and of IMAGE: an ImageSpec with the reference.

    >>> image_request("a").hex()
    '0a030a0161'
    """
    return wire.nested(1, wire.text(1, ref))


def pulled(data: bytes) -> str:
    """What PULL answers: the image's ID."""
    return wire.texts(data).get(1, "")


def image(data: bytes) -> Image | None:
    """What IMAGE answers; None if the runtime does not have it."""
    for field, value in wire.fields(data):
        if field == 1 and isinstance(value, bytes):
            parts = dict(wire.fields(value))
            name, length = parts.get(1, b""), parts.get(4, 0)
            if isinstance(name, bytes) and isinstance(length, int) and name:
                return Image(name.decode("utf-8", "replace"), length)
    return None


class Container(NamedTuple):
    """A container, also one that has not started yet or has ended."""

    id: str
    name: str
    namespace: str


def containers(data: bytes) -> list[Container]:
    """What LIST answers; the kubelet writes the labels that name a container."""
    found = []
    for each in _messages(data, 1):
        labels = {_text(entry, 1): _text(entry, 2) for entry in _messages(each, 8)}
        name = labels.get("io.kubernetes.container.name", "")
        space = labels.get("io.kubernetes.pod.namespace", "")
        found.append(Container(_text(each, 1), name, space))
    return found


def container_request(name: str) -> bytes:
    """The request of CONTAINER."""
    return wire.text(1, name)


def host_paths(data: bytes) -> list[str]:
    """What CONTAINER answers: the paths of the node that a container has mounted."""
    return [
        path
        for status in _messages(data, 1)
        for mount in _messages(status, 14)
        if (path := _text(mount, 2))
    ]


def _messages(data: bytes, number: int) -> Iterator[bytes]:
    for field, value in wire.fields(data):
        if field == number and isinstance(value, bytes):
            yield value


def _text(data: bytes, number: int) -> str:
    return next((each.decode("utf-8", "replace") for each in _messages(data, number)), "")
