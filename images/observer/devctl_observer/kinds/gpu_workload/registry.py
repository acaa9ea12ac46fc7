"""The strategies by name: devctl's own, and those that other installed packages add."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from importlib.metadata import entry_points

from devctl_observer.kinds.gpu_workload.strategies import BUILT_IN, Strategy

log = logging.getLogger(__name__)

GROUP = "devctl.scheduling_strategies"
"""The group of entry points; the name of one is the value of spec.schedulingStrategy."""


def installed() -> Mapping[str, Strategy]:
    """All strategies. Nobody replaces devctl's own, and one that cannot be imported is left out."""
    found: dict[str, Strategy] = {}
    for entry in entry_points(group=GROUP):
        try:
            found[entry.name] = entry.load()
        except Exception as error:  # noqa: BLE001 - another package's code must not end the process
            log.warning("strategy %s of %s cannot be loaded: %r", entry.name, entry.value, error)
    return {**found, **BUILT_IN}
