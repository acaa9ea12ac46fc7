"""What people see on a system that devctl does not run on."""

from __future__ import annotations

import subprocess
import sys

import pytest

WINDOWS = """
import sys
import click
sys.platform = "win32"
for name in ("fcntl", "grp", "pwd", "resource", "termios", "tty"):
    sys.modules[name] = None
from {module} import main
main()
"""


@pytest.mark.parametrize(
    ("module", "program"),
    [
        ("devctl.__main__", "devctl"),
        ("devctl.cli.egpu.group", "egpu"),
        ("devctl.cli.vllm.group", "k8shazgpu"),
        ("devctl.kubectl_plugin", "kubectl devctl"),
    ],
)
def test_windows_is_told_of_wsl_in_one_line(module: str, program: str) -> None:
    code = WINDOWS.format(module=module)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (1, "")
    expected = f"error: {program} does not run on Windows itself: install it in WSL\n"
    assert done.stderr == expected
