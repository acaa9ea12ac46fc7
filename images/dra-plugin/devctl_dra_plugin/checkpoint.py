"""Which claims the node holds, in a file that outlives plugin, kubelet and node."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from devctl_dra_plugin.files import write_whole
from devctl_dra_plugin.planning import Given, Preparation, Shared, is_uid

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

log = logging.getLogger(__name__)

_VERSION = 1

Claims = dict[str, Preparation]
"""By UID."""


def read(path: Path) -> Claims | None:
    """The claims; None if the file is missing or broken: then the API server is asked."""
    try:
        return parse(path.read_text())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        log.error("%s is unusable, and is made again: %s", path, error)  # noqa: TRY400
        return None


def write(path: Path, claims: Mapping[str, Preparation]) -> None:
    """Replace what the file says."""
    write_whole(path, text(claims.values()))


def text(claims: Iterable[Preparation]) -> str:
    """The content of the file."""
    return json.dumps({"version": _VERSION, "claims": [asdict(each) for each in claims]}, indent=1)


def parse(content: str) -> Claims:
    """What a file says.

    Raises:
        ValueError: It is not ours, or of another version.
        KeyError: Something is missing.
        TypeError: Something is missing.
    """
    found = json.loads(content)
    if found["version"] != _VERSION:
        raise ValueError(f"version {found['version']}")
    claims = [_preparation(each) for each in found["claims"]]
    if not all(is_uid(each.uid) for each in claims):
        raise ValueError("a UID is none")
    return {each.uid: each for each in claims}


def _preparation(said: Mapping[str, Any]) -> Preparation:
    given = tuple(Given(**each) for each in said["given"])
    # Those of an older plugin see nothing of the cache.
    shared = tuple(_shared(each) for each in said.get("shared", []))
    return Preparation(**{**said, "given": given, "shared": shared})


def _shared(said: Mapping[str, Any]) -> Shared:
    return Shared(**{**said, "paths": tuple(said["paths"])})
