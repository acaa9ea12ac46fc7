"""The process that runs are forked from: Ansible imported and used once.

A run fills Ansible's caches of plugins, templates and settings. One throwaway run of each role,
with its tasks skipped, lets every later run start with full caches. Whatever refuses a second
initialisation (command line, vault, collection finder) is initialised here once, for all runs.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.util
import io
import json
import multiprocessing
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devctl_runner.runs.compatibility import check
from devctl_runner.runs.request import INVENTORY

if TYPE_CHECKING:
    from devctl_runner.runs.ansible_internals import Ansible


# ansible-runner sets these for each run.
_SETTINGS = {
    "ANSIBLE_STDOUT_CALLBACK": "awx_display",
    "ANSIBLE_RETRY_FILES_ENABLED": "False",
    "ANSIBLE_HOST_KEY_CHECKING": "False",
}

_JOIN_SECONDS = 5.0
# How often a run checks whether its task has ended. Ansible's own interval, a millisecond, costs
# several concurrent runs a tenth of a busy machine.
_POLL_SECONDS = 0.008
_TRIAL = "ansible.builtin.debug"


@dataclass(frozen=True)
class Warm:
    """What a run inherits."""

    ansible: Ansible
    settings: Mapping[str, str]
    """The variables that ansible-runner adds to a run's environment."""


def warm_up(roles: Iterable[Path], folder: Path) -> Warm:
    """Import Ansible and run each role once with its tasks skipped. Call it once per process.

    Args:
        roles: The roles to run; a broken one is reported and skipped.
        folder: The folder for the inventory and the playbook.

    Raises:
        IncompatibleError: Ansible's private API has changed; names each change.
        Exception: Not even a playbook of one task works, or a module cannot be preloaded.
    """
    package = importlib.util.find_spec("ansible_runner")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("ansible_runner")
    callbacks = str(Path(package.origin).parent / "display_callback" / "callback")
    before = os.environ.get("ANSIBLE_CALLBACK_PLUGINS")
    plugins = ":".join(filter(None, (before, callbacks)))
    settings = _SETTINGS | {"ANSIBLE_CALLBACK_PLUGINS": plugins}
    os.environ.update(settings)
    inventory = folder / "hosts"
    inventory.write_text(INVENTORY, encoding="utf-8")

    check()  # imports Ansible, which reads the settings above
    from devctl_runner.runs.ansible_internals import Ansible  # noqa: PLC0415 - possible from here on

    modules = os.environ.get("DEVCTL_RUNNER_PRELOAD", "").split()
    prepare = [getattr(importlib.import_module(name), "prepare", None) for name in modules]
    playbook = folder / "throwaway"
    ansible = Ansible(inventory, _POLL_SECONDS)
    # A change that `check` cannot detect makes this fail instead of a run.
    ansible.work_in_process({_TRIAL})
    _throw_away(ansible, playbook, tasks=[{_TRIAL: {}}])
    ansible.work_in_process(os.environ.get("DEVCTL_RUNNER_IN_PROCESS", "").split())
    for role in roles:
        try:
            _throw_away(ansible, playbook, roles=[{"role": str(role), "when": False}])
            for compile_templates in filter(None, prepare):
                compile_templates(role)
        except Exception as error:  # noqa: BLE001 - the run itself will report it
            print(f"devctl-runnerd: cannot warm up {role.name}: {error}", file=sys.stderr)  # noqa: T201
    # The last task's process would otherwise remain a zombie as long as the daemon lives.
    for process in multiprocessing.active_children():
        process.join(_JOIN_SECONDS)
    ansible.keep_files()
    gc.collect()
    gc.freeze()
    return Warm(ansible, settings)


def _throw_away(ansible: Ansible, playbook: Path, **play: Any) -> None:
    """Run one play.

    Raises:
        RuntimeError: It failed, or printed an error.
    """
    events = ansible.callback.event_context
    events.dump_begin = events.dump_end = lambda _: None
    plays = [{"hosts": "localhost", "gather_facts": False} | play]
    playbook.write_text(json.dumps(plays), encoding="utf-8")
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            status = ansible.run_playbook(playbook)
    finally:
        ansible.forget_file(playbook)  # the next one has the same path
    output = said.getvalue()
    if status or "fatal:" in output or "ERROR" in output:
        raise RuntimeError(output.strip() or f"exit status {status}")
