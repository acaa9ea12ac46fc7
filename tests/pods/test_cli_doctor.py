"""What doctor finds where operator and observer really run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from support.command_line import CommandLine


def test_all_is_installed_and_well(command_line: CommandLine) -> None:
    said = json.loads(command_line("doctor", "-o", "json").stdout)
    checks = said["checks"]
    # Whether there is a default flavor, and an image, is the administrator's choice. Tests beside
    # this one break GPUs for a moment.
    others = [each for each in checks if each["check"] not in {"flavor", "image", "gpus"}]
    assert {each["state"] for each in others} == {"ok"}, checks
    found = {each["check"]: each["found"] for each in checks}
    assert all("1 of 1 ready" in found[part] for part in ("operator", "observer"))
    # The plugin's GPUs are made up, and counted like real ones.
    assert found["gpus"] != "no node has GPUs"
    assert all(0 <= node["free"] <= node["total"] for node in said["gpus"]["nodes"])
    assert said["gpus"]["total"] > 0
