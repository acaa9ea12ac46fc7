"""GPUs that ResourceClaims hold (dynamic resource allocation), beside those that pods request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence

from devctl.api.quantities import GPU
from devctl_observer.judging.devices import Held
from devctl_observer.watching.devices import Devices


def claimed_gpus(claims: Iterable[Sequence[Held]], classes: Container[str]) -> Mapping[str, int]:
    """The number of GPUs that claims hold, by node.

    Args:
        claims: What each claim holds. One that several share counts once.
        classes: The DeviceClasses whose devices are GPUs.
    """
    found = {each[:3] for claim in claims for each in claim if each.of_class in classes}
    return Counter(node for node, *_ in found)


class ClaimedGpus:
    """Counts what all claims hold."""

    def __init__(self, devices: Devices) -> None:
        """Count when asked."""
        self._devices = devices
        self._known: Mapping[str, int] | None = None
        devices.listeners.append(self._changed)

    def on(self, node: str) -> int:
        """The number of GPUs that claims hold on a node.

        A claim for what its pod requests as a resource holds none: the request is counted.
        """
        if self._known is None:
            classes = self._devices.classes
            found = ((key.name, classes.get(key)) for key in classes.keys())  # noqa: SIM118 - a Store is not a dict
            gpus = {name for name, named in found if named and named.resource == GPU}
            held = (claim.held for claim in self._devices.claims if not claim.pod)
            self._known = claimed_gpus(held, gpus)
        return self._known.get(node, 0)

    def _changed(self, _old: object, _new: object) -> None:
        """Count again when asked."""
        self._known = None
