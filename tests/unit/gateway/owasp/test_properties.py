"""What requests may set and answers show, and how much: of OWASP's ten, API3 and API4."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from devctl_gateway.store import tables
from support.gateway_crowd import PEOPLE, Crowd, Rows
from support.gateway_document import Operation, operations, resolved
from support.gateway_rights import USES

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.anyio
Thing = dict[str, Any]
TAKING = [each for each in operations() if each.body is not None]
SHOWN_ONCE = {"POST /keys/": "key", "POST /keys/{key_id}/rotate": "key"} | {
    "POST /registration-tokens/": "token",
    "POST /nodes/register": "api_key",
}
SECRET = {"key", "token", "api_key", "hash", "secret", "fingerprint", "digest", "password"}
ANYTHING = {"input_data"}
"""What a program gets, and nothing of ours reads: as a whole, its length is bounded."""


def columns() -> set[str]:
    return {column.name for table in tables.METADATA.tables.values() for column in table.c}


@pytest.mark.parametrize("operation", TAKING, ids=lambda each: f"API3-{each}")
async def test_nobody_assigns_what_is_not_asked_for(
    people: Crowd, rows: Rows, operation: Operation
) -> None:
    asked = (operation.body or {})["properties"].keys()
    shown = {name for answer in operation.answers for name in answer["properties"]}
    use = next(use for use in USES if use.operation == str(operation) and use.may)
    who = next(each for each in PEOPLE if each in use.may)
    method, path, more = use.request(people.ids)
    assert (shown | columns()) - asked
    for name in sorted((shown | columns()) - asked):
        answer = await people.ask(who, method, path, json=more["json"] | {name: "1"})
        assert answer.status_code == 422, name
        assert [each["field"] for each in answer.json()["errors"]] == [f"body.{name}"]
    assert await people.rows() == rows


@pytest.mark.parametrize("operation", operations(), ids=lambda each: f"API3-{each}")
def test_answers_have_no_secret_but_that_which_is_shown_once(operation: Operation) -> None:
    names = {name for answer in operation.answers for name, _ in fields(answer)}
    once = {SHOWN_ONCE[str(operation)]} if str(operation) in SHOWN_ONCE else set()
    assert names & SECRET == once


@pytest.mark.parametrize("operation", operations(), ids=lambda each: f"API4-{each}")
def test_whatever_is_asked_is_bounded(operation: Operation) -> None:
    parameters = operation.said.get("parameters", [])
    asked = [(each["name"], each["schema"]) for each in parameters]
    for name, schema in [*asked, *fields(operation.body or {})]:
        assert is_bounded(resolved(schema)) or name in ANYTHING, name


@pytest.mark.parametrize("operation", TAKING, ids=lambda each: f"API3-{each}")
def test_bodies_have_no_further_fields_at_any_depth(operation: Operation) -> None:
    inner = [resolved(each) for name, each in fields(operation.body or {}) if name not in ANYTHING]
    for schema in [operation.body or {}, *inner]:
        if schema.get("type") == "object":
            assert schema["additionalProperties"] is False


def fields(schema: Thing) -> Iterator[tuple[str, Thing]]:
    """The fields of a schema, and of what they hold."""
    for name, each in schema.get("properties", {}).items():
        found = resolved(each)
        yield name, each
        yield from fields(found)
        yield from fields(resolved(found.get("items", {})))


def is_bounded(schema: Thing) -> bool:
    """Whether a value cannot be of any size."""
    if "enum" in schema or "const" in schema:
        return True
    match schema.get("type"):
        case "string":
            # A pattern without a star or a plus says how long it can be; a time has a length.
            open_ended = set(schema.get("pattern", "*")) & {*"*+"}
            return "maxLength" in schema or schema.get("format") == "date-time" or not open_ended
        case "integer":
            return {"minimum", "maximum"} <= schema.keys()
        case "array":
            return "maxItems" in schema and is_bounded(resolved(schema["items"]))
        case "object":
            return schema.get("additionalProperties") is False
    return schema.get("type") in {"boolean", "null"}
