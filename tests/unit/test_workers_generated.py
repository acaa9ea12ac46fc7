"""The GPU workers API's document and client are those of the gateway, and what makes them."""

from __future__ import annotations

import doctest
import json
from typing import Any

import pytest
from workers_client import calls, document, files, models, names, signatures

from devctl.client.workers.generated.calls import Calls


def described(*, answer: dict[str, Any] | None = None, method: str = "post") -> dict[str, Any]:
    """A document with one operation, which is asked and answers the same thing."""
    where = {"name": "thing_id", "in": "path", "description": "Which one.", "schema": {}}
    thing = {"$ref": "#/components/schemas/Thing"}
    content = {"application/json": {"schema": thing}}
    responses = {"200": {"content": content} if answer is None else answer}
    operation = {"operationId": "make_thing", "description": "Make it. It is blue."}
    fields = {"size": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}
    schema = {"type": "object", "description": "A thing.", "properties": fields}
    return {
        "paths": {
            "/things/{thing_id}": {
                method: {
                    **operation,
                    "parameters": [where],
                    "requestBody": {"content": content},
                    "responses": responses,
                }
            }
        },
        "components": {"schemas": {"Thing": schema}},
    }


def test_examples() -> None:
    for module in (document, names, signatures):
        assert doctest.testmod(module).failed == 0


def test_the_files_are_what_the_gateway_says() -> None:
    """Otherwise, run `make api`."""
    found = {path: path.read_text() for path in files.rendered()}
    assert files.rendered() == found
    assert json.loads(found[files.DOCUMENT]) == document.document()
    assert {*files.FOLDER.glob("*.py")} == found.keys() - {files.DOCUMENT}


def test_what_is_said_of_operations_here_is_said_of_some() -> None:
    known = {each.name for each in document.operations(document.document())}
    assert known >= calls.CONSTANT | calls.AT_ONCE
    assert known <= {*dir(Calls)}


def test_what_is_answered_may_lack_what_can_be_null_and_is_any_text() -> None:
    found = models.narrowed(document.document())["components"]["schemas"]
    job = found["WorkerJob"]
    assert job["properties"]["queue"]["default"] is None
    assert job["properties"]["state"] == {"type": "string"}
    assert "enum" in found["NewJob"]["properties"]["priority"]
    assert found["NewJob"]["required"] == ["job_name", "docker_image"]


def test_a_schema_that_is_both_asked_and_answered_has_one_meaning() -> None:
    with pytest.raises(ValueError, match="Thing"):
        models.narrowed(described())


def test_an_operation_is_a_call_and_its_twin() -> None:
    made = calls.calls(described())
    assert "def make_thing(self, thing_id: str, body: Thing) -> Thing:" in made
    assert '"""Make it.\n\n        It is blue.' in made
    assert 'f"/things/{part(thing_id)}", body=body)' in made
    assert "make_thing = awaited(Calls.make_thing)" in calls.async_calls(described())


def test_an_operation_that_answers_nothing_deletes() -> None:
    made = calls.calls(described(answer={}, method="delete"))
    assert 'self._api.delete(f"/things/{part(thing_id)}")' in made
    with pytest.raises(ValueError, match="make_thing answers nothing"):
        calls.calls(described(answer={}))
