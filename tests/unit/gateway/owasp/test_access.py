"""Every operation and every ID times everybody who may not: of OWASP's ten, API1 and API5."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.gateway_crowd import ABSENT, PEOPLE, PLAIN, Crowd, Rows
from support.gateway_document import Operation, operations
from support.gateway_rights import USES, Use

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.anyio
PUBLIC = {"GET /healthz", "GET /readyz"}
"""What a kubelet asks, which shows nothing."""
BUSY = 409
"""The node, as Ada's job runs there."""


def refusals() -> Iterator[Any]:
    for use in USES:
        risk = "API1" if use.parameters - {*PLAIN} else "API5"
        for who in PEOPLE:
            if who not in use.may:
                yield pytest.param(use, who, id=f"{risk}-{use}-{who}")


@pytest.mark.parametrize(("use", "who"), [*refusals()])
async def test_who_may_not_is_answered_as_if_there_were_nothing(
    people: Crowd, rows: Rows, use: Use, who: str
) -> None:
    method, path, more = use.request(people.ids)
    answer = await people.ask(who, method, path, **more)
    assert answer.status_code == use.but.get(who, use.refused), answer.text
    assert await people.rows() == rows
    method, path, more = use.request(people.ids | ABSENT)
    absent = await people.ask(who, method, path, **more)
    if who not in use.but:
        assert told(answer.json(), people.ids) == told(absent.json(), ABSENT)


def told(problem: dict[str, Any], ids: dict[str, str]) -> dict[str, Any]:
    """What a refusal says, but for which request it was."""
    detail = problem["detail"]
    for name, value in ids.items():
        detail = detail.replace(value, name)
    return {"type": problem["type"], "status": problem["status"], "detail": detail}


@pytest.mark.parametrize("operation", operations(), ids=lambda each: f"API2-{each}")
async def test_nobody_is_answered_without_credentials(people: Crowd, operation: Operation) -> None:
    async with people.gateway.client() as nobody:
        path = operation.whole_path.format(**people.ids)
        answer = await nobody.request(operation.method, path)
    assert answer.status_code == (200 if str(operation) in PUBLIC else 401)


def test_no_operation_and_no_id_of_one_has_been_forgotten() -> None:
    for operation in operations():
        uses = [use for use in USES if use.operation == str(operation)]
        assert uses or str(operation) in PUBLIC, operation
        missing = operation.ids - set().union(*(use.parameters for use in uses))
        assert not missing, f"{operation}: nobody tries {missing} of somebody else's"


async def test_who_may_is_answered(people: Crowd) -> None:
    """The last one, as it ends keys and a node."""
    for use in USES:
        for who in PEOPLE:
            if who in use.may:
                method, path, more = use.request(people.ids)
                answer = await people.ask(who, method, path, **more)
                done = answer.is_success or answer.status_code == BUSY
                assert done, (str(use), who, answer.text)
