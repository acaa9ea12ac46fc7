"""Writes Grafana's boards to config/monitoring/boards."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from boards.gpus import gpus
from boards.operations import operations
from boards.servers import servers
from grafana_foundation_sdk.cog.encoder import JSONEncoder

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = Path(__file__).parents[2] / "config" / "monitoring" / "boards"


def rendered() -> Mapping[Path, str]:
    """The text of each board's file."""
    made = {"servers": servers(), "gpus": gpus(), "operations": operations()}
    encoder = JSONEncoder(indent=2, sort_keys=True)
    return {
        FOLDER / f"{name}.json": encoder.encode(board.build()) + "\n"
        for name, board in made.items()
    }


if __name__ == "__main__":
    for path, text in rendered().items():
        path.write_text(text, encoding="utf-8")
