from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from devctl.local.paths import REPOSITORY

PLUGIN = REPOSITORY / "playbooks" / "callback_plugins" / "progress.py"


def load() -> Any:
    """Ansible loads plugins by file, and so do we."""
    spec = importlib.util.spec_from_file_location("progress", PLUGIN)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# Not in a test: ansible asks the resolver about an address of numbers when it is imported.
progress = load()


@pytest.mark.parametrize(
    ("result", "lines"),
    [
        pytest.param(
            {"msg": "apt is missing", "fix": "use Debian"},
            ["error: apt is missing", "  fix: use Debian"],
            id="step",
        ),
        pytest.param(
            {"msg": "apt is missing", "fix": "", "stderr": "a warning\n"},
            ["error: apt is missing"],
            id="step-without-a-fix",
        ),
        pytest.param(
            {"msg": "non-zero return code", "stderr": "W: first\nerror: port in use\n\n"},
            ["error: error: port in use"],
            id="command",
        ),
        pytest.param(
            {"msg": "non-zero return code", "stderr": ""},
            ["error: non-zero return code"],
            id="silent-command",
        ),
        pytest.param({}, ["error: failed"], id="nothing"),
    ],
)
def test_a_failure_is_one_line_and_what_to_do(result: dict[str, Any], lines: list[str]) -> None:
    assert progress.failure_lines(result) == lines
