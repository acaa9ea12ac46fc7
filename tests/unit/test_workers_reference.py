"""The site's page of the GPU workers API has all that its document has."""

from __future__ import annotations

import doctest
import json
from typing import Any

import pytest
from reference import bounds, endpoints

from devctl.local.paths import REPOSITORY

FILE = REPOSITORY / "docs" / "workers-openapi.json"


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text())
    return found


@pytest.fixture(scope="module")
def page() -> str:
    return endpoints.page(FILE)


def section(page: str, title: str) -> str:
    """What is below a title."""
    return page.partition(f"\n{title}\n{'~' * len(title)}\n")[2].partition("\n~~~")[0]


def test_examples() -> None:
    for module in (bounds, endpoints):
        assert doctest.testmod(module).failed == 0


def test_an_operation_has_its_name_who_may_and_all_that_it_is_asked(
    page: str, document: dict[str, Any]
) -> None:
    missing = []
    for path, methods in document["paths"].items():
        for method, details in methods.items():
            title = f"{method.upper()} {path}"
            found = section(page, title)
            texts = [f"``{details['operationId']}``", "\nAnswer\n   2"]
            texts += [
                f"\n``{parameter['name']}``\n   {parameter['in']}, "
                for parameter in details.get("parameters", [])
            ]
            missing += [(title, text) for text in texts if text not in found]
            if ("\nBody\n" in found) is not ("requestBody" in details):
                missing.append((title, "its body"))
    assert not missing, missing


def test_a_schema_has_all_its_fields(page: str, document: dict[str, Any]) -> None:
    missing = []
    for name, schema in document["components"]["schemas"].items():
        found = page.partition(f".. _gpu-workers-{name}:\n")[2].partition("\n.. _")[0]
        fields = schema.get("properties", {})
        missing += [(name, field) for field in fields if f"\n``{field}``\n" not in found]
    assert not missing, missing


def test_who_may_is_said_and_the_text_can_be_printed(page: str) -> None:
    assert "the role ``admin``" in section(page, "GET /gpu-workers/accounts/")
    assert "everybody known" in section(page, "POST /gpu-workers/jobs/")
    assert "   everybody." in section(page, "GET /healthz")
    assert {each for each in page if not each.isprintable()} == {"\n"}


def test_the_bounds_of_a_field_are_said(page: str, document: dict[str, Any]) -> None:
    fields = document["components"]["schemas"]["NewJob"]["properties"]
    words = {name: list(bounds.bounds(field)) for name, field in fields.items()}
    found = section(page, "NewJob")
    assert sum(map(len, words.values())) > len(fields)
    missing = [word for each in words.values() for word in each if word not in found]
    assert not missing, missing
