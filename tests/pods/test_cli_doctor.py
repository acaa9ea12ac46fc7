"""What doctor finds where operator and observer really run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from support.command_line import CommandLine


def test_all_is_installed_and_well(command_line: CommandLine) -> None:
    checks = json.loads(command_line("doctor", "-o", "json").stdout)["checks"]
    # Whether there is a default flavor, and an image, is the administrator's choice.
    others = [each for each in checks if each["check"] not in {"flavor", "image"}]
    assert {each["state"] for each in others} == {"ok"}, checks
    found = {each["check"]: each["found"] for each in checks}
    assert all("1 of 1 ready" in found[part] for part in ("operator", "observer"))
