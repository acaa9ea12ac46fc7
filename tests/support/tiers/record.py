"""Which deep modules passed and failed on this machine, kept beside its caches."""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING

from devctl.local.paths import state_folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Record:
    """The last outcome of each module."""

    def __init__(self, file: Path | None = None) -> None:
        """Read what there is."""
        self._file = file or state_folder() / "cache" / "deep-modules.json"
        read = json.loads(self._file.read_text()) if self._file.is_file() else {}
        self.green = {name: date.fromisoformat(day) for name, day in read.get("green", {}).items()}
        self.failed = set(read.get("failed", ()))

    def add(self, outcomes: Mapping[str, bool], today: date) -> None:
        """Note which modules are green, by their id, and which are not."""
        for name, is_green in outcomes.items():
            if is_green:
                self.green[name] = today
                self.failed.discard(name)
            else:
                self.failed.add(name)
        green = {name: day.isoformat() for name, day in sorted(self.green.items())}
        self._file.parent.mkdir(parents=True, exist_ok=True)
        new = self._file.with_suffix(".new")
        new.write_text(json.dumps({"green": green, "failed": sorted(self.failed)}))
        new.replace(self._file)
