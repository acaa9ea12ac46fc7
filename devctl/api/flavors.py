"""Which flavor a server gets: role, observer and command line must agree on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from devctl.api.defaults import FLAVOR, filled
from devctl.api.messages import listed

if TYPE_CHECKING:
    from collections.abc import Mapping


_NOT_IN_PODS = {"default", "preemptible", "cordoned", "price", "activityProbe"}


class Offer(NamedTuple):
    """What a flavor is to servers that choose one."""

    default: bool = False
    """Whether servers that name no flavor get it."""
    cordoned: bool = False
    """Whether it takes no new servers."""


class Choice(NamedTuple):
    """The name of a flavor, or why there is none."""

    name: str
    problem: str = ""


def offer(spec: Mapping[str, Any]) -> Offer:
    """What a flavor is to servers, by its spec."""
    return Offer(bool(spec.get("default")), bool(spec.get("cordoned")))


def choose(
    name: str | None, flavors: Mapping[str, Offer], *, had: str = "", applied: bool = False
) -> Choice:
    """The flavor that a server names, or else the default one.

    Admission keeps new servers from naming a cordoned flavor. But flavors become the default
    later, and a server without a flavor must not move to a cordoned one then.

    Args:
        name: The flavor that the server names; None for the default.
        flavors: Every flavor.
        had: The flavor that its pods were made from; empty if unknown.
        applied: Whether the server has been applied before, which counts if `had` is unknown.

    >>> flavors = {"small": Offer(default=True, cordoned=True), "large": Offer()}
    >>> choose("large", flavors).name, choose(None, flavors, had="small").name
    ('large', 'small')
    >>> choose("huge", flavors).problem
    'flavor `huge` does not exist; set spec.flavor to one of: large'
    """
    if name is not None:
        problem = f"flavor `{name}` does not exist; {_choices(flavors)}"
        return Choice(name) if name in flavors else Choice("", problem)
    defaults = sorted(flavor for flavor, offered in flavors.items() if offered.default)
    if len(defaults) == 1:
        [default] = defaults
        has_it = had == default if had else applied
        if has_it or not flavors[default].cordoned:
            return Choice(default)
        problem = f"the server names no flavor and the default, `{default}`, is cordoned"
        return Choice("", f"{problem}; {_choices(flavors)}")
    several = f"several flavors are the default ({listed(defaults)})"
    problem = several if defaults else "no flavor is the default"
    return Choice("", f"the server names no flavor and {problem}; {_choices(flavors)}")


def pod_part(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a flavor's spec that shapes pods.

    >>> pod_part({"resources": {}, "default": True, "preemptible": False})
    {'resources': {}}
    """
    return {field: value for field, value in spec.items() if field not in _NOT_IN_PODS}


def gives_the_same(then: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether pods would be made from two of these parts alike.

    >>> now = [{"key": "gpu", "operator": "Equal"}]
    >>> gives_the_same({"tolerations": [{"key": "gpu"}]}, {"tolerations": now})
    True
    """
    return bool(filled(then, FLAVOR) == filled(now, FLAVOR))


def _choices(flavors: Mapping[str, Offer]) -> str:
    if not flavors:
        return "there are no flavors yet: ask an administrator to make one"
    free = sorted(name for name, offered in flavors.items() if not offered.cordoned)
    if not free:
        return "all flavors are cordoned: ask an administrator to uncordon one"
    return f"set spec.flavor to one of: {listed(free)}"
