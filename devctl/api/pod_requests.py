"""What a pod requests of its node, as the scheduler adds it up."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from devctl.api.placing import effective_requests

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Amounts = dict[str, Decimal]
_NONE = Decimal(0)
_SIDECAR = "Always"
"""The restart policy that makes an init container a sidecar."""


def requested(spec: Mapping[str, Any]) -> Amounts:
    """What the scheduler counts for a pod, by resource.

    >>> one, two = ({"resources": {"limits": {"example.com/gpu": n}}} for n in (1, "2"))
    >>> requested({"containers": [one, two], "initContainers": [two]})
    {'example.com/gpu': Decimal('3')}

    Args:
        spec: The pod's spec.

    Raises:
        ValueError: It requests what is not a quantity.
    """
    inits = spec.get("initContainers") or ()
    return added_up(
        (_of(container) for container in spec.get("containers") or ()),
        ((_of(each), str(each.get("restartPolicy", ""))) for each in inits),
        whole=_of(spec),
        overhead=effective_requests(spec.get("overhead") or {}, {}),
    )


def added_up(
    containers: Iterable[Amounts],
    inits: Iterable[tuple[Amounts, str]],
    *,
    whole: Amounts,
    overhead: Amounts,
) -> Amounts:
    """The same, of what its parts request.

    Containers run together, so their sum counts; init containers run before, so their peak counts.

    Args:
        containers: Of each container.
        inits: Of each init container, with its restart policy, in their order.
        whole: Of the pod itself, in the place of its containers.
        overhead: Of its runtime, in addition.
    """
    total: Amounts = {}
    for amounts in containers:
        total = plus(total, amounts)
    # Sidecars count with the main containers, and with the init containers after them.
    beside: Amounts = {}
    peak: Amounts = {}
    for amounts, policy in inits:
        needs = plus(beside, amounts)
        if policy == _SIDECAR:
            beside = needs
        peak = _most(peak, needs)
    return plus(_most(plus(total, beside), peak) | whole, overhead)


def plus(one: Amounts, other: Amounts) -> Amounts:
    """The sum of two.

    >>> plus({"cpu": Decimal(1)}, {"cpu": Decimal(2), "pods": Decimal(1)})
    {'cpu': Decimal('3'), 'pods': Decimal('1')}
    """
    return {name: one.get(name, _NONE) + other.get(name, _NONE) for name in one | other}


def _of(thing: Mapping[str, Any]) -> Amounts:
    found = thing.get("resources") or {}
    return effective_requests(found.get("requests") or {}, found.get("limits") or {})


def _most(one: Amounts, other: Amounts) -> Amounts:
    return {name: max(one.get(name, _NONE), other.get(name, _NONE)) for name in one | other}
