"""An account's month: what its lines add up to is what the ledger says."""

from __future__ import annotations

import csv
import doctest
import io
from typing import TYPE_CHECKING, Any

import pytest
from devctl_gateway.billing import invoices as module
from devctl_gateway.billing.invoices import COLUMNS, invoice, month_of, to_csv
from devctl_gateway.loops.settlement import settle
from devctl_gateway.store import ledger
from devctl_gateway.store.engine import begin, connect
from hypothesis import given
from hypothesis import strategies as st
from support.gateway_billing import ACCOUNT, HOUR_COSTS, job, moment, prepare, run

from devctl.api.prices import parse_amount

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

ENTRY = st.fixed_dictionaries(
    {
        "job_id": st.sampled_from(["job-1", "job-2"]),
        "kind": st.sampled_from(["gpu", "core", "gigabyte", "credit"]),
        "price": st.integers(0, 10**9),
        "quantity": st.integers(0, 10**9),
        "amount": st.integers(-(10**12), 10**12),
    }
)


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0


@given(st.lists(ENTRY))
def test_its_lines_add_up_to_the_micro_unit(entries: list[dict[str, Any]]) -> None:
    found = invoice(entries)
    assert found.credited - found.charged == sum(entry["amount"] for entry in entries)
    assert sum(line.amount for line in found.lines) == found.charged


def test_as_csv_it_has_a_row_per_line_and_a_total() -> None:
    lines = [{"job_id": "job-1", "kind": "gpu", "price": 10, "quantity": 60, "amount": -7}]
    rows = list(csv.DictReader(io.StringIO(to_csv(invoice(lines), "USD"))))
    assert list(rows[0]) == list(COLUMNS)
    assert rows[0]["amount"] == rows[-1]["amount"] == "0.000007"
    assert parse_amount(rows[0]["price"]) == 10


@pytest.mark.anyio
async def test_a_run_belongs_to_the_month_in_which_it_ended(engine: AsyncEngine) -> None:
    await prepare(engine, "job-1")
    day = 86400
    runs = [run("a", 0, 3600), run("b", 26 * day, 28 * day)]  # of 4 May, and over the end of May
    await settle(engine, {"job-1": job("job-1", *runs)}, moment(40 * day))
    async with begin(engine) as connection:
        paid: dict[str, Any] = {
            "account_id": ACCOUNT,
            "reference": "credit-1",
            "amount": 5_000_000,
            "note": "",
        }
        assert await ledger.credit(connection, at=moment(day), **paid)
        assert not await ledger.credit(connection, at=moment(day), **paid)
    async with connect(engine) as connection:
        may, june = [
            invoice(map(dict, await ledger.between(connection, ACCOUNT, *month_of(2026, month))))
            for month in (5, 6)
        ]
    assert (may.charged, may.credited) == (HOUR_COSTS, 5_000_000)
    assert (june.charged, june.credited) == (48 * HOUR_COSTS, 0)


@pytest.mark.anyio
async def test_an_entry_of_midnight_is_in_one_month_alone(engine: AsyncEngine) -> None:
    await prepare(engine)
    (may_begins, june_begins), (_, june_ends) = month_of(2026, 5), month_of(2026, 6)
    for number, at in enumerate((may_begins, june_begins, june_ends)):
        async with begin(engine) as connection:
            paid: dict[str, Any] = {"account_id": ACCOUNT, "amount": 10**number, "note": ""}
            assert await ledger.credit(connection, at=at, reference=f"credit-{number}", **paid)
    async with connect(engine) as connection:
        may, june = [
            invoice(map(dict, await ledger.between(connection, ACCOUNT, *month_of(2026, month))))
            for month in (5, 6)
        ]
    assert (may.credited, june.credited) == (1, 10)
