"""What several tests of the cache agent need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from devctl_cache_agent.durations import FILE, Durations

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def durations(tmp_path: Path) -> Durations:
    return Durations(tmp_path / FILE)
