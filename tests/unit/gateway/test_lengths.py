"""Whatever text a request may have fits where it is stored: SQLite would keep any."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from devctl_gateway.schemas.billing import NewCredit
from devctl_gateway.schemas.jobs import NewJob
from devctl_gateway.schemas.keys import NewKey
from devctl_gateway.schemas.nodes import Heartbeat, NewAgent, NewNode, NodeChange
from devctl_gateway.store import tables
from sqlalchemy import String, Table

if TYPE_CHECKING:
    from pydantic import BaseModel

KEPT = [
    (NewAgent, tables.AGENTS),
    (NewCredit, tables.LEDGER),
    (NewJob, tables.JOBS),
    (NewKey, tables.KEYS),
    (NewNode, tables.NODES),
    (NodeChange, tables.NODES),
    (Heartbeat, tables.NODES),
]


@pytest.mark.parametrize(("body", "table"), KEPT, ids=lambda each: getattr(each, "__name__", ""))
def test_no_text_is_longer_than_its_column(body: type[BaseModel], table: Table) -> None:
    fields = body.model_json_schema()["properties"]
    columns = {column.name: column.type for column in table.c}
    for name in fields.keys() & columns.keys():
        kind, said = columns[name], fields[name]
        if isinstance(kind, String):
            longest = [said.get("maxLength"), *map(len, said.get("enum", []))]
            longest += [each.get("maxLength") for each in said.get("anyOf", [])]
            assert max(filter(None, longest)) <= (kind.length or 0), name
