"""The calls of the client: a method for each operation, and its twin for asyncio."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, NamedTuple

from workers_client.document import JSON, Operation, Schema, model_of, operations
from workers_client.names import class_name, is_page
from workers_client.signatures import arguments, asked, docstring, has_key, place, signature

if TYPE_CHECKING:
    from collections.abc import Iterator

CONSTANT = frozenset({"cancel_job", "report_heartbeat", "report_job_status"})
"""Operations whose repetition changes nothing, though their method does not say so."""
AT_ONCE = frozenset({"healthz", "readyz"})
"""Operations that ask how something is now: they are not repeated until it is well."""
_FILE, _SILENCE = "application/octet-stream", 60.0
"""The media type of files, and the seconds after which one that does not go on is given up."""
_REPEATED = frozenset({"GET", "DELETE", "PUT"})
_MODULE = '''from __future__ import annotations

from typing import TYPE_CHECKING

from devctl.client.workers.generated.models import {models}
from devctl.client.workers.pages import all_pages
from devctl.client.workers.writing import part, whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from devctl.client.workers.api import Api


class Calls:
    """Every operation of the GPU workers API, by its name there. Lists are read page by page."""

    def __init__(self, api: Api) -> None:
        """Take the API; ask nothing yet."""
        self._api = api

{methods}'''
_TWINS = '''from __future__ import annotations

from devctl.client.async_calls import AsyncPart, awaited, iterated
from devctl.client.workers.generated.calls import Calls


class AsyncCalls(AsyncPart):
    """Every operation of the GPU workers API; see Calls."""

{twins}
'''


class Call(NamedTuple):
    """A method of the client.

    Attributes:
        name: Of the method.
        kind: The type of what it returns.
        source: Of all of it.
    """

    name: str
    kind: str
    source: str

    @property
    def twin(self) -> str:
        """The line that makes it one of asyncio."""
        wraps = "iterated" if self.kind.startswith("Iterator") else "awaited"
        return f"{self.name} = {wraps}(Calls.{self.name})"


def calls(document: Schema) -> str:
    """The module that has all calls.

    Args:
        document: The API's.
    """
    made = _all(document)
    words = {word for call in made for word in re.findall(r"\w+", call.source)}
    classes = {class_name(name) for name in document["components"]["schemas"]}
    return _MODULE.format(
        models=", ".join(sorted(words & classes)),
        methods=textwrap.indent("\n".join(call.source for call in made), "    "),
    )


def async_calls(document: Schema) -> str:
    """The module that has them for asyncio, which the others do without.

    Args:
        document: The API's.
    """
    twins = "\n".join(call.twin for call in _all(document))
    return _TWINS.format(twins=textwrap.indent(twins, "    "))


def _all(document: Schema) -> list[Call]:
    return [call for operation in operations(document) for call in _calls(operation)]


def _calls(operation: Operation) -> Iterator[Call]:
    """One for each media type of its answer; JSON's has the operation's own name."""
    texts = [media for media in operation.answers if media != JSON]
    about, where = operation.details["description"], [place(operation), *_query(operation)]
    if JSON in operation.answers or not texts:
        yield _json(operation, about, where)
        for media in texts:
            form = media.rpartition("/")[2]
            words = ", ".join([*where, f'accept="{media}"'])
            run = f"self._api.text({words})"
            more = f"{about.rstrip('.')}; as {form.upper()}."
            yield _call(operation, more, "str", run, suffix=f"_{form}")
    else:
        where += [f"silence={_SILENCE}"] if _FILE in operation.answers else []
        yield _call(operation, about, "Iterator[bytes]", f"self._api.stream({', '.join(where)})")


def _json(operation: Operation, about: str, where: list[str]) -> Call:
    component = model_of(operation.answers.get(JSON, {}))
    kind = class_name(component) if component else "None"
    if is_page(component):
        run = f"all_pages({', '.join(['self._api', kind, *where])})"
        return _call(operation, about, f"Iterator[{kind.removesuffix('Page')}]", run)
    if not component:
        if operation.method != "DELETE":
            raise ValueError(f"{operation.name} answers nothing: say here how it is asked")
        return _call(operation, about, kind, f"self._api.delete({place(operation)})")
    words = [kind, f'"{operation.method}"', *where]
    words += ["body=body"] if operation.body else []
    words += ["key=key"] if has_key(operation) else []
    words += ["repeat=True"] if _repeats(operation) else []
    return _call(operation, about, kind, f"self._api.call({', '.join(words)})")


def _repeats(operation: Operation) -> bool:
    again = operation.method in _REPEATED or operation.name in CONSTANT
    return again and operation.name not in AT_ONCE


def _query(operation: Operation) -> list[str]:
    """The argument that has the parameters of the query, if there are any."""
    pairs = ", ".join(f'"{each["name"]}": {each["name"]}' for each in asked(operation))
    return [f"{{{pairs}}}"] if pairs else []


def _call(operation: Operation, about: str, kind: str, run: str, *, suffix: str = "") -> Call:
    given, name = list(arguments(operation)), operation.name + suffix
    lines = [docstring(about, given), run if kind == "None" else f"return {run}"]
    body = textwrap.indent("\n".join(lines), "    ")
    return Call(name, kind, f"def {name}({signature(given)}) -> {kind}:\n{body}\n")
