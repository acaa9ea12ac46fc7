"""Which deep modules passed and failed on this machine, and with what; kept beside its caches."""

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
        self._inputs: dict[str, str] = read.get("inputs", {})

    def proven(self, inputs: Mapping[str, str]) -> dict[str, date]:
        """The day on which each module last passed with such inputs, if that was its last run."""
        same = {name for name, digest in inputs.items() if self._inputs.get(name) == digest}
        return {name: self.green[name] for name in same - self.failed if name in self.green}

    def add(self, outcomes: Mapping[str, bool], today: date, inputs: Mapping[str, str]) -> None:
        """Note which modules are green, and which are not.

        Args:
            outcomes: Whether each module passed, by its id.
            today: The day.
            inputs: Identifies what each depended on, by its id; without one, it proves nothing.
        """
        for name, is_green in outcomes.items():
            self._inputs.pop(name, None)
            if is_green:
                self.green[name] = today
                self.failed.discard(name)
                if name in inputs:
                    self._inputs[name] = inputs[name]
            else:
                self.failed.add(name)
        green = {name: day.isoformat() for name, day in sorted(self.green.items())}
        self._file.parent.mkdir(parents=True, exist_ok=True)
        new = self._file.with_suffix(".new")
        record = {"green": green, "failed": sorted(self.failed), "inputs": self._inputs}
        new.write_text(json.dumps(record))
        new.replace(self._file)
