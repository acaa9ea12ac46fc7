"""Who reaches what in PostgreSQL: the unit tests that show it in SQLite, once more.

The table of all risks is in `tests/unit/gateway/owasp`, and needs no cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from unit.gateway.owasp.conftest import people, rows  # noqa: F401
from unit.gateway.owasp.test_access import *  # noqa: F403 - the tests

if TYPE_CHECKING:
    from support.postgres_process import PostgresProcess

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def url(postgres: PostgresProcess, migrated: str) -> str:
    return postgres.database(migrated)
