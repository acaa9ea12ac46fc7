"""What a claim asks to see of the node's cache, beside its GPUs. Pure.

A claim's configuration for the driver is an object of the kind CacheMounts, which may be anybody's
work: it has names only, of which paths are made here.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from devctl.api.node_cache import (
    MOST_MOUNTS,
    MOUNTS_KIND,
    MOUNTS_VERSION,
    mirror_path,
    model_path,
)
from devctl_dra_plugin.names import DRIVER
from devctl_dra_plugin.planning import ClaimError, Shared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from devctl_dra_plugin.planning import Preparation

    IsThere = Callable[[str], bool]
    """Whether the node's cache has a path whole."""

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")
_REPO = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,95}(?:/[A-Za-z0-9_][A-Za-z0-9._-]{0,95})?")
_LISTS = {"repositories": _NAME, "models": _REPO, "required": _NAME}
_FIELDS = {"apiVersion", "kind", *_LISTS}
_LONGEST = 80


class Wanted(NamedTuple):
    """A valid configuration."""

    requests: tuple[str, ...]
    """Whose containers it is for; all if it names none."""
    repositories: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    """Those of the repositories without which nothing starts."""


def with_cache(
    planned: Preparation, claim: Mapping[str, Any], node: str, is_there: IsThere
) -> Preparation:
    """A claim with what it sees of the cache.

    Raises:
        ClaimError: Its configuration is not valid, or a repository that it requires is missing.
    """
    asked = wanted(claim)
    for name in (name for each in asked for name in each.required):
        if not is_there(mirror_path(name)):
            raise ClaimError(
                f"repository `{name}` is not in the cache of node `{node}` yet: its cache agent "
                "fetches it, if the CachePlan has it for this node"
            )
    return replace(planned, shared=_shared(planned, asked, is_there))


def found_with_cache(
    found: Preparation, claim: Mapping[str, Any], is_there: IsThere
) -> Preparation:
    """A claim that may be in use already: whatever it lacks, it keeps its GPUs."""
    try:
        asked = wanted(claim)
    except ClaimError:
        return found
    return replace(found, shared=_shared(found, asked, is_there))


def wanted(claim: Mapping[str, Any]) -> list[Wanted]:
    """The configurations of a claim that are for the driver.

    Raises:
        ClaimError: One is not valid.
    """
    allocation = claim.get("status", {}).get("allocation") or {}
    configs = allocation.get("devices", {}).get("config") or []
    return [
        _read(opaque.get("parameters"), config.get("requests") or ())
        for config in configs
        if (opaque := config.get("opaque") or {}).get("driver") == DRIVER
    ]


def _shared(planned: Preparation, asked: Sequence[Wanted], is_there: IsThere) -> tuple[Shared, ...]:
    found = []
    for request in dict.fromkeys(each.request for each in planned.given):
        mine = [each for each in asked if not each.requests or request in each.requests]
        mirrors = [mirror_path(name) for each in mine for name in each.repositories]
        models = [model_path(repo) for each in mine for repo in each.models]
        paths = tuple(path for path in dict.fromkeys([*mirrors, *models]) if is_there(path))
        if paths:
            found.append(Shared(request, paths, bool(models) and {*models} <= {*paths}))
    return tuple(found)


def _read(said: Any, requests: Sequence[str]) -> Wanted:
    if not isinstance(said, dict):
        raise _invalid("it is no object")
    if (said.get("apiVersion"), said.get("kind")) != (MOUNTS_VERSION, MOUNTS_KIND):
        raise _invalid(f"it is not of the kind {MOUNTS_KIND} in {MOUNTS_VERSION}")
    for name in said:
        if name not in _FIELDS:
            raise _invalid(f"there is no field {_shown(name)}")
    lists = {field: tuple(_names(said, field)) for field in _LISTS}
    for name in lists["required"]:
        if name not in lists["repositories"]:
            raise _invalid(f"`required` names `{name}`, and `repositories` does not")
    # A choice within a request is not told apart from the others.
    return Wanted(tuple(name.partition("/")[0] for name in requests), **lists)


def _names(said: Mapping[str, Any], field: str) -> Iterator[str]:
    names = said.get(field) or []
    if not isinstance(names, list) or len(names) > MOST_MOUNTS:
        raise _invalid(f"`{field}` is no list of at most {MOST_MOUNTS} names")
    for name in names:
        if not isinstance(name, str) or not _LISTS[field].fullmatch(name):
            raise _invalid(f"`{field}` has {_shown(name)}, which is no name")
        yield name


def _shown(thing: object) -> str:
    """Something of anybody's for a message."""
    return f"`{ascii(thing)[:_LONGEST]}`"


def _invalid(why: str) -> ClaimError:
    return ClaimError(f"the claim's configuration for {DRIVER} is not valid: {why}")
