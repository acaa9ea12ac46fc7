"""What all tests need of the process that runs them."""

from __future__ import annotations

import gc
import signal
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

# What a shell starts in the background, and all that it starts, ignores Ctrl-C, which tests press.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Half of the time in which tests are collected goes into rewriting their assertions, which every
# process would do again. PYTHONDONTWRITEBYTECODE remains in force in all programs that tests start.
sys.dont_write_bytecode = False


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave what is collected out of garbage collection: it is large, and lives to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
