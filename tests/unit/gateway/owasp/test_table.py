"""The ten risks of OWASP's API Security Top 10 (2023), and what shows that each is met.

Cases of operations and IDs are made from the document, in `test_access` and `test_properties`; what
an API server may answer is in `test_upstream`. Here are the others, and the names of those that are
elsewhere.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from devctl_gateway.http.paging import MAX_LIMIT
from devctl_gateway.routes import ROUTERS
from fastapi.routing import APIRoute
from support.gateway_bodies import FACTS, JOB
from support.gateway_crowd import ADA, BOB, BOSS, KEEPER, ONE, Crowd
from support.gateway_document import document, operations
from support.gateway_risks import SHOWN

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Case = Callable[[Crowd], Awaitable[None]]

pytestmark = pytest.mark.anyio
TESTS = Path(__file__).resolve().parents[3]
NAMED = {f"{risk}-{case}": test for risk, cases in SHOWN.items() for case, test in cases.items()}


@pytest.mark.parametrize("test", NAMED.values(), ids=NAMED)
def test_it_is_shown_by(test: tuple[str, str]) -> None:
    path, name = test
    assert name in names_in(TESTS / path)


@cache
def names_in(path: Path) -> set[str]:
    """The tests of a file."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {each.name for each in ast.parse(path.read_text()).body if isinstance(each, kinds)}


async def a_token_in_the_address(people: Crowd) -> None:
    async with people.gateway.client() as nobody:
        for name in ("token", "access_token", "api_key", "authorization"):
            asked = {name: people.bearers[ADA]}
            cookie = {"Cookie": f"{name}={people.bearers[ADA]}"}
            answer = await nobody.get("/gpu-workers/accounts/me", params=asked, headers=cookie)
            assert answer.status_code == 401


async def pages_are_bounded(people: Crowd) -> None:
    lists = [
        each
        for each in operations()
        if "limit" in {parameter["name"] for parameter in each.said.get("parameters", [])}
    ]
    assert len(lists) > 5
    for each in lists:
        for limit in (0, MAX_LIMIT + 1, 10**20):
            answer = await people.ask(BOSS, "GET", each.path, params={"limit": limit})
            assert answer.status_code == 422, (str(each), limit)


async def a_report_that_changes_nothing_is_not_audited(people: Crowd) -> None:
    """Or a node could fill the log, whose entries nobody removes."""
    path, before = f"/jobs/{people.ids['job_id']}/status", await people.rows()
    for progress in range(3):
        report = {"status": "running", "progress": progress}
        answer = await people.ask(ONE, "POST", path, json=report)
        assert answer.json()["reported"]["progress"] == progress
    added = (await people.rows())["audit"][len(before["audit"]) :]
    assert [each["action"] for each in added] == ["job.report"]


async def what_names_an_address_is_not_fetched(people: Crowd) -> None:
    """All that the gateway reaches is its API server; here, nothing else could be reached."""
    asked = list(people.server.asked)
    inside = {"docker_image": "169.254.169.254/latest/meta-data"}
    assert (await people.ask(BOB, "POST", "/jobs/", json=JOB | inside)).status_code == 201
    host = FACTS | {"node_name": "far", "hostname": "169.254.169.254"}
    assert (await people.ask(KEEPER, "POST", "/nodes/register", json=host)).status_code == 201
    assert people.server.asked == asked


async def no_page_of_elsewhere_is_answered(people: Crowd) -> None:
    headers = {"Origin": "https://evil.test", "Access-Control-Request-Method": "POST"}
    for method in ("OPTIONS", "GET"):
        answer = await people.ask(ADA, method, "/jobs/", headers=headers)
        assert not [name for name in answer.headers if name.startswith("access-control-")]


async def methods_that_show_requests_are_not_there(people: Crowd) -> None:
    for method in ("TRACE", "CONNECT", "PUT", "DEBUG"):
        answer = await people.ask(ADA, method, "/jobs/")
        assert answer.status_code == 405
        assert answer.headers["content-type"] == "application/problem+json"


async def a_host_that_is_not_ours_leads_nowhere(people: Crowd) -> None:
    for path in ("/jobs", "/jobs//", "//evil.test/"):
        answer = await people.ask(ADA, "GET", path, headers={"Host": "evil.test"})
        assert answer.status_code == 404
        assert "location" not in answer.headers


async def there_are_no_pages_of_documentation(people: Crowd) -> None:
    for path in ("/docs", "/redoc", "/docs/oauth2-redirect", "/openapi.json", "/v1alpha1/jobs/"):
        async with people.gateway.client() as nobody:
            assert (await nobody.get(path)).status_code == 404
            answer = await nobody.get(f"/gpu-workers{path}")
            assert answer.status_code == (200 if path == "/openapi.json" else 404)


async def there_is_one_version_and_all_of_it_is_described(_: Crowd) -> None:
    every = [each for router in ROUTERS for each in router.routes]
    routes = [each for each in every if isinstance(each, APIRoute)]
    assert routes == every
    served = {(method, each.path_format) for each in routes for method in each.methods or ()}
    described = {(each.method, each.whole_path) for each in operations()}
    assert served ^ described == {("GET", "/metrics")}
    assert not [each for each in operations() if each.said.get("deprecated")]
    assert document()["info"]["version"] == "v1alpha1"


CASES: dict[str, Case] = {
    "API2-a-token-in-the-address": a_token_in_the_address,
    "API4-pages": pages_are_bounded,
    "API4-an-agents-reports": a_report_that_changes_nothing_is_not_audited,
    "API7-what-names-an-address": what_names_an_address_is_not_fetched,
    "API8-pages-of-elsewhere": no_page_of_elsewhere_is_answered,
    "API8-methods": methods_that_show_requests_are_not_there,
    "API8-another-host": a_host_that_is_not_ours_leads_nowhere,
    "API9-documentation": there_are_no_pages_of_documentation,
    "API9-versions": there_is_one_version_and_all_of_it_is_described,
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_it_holds(people: Crowd, case: Case) -> None:
    await case(people)


def test_each_risk_has_a_case() -> None:
    assert [*SHOWN] == [f"API{number}" for number in range(1, 11)]
    assert all(SHOWN.values())
