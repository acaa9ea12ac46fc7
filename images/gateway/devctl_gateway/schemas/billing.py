"""Costs, balances, invoices and credit: money as decimal text."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from devctl_gateway.schemas.asked import Asked
from devctl_gateway.schemas.text import NO_CONTROLS
from devctl_gateway.schemas.times import Time

Money = Annotated[str, Field(pattern=r"^-?[0-9]+\.[0-9]{2,6}$", examples=["1.20"])]


class CostLine(BaseModel):
    """What was held of one kind."""

    kind: str = Field(description="gpu, core or gigabyte.")
    quantity: int = Field(description="In seconds: of GPUs, of cores, or of megabytes.")
    price: Money = Field(description="Of an hour of a GPU, a core or a gigabyte.")
    amount: Money


class Cost(BaseModel):
    """What a job costs."""

    job_id: str
    currency: str
    amount: Money
    final: bool = Field(
        description="Whether it stays as it is: all runs have ended, and are charged."
    )
    lines: list[CostLine] = Field(description="Its parts, by pod; of one that runs, until now.")


class AccountBalance(BaseModel):
    """What an account has left."""

    currency: str
    settled: Money = Field(description="Credit less charges.")
    open: Money = Field(description="What its jobs cost that is not charged yet.")
    left: Money = Field(description="What would be left if all its jobs ended now.")


class LedgerEntry(BaseModel):
    """A charge or a credit."""

    id: int
    at: Time
    kind: str
    job_id: str | None
    reference: str
    quantity: int
    price: Money
    amount: Money
    note: str


class InvoiceLine(CostLine):
    """What a job has held of one kind, at one price."""

    job_id: str


class InvoiceAnswer(BaseModel):
    """An account's month."""

    account_id: str
    month: str
    currency: str
    lines: list[InvoiceLine]
    charged: Money
    credited: Money


class NewCredit(Asked):
    """Credit for an account."""

    amount: str = Field(
        pattern=r"^[0-9]{1,9}(\.[0-9]{1,6})?$", description="In the currency of all prices."
    )
    note: str = Field(default="", max_length=255, pattern=NO_CONTROLS)
