"""The user's git, asked about a repository without running anything that the repository names."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# A repository may be somebody else's: none of the programs that its configuration names is run.
# Filters cannot be switched off here: only commands are used that apply none.
_LOCKED_DOWN = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.sshCommand=false",
    "core.askPass=false",
    "credential.helper=",
    "protocol.allow=never",
    "submodule.recurse=false",
]
_KEPT = ("PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR")


def ask(folder: Path, *arguments: str, seconds: float) -> subprocess.CompletedProcess[bytes]:
    """Run a git command in a folder; FileNotFoundError without git, TimeoutExpired if it hangs."""
    settings = [word for setting in _LOCKED_DOWN for word in ("-c", setting)]
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ} | {
        "LC_ALL": "C",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        # Objects are what their names say.
        "GIT_NO_REPLACE_OBJECTS": "1",
    }
    return subprocess.run(
        ["git", "--no-pager", *settings, *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=seconds,
        check=False,
    )
