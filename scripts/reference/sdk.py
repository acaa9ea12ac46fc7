"""The page of the SDK, from its docstrings."""

from __future__ import annotations

import inspect
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_type_hints

from reference import rst

from devctl import sdk
from devctl.client import async_client
from devctl.client.client import Client, Part
from devctl.client.jobs.jobs import Jobs
from devctl.client.workers.generated import models
from devctl.client.workers.generated.calls import Calls
from devctl.client.workers.jobs import WorkerJobs
from devctl.client.workers.keys import WorkerKeys
from devctl.client.workers.nodes import WorkerNodes

if TYPE_CHECKING:
    from collections.abc import Sequence

_CALLED = ("Execute", "Forward", "StartJupyter")
"""Parts that are called themselves."""


def page() -> str:
    """All classes, functions and errors that `devctl` exports, and the parts of a client."""
    parts = [rst.title("Python")]
    parts += _section("Client", [Client, sdk.AsyncClient])
    parts += _section("Parts of a client", [*_parts(Client), *_parts(Jobs)])
    parts += _section("GPU workers", [WorkerJobs, WorkerNodes, WorkerKeys, Calls])
    records = (each for each in vars(models).values() if inspect.isclass(each))
    asked = [each for each in records if each.__module__ == models.__name__]
    parts += _section("Requests and answers of GPU workers", asked)
    named = [getattr(sdk, name) for name in sdk.__all__]
    known = {Client, sdk.AsyncClient, *asked}
    shown = [each for each in named if inspect.isclass(each) and each not in known]
    parts += _section("Objects", [each for each in shown if not issubclass(each, Exception)])
    functions = [each for each in named if inspect.isfunction(each)]
    parts += _section("Commands for runs", functions)
    parts += _section("Errors", [each for each in shown if issubclass(each, Exception)])
    return "\n".join(parts)


def _parts(owner: type) -> list[type]:
    """The classes of an object's parts, which the module of AsyncClient imports.

    Workers is an object, and its parts have a section of their own: it needs no client.
    """
    found = (
        each
        for name, each in vars(owner).items()
        if isinstance(each, cached_property) and name != "workers"
    )
    return [
        each.type()
        if isinstance(each, Part)
        else get_type_hints(each.func, vars(async_client))["return"]
        for each in found
    ]


def _section(title: str, things: Sequence[Any]) -> list[str]:
    return [title, "-" * len(title), "", *map(_entry, things)]


def _entry(thing: Any) -> str:
    kind = "autofunction" if inspect.isfunction(thing) else "autoclass"
    name = f"{thing.__module__}.{thing.__qualname__}"
    members = (
        "" if inspect.isfunction(thing) else "   :members:\n   :inherited-members: Exception\n"
    )
    if name.rpartition(".")[2] in _CALLED:
        members += "   :special-members: __call__\n"
    return f".. {kind}:: {name}\n{members}"
