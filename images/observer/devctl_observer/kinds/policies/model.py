"""The parts of a LifecyclePolicy that the observer reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from devctl.api.kinds import LIFECYCLE_POLICY
from devctl_observer.control.kind import kind_of
from devctl_observer.judging.model import Base, Item


class PolicySpec(Base, frozen=True):
    """To which servers it applies; every server if both are empty."""

    flavors: Sequence[str] = ()
    users: Sequence[str] = ()


class Policy(Item, frozen=True):
    """A LifecyclePolicy."""

    spec: PolicySpec
    defaults: dict[str, Any] = msgspec.field(default_factory=dict)
    """What it gives to new servers, by field of their lifecycle."""


def _defaults(obj: Mapping[str, Any]) -> dict[str, Any]:
    limits = {name: value for name, value in obj["spec"].items() if isinstance(value, dict)}
    found = {name: value["default"] for name, value in limits.items() if "default" in value}
    return {"defaults": found}


KIND = kind_of(LIFECYCLE_POLICY, Policy, _defaults)
