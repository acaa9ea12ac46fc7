"""Printing objects: tables for people, documents for programs, and what a command has changed."""

from __future__ import annotations

import json
import sys
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from devctl.cli.formats import JSONPATH, OutputFormat, is_document
from devctl.cli.screen import columns as terminal_columns
from devctl.cli.screen import is_terminal
from devctl.cli.tables import lines_of
from devctl.client.jsonpath import template
from devctl.text import one_line, readable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from devctl.cli.tables import Column
    from devctl.client.objects import Named
    from devctl.client.runs.record import Run
    from devctl.client.workers.generated.models import WorkerJob

    Changed = Named | Run | WorkerJob


def print_items(
    items: Iterable[Any],
    output: str,
    columns: Sequence[Column],
    resource: str,
    *,
    raw: Callable[[Any], object] = lambda item: item.raw,
    empty: str,
) -> None:
    """Print items as they arrive; without any, people are told `empty`.

    `resource` is the prefix of names in `-o name`; `raw` makes a document of an item.
    """
    if is_document(output):
        _print_list([raw(item) for item in items], output)
        return
    if output == "name":
        for item in items:
            print_item(item, output, resource)
        return
    rest = iter(items)
    first = next(rest, None)
    if first is None:
        click.echo(empty, err=True)
        return
    width = terminal_columns(sys.stdout)
    for line in lines_of(chain([first], rest), columns, width, wide=output == "wide"):
        click.echo(line)


def print_item(item: Any, output: str, resource: str) -> None:
    """Print one object: its name, a document, or what a `jsonpath=` makes of it, on a line."""
    if output == "name":
        click.echo(f"{resource}/{one_line(item.name)}")
        return
    if output == "yaml":
        click.echo("---")
    print_document(item.raw, output)


def _print_list(documents: Iterable[object], output: str) -> None:
    """Print documents as a List, like `kubectl get`."""
    found = [_published(document) for document in documents]
    print_document({"apiVersion": "v1", "kind": "List", "items": found}, output)


def print_document(document: object, output: str) -> None:
    """Print a document as `json` or `yaml`, or what a `jsonpath=` makes of it."""
    document = _published(document)
    if output.startswith(JSONPATH):
        escape = readable if is_terminal(sys.stdout) else str
        text = template(output.removeprefix(JSONPATH))(document, escape)
        click.echo(text, nl=is_terminal(sys.stdout) and not text.endswith("\n"))
        return
    if output == "json":
        click.echo(_safe(lambda plain: json.dumps(document, indent=2, ensure_ascii=plain)))
        return
    import yaml  # noqa: PLC0415 - rarely used

    text = _safe(lambda plain: yaml.safe_dump(document, sort_keys=False, allow_unicode=not plain))
    click.echo(text, nl=False)


def _safe(dump: Callable[[bool], str]) -> str:
    """A document for terminals: with control characters in it, all but ASCII is escaped."""
    text = dump(False)  # noqa: FBT003 - not ASCII alone
    return text if text.replace("\n", "").isprintable() else dump(True)  # noqa: FBT003


def _published(document: object) -> object:
    """An object without the API server's record of who set which field."""
    if not isinstance(document, dict) or "managedFields" not in (document.get("metadata") or {}):
        return document
    meta = {name: text for name, text in document["metadata"].items() if name != "managedFields"}
    return document | {"metadata": meta}


class Results:
    """What a command has changed: a line for each at once, or the objects at the end."""

    def __init__(self, output: str | None, resource: str) -> None:
        """Start with no changes; see `changes`."""
        self._output, self._resource = output, resource
        self._found: dict[tuple[str, str], Changed] = {}

    @property
    def quiet(self) -> bool:
        """Whether a program reads, which needs no hints."""
        return self._output is not None

    def add(self, item: Changed, did: str, resource: str = "") -> None:
        """Report a change once, such as `stopped`, and keep the object's latest state."""
        key = (resource or self._resource, item.name)
        known, self._found[key] = key in self._found, item
        if known or is_document(self._output):
            return
        name = f"{key[0]}/{one_line(item.name)}"
        click.echo(name if self._output == "name" else f"{name} {did}")

    def print(self) -> None:
        """Print the objects if `output` asks for documents: one as it is, several as a List."""
        if not is_document(self._output):
            return
        found = [item.raw for item in self._found.values()]
        if len(found) == 1:
            print_document(found[0], str(self._output))
        else:
            _print_list(found, str(self._output))


_FORMAT = OutputFormat(("name", "json", "yaml"))


def changes(resource: str = "devserver") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command that changes something `-o`, and Results as `results`.

    `resource` is the prefix of names. Without `-o`, people read a line about each change.
    """
    return click.option(
        "-o",
        "--output",
        "results",
        type=_FORMAT,
        metavar="FORMAT",
        callback=lambda _context, _option, output: Results(output, resource),
        help=f"{_FORMAT.listed}.",
    )
