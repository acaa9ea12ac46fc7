"""Options for a budget, which users and teams may have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from devctl.api.prices import CURRENCY, parse_amount, write_amount
from devctl.cli.options import stacked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from devctl.client.objects import Provisioned

budget_options = stacked(
    click.option("--budget", metavar="AMOUNT", help="What may be spent a month: 500 or 500EUR."),
    click.option("--no-budget", is_flag=True, help="Remove the budget."),
    click.option(
        "--warn-at", type=click.IntRange(1, 100), metavar="PERCENT", help="Of it.  [default: 80]"
    ),
    click.option(
        "--refuse/--no-refuse", default=None, help="Start nothing once more than that is spent."
    ),
)


def budget(given: Mapping[str, Any]) -> dict[str, Any] | None:
    """The fields of a budget that options name; empty if they name none, None to remove it.

    >>> budget({"budget": "500EUR", "refuse": True})
    {'perMonth': '500', 'currency': 'EUR', 'refuse': True}

    Raises:
        BadParameter: The amount is none.
    """
    if given.get("no_budget"):
        return None
    found: dict[str, Any] = {}
    if (text := given.get("budget")) is not None:
        amount = text.rstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ ")
        try:
            parse_amount(amount)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="'--budget'") from None
        found = {"perMonth": amount, "currency": text[len(amount) :].strip() or CURRENCY}
    if (warn := given.get("warn_at")) is not None:
        found["warnAtPercent"] = warn
    if (refuse := given.get("refuse")) is not None:
        found["refuse"] = refuse
    return found


def budget_fact(found: Provisioned) -> str:
    """What a user or team has spent of a budget; empty without one."""
    if not found.budget:
        return ""
    limit = f"{write_amount(parse_amount(found.budget['perMonth']))} {found.budget['currency']}"
    text = f"{limit} a month"
    if found.spent:
        text = f"{found.spent['spent']} of {limit} in {found.spent['month']}"
        text += f", {found.spent['percent']} %"
    return text + ("; nothing starts beyond it" if found.budget.get("refuse") else "")
