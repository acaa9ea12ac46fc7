"""Deep modules, which prove rare things, and the rooms of the product that each proves."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FILE = REPOSITORY / "tests/deep.toml"


@dataclass(frozen=True)
class Deep:
    """A module, or a single test, that runs at a landing only if there is a reason.

    Attributes:
        id: Its path, or pytest's id of a test.
        proves: Its subject, in a few words.
        minutes: Wall-clock minutes that it adds to its tier on 2 cores.
        rooms: Names of the rooms that it proves.
    """

    id: str
    proves: str
    minutes: float
    rooms: tuple[str, ...]

    @property
    def file(self) -> str:
        """The path of its file."""
        return self.id.partition("::")[0]

    @property
    def tier(self) -> str:
        """The tier that it belongs to."""
        return Path(self.file).parts[1]


@dataclass(frozen=True)
class Plan:
    """All of tests/deep.toml.

    Attributes:
        modules: The deep modules.
        rooms: Patterns of each room's files.
        everything: Patterns of files on which all modules depend.
        fast: Patterns of files that fast tests prove alone.
        chooser: Patterns of files that decide what runs, and change no module's outcome.
    """

    modules: tuple[Deep, ...]
    rooms: Mapping[str, tuple[str, ...]]
    everything: tuple[str, ...] = ()
    fast: tuple[str, ...] = ()
    chooser: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the names of rooms.

        Raises:
            ValueError: If a module names a room that does not exist.
        """
        for module in self.modules:
            if unknown := set(module.rooms) - self.rooms.keys():
                raise ValueError(f"{module.id}: there is no room {', '.join(sorted(unknown))}")

    def patterns(self, module: Deep) -> tuple[str, ...]:
        """The patterns of all rooms of a module."""
        return tuple(pattern for room in module.rooms for pattern in self.rooms[room])


def load(file: Path = FILE) -> Plan:
    """Read the file.

    Raises:
        ValueError: If a module names a room that does not exist.
    """
    read = tomllib.loads(file.read_text())
    return Plan(
        modules=tuple(
            Deep(name, fields["proves"], fields["minutes"], tuple(fields["rooms"]))
            for name, fields in read["deep"].items()
        ),
        rooms={name: tuple(patterns) for name, patterns in read["rooms"].items()},
        everything=tuple(read["everything"]),
        fast=tuple(read["fast"]),
        chooser=tuple(read["chooser"]),
    )


def matches(file: str, patterns: Iterable[str]) -> bool:
    """Whether a file is one of some files and folders; `*` matches slashes, too.

    >>> matches("config/crd/devserver.yaml", ["config/crd"])
    True
    >>> matches("config/crds.yaml", ["config/crd"])
    False
    >>> matches("images/gateway/requirements.txt", ["images/*/requirements.txt"])
    True
    """
    return any(
        file == pattern or file.startswith(f"{pattern}/") or fnmatchcase(file, pattern)
        for pattern in patterns
    )
