"""What a command has changed: a line for each at once, or its objects at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import click

from devctl.cli.formats import is_document
from devctl.cli.tables import print_document, print_list
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping


class Changed(Protocol):
    """An object that a command changes."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def raw(self) -> Mapping[str, object]:
        """All that the API server says of it."""


class Results:
    """What a command has changed.

    Args:
        output: `name`, a format of documents, or None for a line that a person reads.
        resource: What stands before names.
    """

    def __init__(self, output: str | None, resource: str = "devserver") -> None:
        """Nothing has changed yet."""
        self._output, self._resource = output, resource
        self._found: dict[tuple[str, str], Changed] = {}

    @property
    def quiet(self) -> bool:
        """Whether a program reads, which needs no hints."""
        return self._output is not None

    def add(self, item: Changed, did: str, resource: str = "") -> None:
        """Tell of a change; an object that was told of before is only remembered as it is now.

        Args:
            item: What has changed.
            did: What was done to it, such as `stopped`.
            resource: What stands before its name; else that of all.
        """
        key = (resource or self._resource, item.name)
        known, self._found[key] = key in self._found, item
        if known or is_document(self._output):
            return
        name = f"{key[0]}/{one_line(item.name)}"
        click.echo(name if self._output == "name" else f"{name} {did}")

    def print(self) -> None:
        """Print the objects where they are asked for: one as it is, several as a List."""
        if not is_document(self._output):
            return
        found = [item.raw for item in self._found.values()]
        if len(found) == 1:
            print_document(found[0], str(self._output))
        else:
            print_list(found, str(self._output))
