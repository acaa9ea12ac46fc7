"""The site's page of the GPU workers API has all that its document has."""

from __future__ import annotations

import doctest
import json

import pytest
from reference import bounds, endpoints

from devctl.local.paths import REPOSITORY

FILE = REPOSITORY / "docs" / "workers-openapi.json"
DOCUMENT = json.loads(FILE.read_text())
OPERATIONS = {
    f"{method.upper()} {path}": details
    for path, methods in DOCUMENT["paths"].items()
    for method, details in methods.items()
}


@pytest.fixture(scope="module")
def page() -> str:
    return endpoints.page(FILE)


def section(page: str, title: str) -> str:
    """What is below a title."""
    return page.partition(f"\n{title}\n{'~' * len(title)}\n")[2].partition("\n~~~")[0]


def test_examples() -> None:
    for module in (bounds, endpoints):
        assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("title", OPERATIONS)
def test_an_operation_has_its_name_who_may_and_all_that_it_is_asked(page: str, title: str) -> None:
    details, found = OPERATIONS[title], section(page, title)
    assert f"``{details['operationId']}``" in found
    for parameter in details.get("parameters", []):
        assert f"\n``{parameter['name']}``\n   {parameter['in']}, " in found
    assert ("\nBody\n" in found) is ("requestBody" in details)
    assert "\nAnswer\n   2" in found


@pytest.mark.parametrize("name", DOCUMENT["components"]["schemas"])
def test_a_schema_has_all_its_fields(page: str, name: str) -> None:
    found = page.partition(f".. _gpu-workers-{name}:\n")[2].partition("\n.. _")[0]
    fields = DOCUMENT["components"]["schemas"][name].get("properties", {})
    assert [field for field in fields if f"\n``{field}``\n" not in found] == []


def test_roles_and_bounds_are_said(page: str) -> None:
    assert "the role ``admin``" in section(page, "GET /gpu-workers/accounts/")
    assert "everybody known" in section(page, "POST /gpu-workers/jobs/")
    assert "   everybody." in section(page, "GET /healthz")
    assert "integer, default ``1024``, at least 16, at most 67108864." in section(page, "NewJob")
    assert "one of ``low``, ``normal``, ``high``, default ``normal``" in section(page, "NewJob")
    assert {each for each in page if not each.isprintable()} == {"\n"}
