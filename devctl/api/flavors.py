"""Which flavor a server gets: role, observer and command line must agree on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from devctl.api.defaults import FLAVOR, filled
from devctl.api.messages import listed

if TYPE_CHECKING:
    from collections.abc import Mapping


_NOT_IN_PODS = {"default", "preemptible"}


class Choice(NamedTuple):
    """The name of a flavor, or why there is none."""

    name: str
    problem: str = ""


def choose(name: str | None, flavors: Mapping[str, bool]) -> Choice:
    """The flavor that a server names, or else the default; `flavors` tells for each if it is one.

    >>> choose(None, {"small": True, "large": False}).name
    'small'
    >>> choose("huge", {"small": True}).problem
    'flavor `huge` does not exist; set spec.flavor to one of: small'
    """
    if name is not None:
        problem = f"flavor `{name}` does not exist; {_choices(flavors)}"
        return Choice(name) if name in flavors else Choice("", problem)
    defaults = sorted(flavor for flavor, default in flavors.items() if default)
    if len(defaults) == 1:
        return Choice(defaults[0])
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


def _choices(flavors: Mapping[str, bool]) -> str:
    if not flavors:
        return "there are no flavors yet: ask an administrator to make one"
    return f"set spec.flavor to one of: {listed(sorted(flavors))}"
