"""Ledger, invoices and credit over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.gateway_app import Gateway

pytestmark = pytest.mark.anyio


async def test_credit_is_given_once_and_shown_to_its_owner_alone(gateway: Gateway) -> None:
    async with gateway.user("ada") as ada, gateway.user("eve") as eve, gateway.admin() as admin:
        me = (await ada.get("/gpu-workers/accounts/me")).json()["id"]
        path, body = f"/gpu-workers/accounts/{me}/credit", {"amount": "12.5", "note": "May"}
        name = {"Idempotency-Key": "one"}
        first = await admin.post(path, json=body, headers=name)
        again = await admin.post(path, json=body, headers=name)
        assert (first.status_code, again.status_code) == (201, 201)
        assert first.json() == again.json()
        assert (await ada.post(path, json=body)).status_code == 403
        own = (await ada.get("/gpu-workers/accounts/me/ledger")).json()["items"]
        assert [(entry["kind"], entry["amount"]) for entry in own] == [("credit", "12.50")]
        assert (await eve.get("/gpu-workers/accounts/me/ledger")).json()["items"] == []
        month = own[0]["at"][:7]
        bill = await ada.get(f"/gpu-workers/invoices/{month}")
        assert bill.json()["credited"] == "12.50"
        theirs = await eve.get(f"/gpu-workers/invoices/{month}", params={"account": me})
        assert theirs.status_code == 404
        table = await admin.get(
            f"/gpu-workers/invoices/{month}", params={"account": me, "format": "csv"}
        )
        assert table.headers["content-type"].startswith("text/csv")
        assert table.text.splitlines()[0] == "job_id,kind,quantity,price,amount,currency"
        liked = await ada.get(f"/gpu-workers/invoices/{month}", headers={"Accept": "text/csv"})
        assert liked.text == table.text


@pytest.mark.parametrize("amount", ["-1", "1e3", "0.0000001", "", "1" * 10, 5, "NaN"])
async def test_an_amount_that_is_none_is_refused(gateway: Gateway, amount: object) -> None:
    async with gateway.admin() as admin:
        me = (await admin.get("/gpu-workers/accounts/me")).json()["id"]
        answer = await admin.post(f"/gpu-workers/accounts/{me}/credit", json={"amount": amount})
        assert answer.status_code == 422


@pytest.mark.parametrize("month", ["2026-13", "1999-01", "2026-1", "x"])
async def test_a_month_that_is_none_is_refused(gateway: Gateway, month: str) -> None:
    async with gateway.user() as ada:
        assert (await ada.get(f"/gpu-workers/invoices/{month}")).status_code == 422
