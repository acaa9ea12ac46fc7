"""The process that runs are forked from: Ansible imported and used once.

Ansible's caches of plugins, templates and settings fill during a run, so one throwaway run of each
role, its tasks skipped, makes every later run start with all of them. What refuses a second
initialisation (command line, vault, collection finder) is made here once; a run gets the pieces.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import io
import json
import multiprocessing
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devctl_runner.in_process import actions, work_in_process
from devctl_runner.protocol import INVENTORY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# What ansible-runner sets for each run.
_SETTINGS = {
    "ANSIBLE_STDOUT_CALLBACK": "awx_display",
    "ANSIBLE_RETRY_FILES_ENABLED": "False",
    "ANSIBLE_HOST_KEY_CHECKING": "False",
}

_JOIN_SECONDS = 5.0
# How often a run looks whether its task has ended. Ansible's own millisecond is a busy machine's
# tenth: several runs at once, each a thousand looks a second.
_POLL_SECONDS = 0.008


@dataclass(frozen=True)
class Warm:
    """What a run takes over."""

    loader: Any
    inventory: Any
    version: Mapping[str, Any]
    """Ansible's, as its variables tell it."""
    files: Mapping[str, Any]
    """What the loader has read."""
    settings: Mapping[str, str]
    """What ansible-runner adds to a run's environment."""


def warm_up(roles: Iterable[Path], folder: Path) -> Warm:
    """Import Ansible and run each role once with its tasks skipped. Call it once in a process.

    Args:
        roles: The roles to run; one that is broken is reported and left out.
        folder: For the inventory and the playbook.
    """
    package = importlib.util.find_spec("ansible_runner")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("ansible_runner")
    callbacks = str(Path(package.origin).parent / "display_callback" / "callback")
    before = os.environ.get("ANSIBLE_CALLBACK_PLUGINS")
    plugins = ":".join(filter(None, (before, callbacks)))
    settings = _SETTINGS | {"ANSIBLE_CALLBACK_PLUGINS": plugins}
    os.environ.update(settings)
    inventory_file = folder / "hosts"
    inventory_file.write_text(INVENTORY, encoding="utf-8")

    from ansible import constants  # noqa: PLC0415 - it reads the settings above
    from ansible.cli import CLI  # noqa: PLC0415
    from ansible.cli.playbook import PlaybookCLI  # noqa: PLC0415

    constants.DEFAULT_INTERNAL_POLL_INTERVAL = _POLL_SECONDS
    modules = os.environ.get("DEVCTL_RUNNER_PRELOAD", "").split()
    prepare = [getattr(importlib.import_module(name), "prepare", None) for name in modules]
    playbook = folder / "throwaway"
    cli = PlaybookCLI(["ansible-playbook", "-i", str(inventory_file), str(playbook)])
    CLI.run(cli)  # reads the command line and makes collections importable
    loader, inventory, variables = cli._play_prereqs()  # noqa: SLF001 - there is no public way
    work_in_process(actions())
    for role in roles:
        try:
            _throw_away((inventory, variables, loader), role, playbook)
            for compile_templates in filter(None, prepare):
                compile_templates(role)
        except Exception as error:  # noqa: BLE001 - the run itself will say what is wrong
            print(f"devctl-runnerd: cannot warm {role.name} up: {error}", file=sys.stderr)  # noqa: T201
    # The last task's process, which would stay a zombie for as long as the daemon lives.
    for process in multiprocessing.active_children():
        process.join(_JOIN_SECONDS)
    version = CLI.version_info(gitinfo=False)
    warm = Warm(loader, inventory, version, dict(loader._FILE_CACHE), settings)  # noqa: SLF001
    gc.collect()
    gc.freeze()
    return warm


def _throw_away(pieces: tuple[Any, Any, Any], role: Path, playbook: Path) -> None:
    from ansible.executor.playbook_executor import PlaybookExecutor  # noqa: PLC0415
    from ansible.plugins.loader import callback_loader  # noqa: PLC0415

    callback_loader.get("awx_display", class_only=True)
    context = sys.modules["ansible.plugins.callback.awx_display"].event_context
    context.dump_begin = context.dump_end = lambda _: None
    skipped = [{"role": str(role), "when": False}]
    play = [{"hosts": "localhost", "gather_facts": False, "roles": skipped}]
    playbook.write_text(json.dumps(play), encoding="utf-8")
    streams = sys.stdout, sys.stderr
    sys.stdout = sys.stderr = io.StringIO()
    try:
        PlaybookExecutor([str(playbook)], *pieces, {}).run()
        output = sys.stdout.getvalue()
    finally:
        sys.stdout, sys.stderr = streams
        pieces[-1]._FILE_CACHE.pop(str(playbook), None)  # noqa: SLF001 - each role has its own
    if "fatal:" in output or "ERROR" in output:
        raise RuntimeError(output.strip())
