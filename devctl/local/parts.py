"""The optional parts of a local cluster, as parts.toml lists them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PARTS_FILE = Path(__file__).with_name("parts.toml")


@dataclass(frozen=True)
class Part:
    """One part; parts.toml explains the fields."""

    name: str
    summary: str
    images: tuple[str, ...] = ()
    ready: tuple[str, ...] = ()
    in_use: tuple[str, ...] = ()
    cleanup: str = ""
    certificate: tuple[str, ...] = ()
    authenticator: str = ""
    base: str = ""
    password: bool = False
    registry: str = ""
    objects: str = ""
    needs: tuple[str, ...] = ()


def load_parts(file: Path = PARTS_FILE) -> dict[str, Part]:
    """Every part that a cluster can have, by name, in the order in which they are installed."""
    entries: dict[str, dict[str, Any]] = tomllib.loads(file.read_text())
    return {name: _part(name, entry) for name, entry in entries.items()}


def _part(name: str, entry: Mapping[str, Any]) -> Part:
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}
    return Part(name, **fields)


def choose(
    stored: Iterable[str],
    added: Iterable[str],
    removed: Iterable[str],
    known: Mapping[str, Part],
) -> tuple[str, ...]:
    """The names of the parts that a cluster is to have, in the order of `known`.

    Args:
        stored: Those that it has.
        added: Those to add; it may have them already.
        removed: Those to remove; it may lack them.
        known: Every part that exists.

    Raises:
        UsageError: A part does not exist, is both added and removed, or lacks one that it needs. A
            part that is removed need not exist: another checkout may have installed it.
    """
    stored, added, removed = set(stored), set(added), set(removed)
    if both := added & removed:
        raise UsageError(
            f"part `{min(both)}` is both added and removed", "give either `--with` or `--without`"
        )
    wanted = stored - removed | added
    for name in sorted(added | (removed - stored)):
        if name not in known:
            raise UsageError(f"there is no part `{name}`", f"there is {_listed(known)}")
    for name in sorted(wanted):
        if name not in known:
            raise UsageError(
                f"this checkout has no part `{name}`, which the cluster has",
                f"remove it with `--without {name}`",
            )
        for need in known[name].needs:
            if need not in wanted:
                raise UsageError(
                    f"part `{name}` needs part `{need}`",
                    f"give `--with {need},{name}`, or `--without {name}`",
                )
    return tuple(name for name in known if name in wanted)


def _listed(known: Iterable[str]) -> str:
    *others, last = (f"`{name}`" for name in known)
    return f"{', '.join(others)} and {last}" if others else last


def images_of(parts: Iterable[Part]) -> list[str]:
    """The images of these parts, by name."""
    return [image for part in parts for image in part.images]
