"""Whose each GPU is: what the host's tool has reserved, and what is to be written. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from devctl_dra_plugin import entries
from devctl_dra_plugin.entries import Reservation
from devctl_dra_plugin.planning import ClaimError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from devctl_dra_plugin.planning import Preparation

_NOT_IN_LABELS = re.compile(r"[^A-Za-z0-9._-]+", re.ASCII)
_MAX_LABEL = 63

Found = dict[int, Reservation]
"""Who has reserved a GPU, by its index; reservations that have ended are among them."""


@dataclass(frozen=True)
class View:
    """What is known of the host's reservations."""

    users: Mapping[int, str] = field(default_factory=dict)
    """Who has a GPU, by its index."""
    problem: str = ""
    """Why nobody knows any more; then no new claim gets a GPU."""


NOTHING = View()


@dataclass(frozen=True)
class Change:
    """What is to be written, all at once."""

    states: Mapping[int, str]
    """The new content of GPUs' keys."""
    ended: tuple[Reservation, ...] = ()
    """What goes into the tool's history of use."""
    lost: tuple[Reservation, ...] = ()
    """Reservations of GPUs that our claims hold: two use the same one."""


def reserved(found: Mapping[int, Reservation], now: float) -> dict[int, str]:
    """The users of the host who have a GPU, by its index."""
    return {
        index: each.user
        for index, each in found.items()
        if each.claim is None and not each.is_over(now)
    }


def taken(claim: Preparation, found: Mapping[int, Reservation], now: float) -> Change:
    """Reserve a claim's GPUs, or none of them.

    Entries of other claims of ours are no obstacle: the plugin's record decides between claims.

    Raises:
        ClaimError: Somebody on the host has one of them.
    """
    states, ended = {}, []
    for index in indexes(claim):
        there = found.get(index)
        if there is not None and there.claim is None:
            if not there.is_over(now):
                raise ClaimError(str(there))
            ended.append(there)
        states[index] = entries.state(claim, there, now)
    return Change(states, tuple(ended))


def settled(
    held: Iterable[Preparation], found: Mapping[int, Reservation], now: float, *, is_all: bool
) -> Change:
    """Bring what the keys say in line with what the node's claims hold.

    Args:
        held: The claims.
        found: What the keys say.
        now: Seconds since 1970.
        is_all: Whether no other claim can hold a GPU here, so that what is left over of ours goes.
    """
    states, ended, lost = {}, [], []
    holders = {index: claim for claim in held for index in indexes(claim)}
    for index, claim in holders.items():
        there = found.get(index)
        if there is not None and there.claim is None and not there.is_over(now):
            lost.append(there)
        elif there is None or there.claim != claim.uid or not there.is_fresh(now):
            states[index] = entries.state(claim, there, now)
            if there is not None and there.claim != claim.uid:
                ended.append(there)
    for index, each in found.items():
        if is_all and index not in holders and each.claim is not None:
            states[index] = entries.released(now)
            ended.append(each)
    return Change(states, tuple(ended), tuple(lost))


def given_back(claim: Preparation, found: Mapping[int, Reservation], now: float) -> Change:
    """Release what is this claim's, and nothing else."""
    ours = [each for each in found.values() if each.claim == claim.uid]
    return Change({each.index: entries.released(now) for each in ours}, tuple(ours))


def indexes(claim: Preparation) -> list[int]:
    """The GPUs that a claim has for itself: an administrator's access takes none."""
    return sorted({each.index for each in claim.given if not each.admin})


def label(user: str) -> str:
    """A user as the value of a taint, which allows few characters.

    >>> label("alice"), label("Ann Example (root)"), label("???")
    ('alice', 'Ann-Example-root', 'unknown')
    """
    return _NOT_IN_LABELS.sub("-", user)[:_MAX_LABEL].strip("-._") or "unknown"
