"""What a server's pods are made from, as the role has recorded it.

This, and not the spec, is what runs.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from devctl.api.labels import FLAVOR, FLAVOR_GENERATION, MADE_FROM
from devctl_observer.judging.model import Base
from devctl_observer.servers.model import ServerSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

log = logging.getLogger(__name__)


class Recorded(NamedTuple):
    """The flavor that something was made from."""

    flavor: str
    generation: int


class MadeFrom(NamedTuple):
    """A StatefulSet's record."""

    pod_spec: Mapping[str, Any]
    layout: ServerSpec
    """The same, as far as the observer reads it."""
    flavor: Recorded
    flavor_spec: Mapping[str, Any]


class _Flavor(Base, frozen=True):
    name: str
    generation: int
    spec: dict[str, Any]


class _Record(Base, frozen=True):
    spec: dict[str, Any]
    flavor: _Flavor


def recorded(annotations: Mapping[str, str] | None) -> Recorded | None:
    """The flavor that a pod says it was made from."""
    name = (annotations or {}).get(FLAVOR, "")
    generation = (annotations or {}).get(FLAVOR_GENERATION, "")
    # Longer numbers are no generation, and Python refuses to read the longest.
    if not (name and generation.isascii() and generation.isdecimal() and len(generation) < 20):  # noqa: PLR2004 - digits of 64 bits
        return None
    return Recorded(name, int(generation))


def made_from(annotations: Mapping[str, str], whose: str) -> MadeFrom | None:
    """A StatefulSet's record; None where there is none that can be read.

    Args:
        annotations: The StatefulSet's.
        whose: Its namespace and name, for the log.
    """
    text = annotations.get(MADE_FROM)
    if text is None:
        return None
    try:
        record = msgspec.json.decode(text, type=_Record)
        layout = msgspec.convert(record.spec, ServerSpec)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        log.warning("%s: the record of what its pods are made from is broken: %r", whose, error)
        return None
    flavor = record.flavor
    return MadeFrom(record.spec, layout, Recorded(flavor.name, flavor.generation), flavor.spec)
