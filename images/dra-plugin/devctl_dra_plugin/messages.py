"""What the kubelet and the plugin say to each other.

Services, methods and field numbers are the kubelet's, as in k8s.io/kubelet v0.36 (Apache-2.0):
pkg/apis/pluginregistration/v1, pkg/apis/dra/v1 and pkg/apis/dra-health/v1alpha1. Only what the
plugin uses is here; docs/decisions/0036-the-kubelets-messages.md says why no code is generated.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from devctl.agents import wire

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

REGISTRATION = "pluginregistration.Registration"
PLUGIN = "k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin"
HEALTH = "v1alpha1.DRAResourceHealth"
SUPPORTED = ("v1.DRAPlugin", HEALTH)
"""How a plugin calls the services that it has, when it registers."""


@dataclass(frozen=True)
class ClaimRef:
    """The claim that is to be prepared, or no longer."""

    namespace: str
    uid: str
    name: str

    def __str__(self) -> str:
        """As people know it."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True)
class PreparedDevice:
    """A device of a claim, and what the container runtime is to do for it."""

    requests: tuple[str, ...]
    pool: str
    device: str
    cdi: tuple[str, ...]


@dataclass(frozen=True)
class Answer:
    """What became of one claim: its devices, or an error."""

    devices: tuple[PreparedDevice, ...] = ()
    error: str = ""


class Health(IntEnum):
    """A device's health."""

    UNKNOWN = 0
    HEALTHY = 1
    UNHEALTHY = 2


@dataclass(frozen=True)
class DeviceHealth:
    """The health of one device, and when that was known."""

    pool: str
    device: str
    health: Health
    updated: int
    """Seconds since 1970."""
    timeout: int
    """Seconds after which the kubelet takes it for unknown."""
    message: str = ""


def plugin_info(name: str, endpoint: str, supported: Sequence[str] = SUPPORTED) -> bytes:
    """PluginInfo: who registers, and the socket on which it serves."""
    services = b"".join(wire.text(4, each) for each in supported)
    return wire.text(1, "DRAPlugin") + wire.text(2, name) + wire.text(3, endpoint) + services


def registration_status(data: bytes) -> str | None:
    """RegistrationStatus: None if the plugin is registered, else what is wrong."""
    found = dict(wire.fields(data))
    if found.get(1):
        return None
    return wire.texts(data).get(2, "") or "no reason given"


def claims(data: bytes) -> list[ClaimRef]:
    """NodePrepareResourcesRequest or NodeUnprepareResourcesRequest: a batch of claims."""
    found = []
    for number, value in wire.fields(data):
        if number == 1 and isinstance(value, bytes):
            said = wire.texts(value)
            found.append(ClaimRef(said.get(1, ""), said.get(2, ""), said.get(3, "")))
    return found


def prepared(answers: Mapping[str, Answer]) -> bytes:
    """NodePrepareResourcesResponse, by the claims' UIDs."""
    return _by_claim({uid: _prepared_claim(answer) for uid, answer in answers.items()})


def unprepared(errors: Mapping[str, str]) -> bytes:
    """NodeUnprepareResourcesResponse: an error by claim, empty where there was none."""
    return _by_claim({uid: wire.text(1, error) for uid, error in errors.items()})


def device_healths(reports: Iterable[DeviceHealth]) -> bytes:
    """NodeWatchResourcesResponse: all devices of the driver."""
    return b"".join(wire.nested(1, _device_health(each)) for each in reports)


def _by_claim(answers: Mapping[str, bytes]) -> bytes:
    """A map, whose entries are messages of a key and a value."""
    return b"".join(
        wire.nested(1, wire.text(1, uid) + wire.nested(2, answer))
        for uid, answer in answers.items()
    )


def _prepared_claim(answer: Answer) -> bytes:
    devices = b"".join(wire.nested(1, _prepared_device(each)) for each in answer.devices)
    return devices + wire.text(2, answer.error)


def _prepared_device(given: PreparedDevice) -> bytes:
    return b"".join(
        [
            *(wire.text(1, each) for each in given.requests),
            wire.text(2, given.pool),
            wire.text(3, given.device),
            *(wire.text(4, each) for each in given.cdi),
        ]
    )


def _device_health(report: DeviceHealth) -> bytes:
    which = wire.text(1, report.pool) + wire.text(2, report.device)
    return b"".join(
        [
            wire.nested(1, which),
            wire.number(2, report.health),
            wire.number(3, report.updated),
            wire.number(4, report.timeout),
            wire.text(5, report.message),
        ]
    )
