"""An account's month: lines by job and by what was held, whose sum is the ledger's."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from devctl.api.prices import write_amount
from devctl_gateway.store.ledger import CREDIT

COLUMNS = ("job_id", "kind", "quantity", "price", "amount", "currency")
"""Of an invoice as CSV, in this order."""


class Line(NamedTuple):
    """What a job has held of one kind, at one price."""

    job_id: str
    kind: str
    quantity: int
    """In seconds: of GPUs, of cores, of megabytes."""
    price: int
    amount: int
    """In micro-units, 0 or more."""


class Invoice(NamedTuple):
    """An account's month."""

    lines: Sequence[Line]
    charged: int
    credited: int


def month_of(year: int, month: int) -> tuple[datetime, datetime]:
    """When a month begins, and when the next one does.

    >>> [moment.isoformat() for moment in month_of(2026, 12)]
    ['2026-12-01T00:00:00', '2027-01-01T00:00:00']
    """
    following = (year + 1, 1) if month == 12 else (year, month + 1)  # noqa: PLR2004
    return datetime(year, month, 1), datetime(*following, 1)  # noqa: DTZ001 - as tables have it


def invoice(entries: Iterable[Mapping[str, Any]]) -> Invoice:
    """An invoice of entries of the ledger."""
    sums: dict[tuple[str, str, int], tuple[int, int]] = {}
    charged = credited = 0
    for entry in entries:
        if entry["kind"] == CREDIT:
            credited += entry["amount"]
            continue
        key = (entry["job_id"], entry["kind"], entry["price"])
        quantity, amount = sums.get(key, (0, 0))
        sums[key] = quantity + entry["quantity"], amount - entry["amount"]
        charged -= entry["amount"]
    lines = [Line(job, kind, q, price, a) for (job, kind, price), (q, a) in sorted(sums.items())]
    return Invoice(lines, charged, credited)


def to_csv(found: Invoice, currency: str) -> str:
    """An invoice as CSV; no cell is text that somebody else has written."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for line in found.lines:
        amounts = (write_amount(line.price), write_amount(line.amount))
        writer.writerow((line.job_id, line.kind, line.quantity, *amounts, currency))
    writer.writerow(("", "total", "", "", write_amount(found.charged), currency))
    return text.getvalue()
