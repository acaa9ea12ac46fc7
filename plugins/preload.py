"""Imports that every run needs. The warm runner imports this once, before it forks."""

from __future__ import annotations

import importlib
from pathlib import Path

from apply import condition, converge
from apply.server import connection
from apply.templates import prepare  # the runner calls it with each role

__all__ = ["condition", "connection", "converge", "imported", "prepare"]

_FOLDERS = {path.parent.name for path in Path(__file__).parent.glob("*/values.py")} - {"apply"}
imported = {name: importlib.import_module(f"{name}.values") for name in sorted(_FOLDERS)}
"""The `values` module of each kind, by the name of its folder."""
