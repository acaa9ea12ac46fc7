"""Running this project's playbooks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devctl.local import leftovers
from devctl.local.paths import REPOSITORY, cache_paths

if TYPE_CHECKING:
    from collections.abc import Mapping

PLAYBOOKS = REPOSITORY / "playbooks"


def environment(log: Path, scratch: Path) -> dict[str, str]:
    """Ansible's settings: our progress lines, everything it writes below the state folder."""
    return {
        **os.environ,
        "ANSIBLE_CALLBACK_PLUGINS": str(PLAYBOOKS / "callback_plugins"),
        "ANSIBLE_CONFIG": str(REPOSITORY / "ansible.cfg"),
        "ANSIBLE_HOME": str(cache_paths().root / "ansible"),
        "ANSIBLE_LOCAL_TEMP": str(scratch),
        "ANSIBLE_REMOTE_TEMP": str(scratch),
        "ANSIBLE_LOG_PATH": str(log),
        "ANSIBLE_NOCOLOR": "1",
        # Modules read their own code from standard input: one process less for each task.
        "ANSIBLE_PIPELINING": "1",
        "ANSIBLE_STDOUT_CALLBACK": "progress",
        # Killed programs leave their temporary files; the next run deletes them.
        "TMPDIR": str(scratch),
        # Where the playbooks say that the logs are.
        "DEVCTL_LOGS": str(log.parent),
        "DEVCTL_BUILD_LOGS": str(cache_paths().logs),
    }


def run(
    playbook: str,
    inventory: Mapping[str, Any],
    folder: Path,
    extra: Mapping[str, Any] | None = None,
    *,
    run_of: str = "",
) -> int:
    """Run a playbook, its progress going to standard output; returns its exit code.

    Args:
        playbook: A file under playbooks/.
        inventory: The inventory in Ansible's JSON form.
        folder: Where the inventory and the log are written.
        extra: Variables that override everything.
        run_of: The local cluster that it changes, if any: what it starts can be found by that.
    """
    logs = folder / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    inventory_file = folder / "inventory.json"
    inventory_file.write_text(json.dumps(inventory, indent=2))
    command = [
        *(sys.executable, "-m", "ansible", "playbook"),
        *("--inventory", inventory_file, PLAYBOOKS / playbook),
        *(("--extra-vars", json.dumps(extra)) if extra else ()),
    ]
    log = logs / f"{Path(playbook).stem}.log"
    scratch = folder / "tmp"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    (cache_paths().root / "ansible").mkdir(parents=True, exist_ok=True)
    variables = {**environment(log, scratch), **({leftovers.VARIABLE: run_of} if run_of else {})}
    return subprocess.run(command, check=False, env=variables, stdin=subprocess.DEVNULL).returncode
