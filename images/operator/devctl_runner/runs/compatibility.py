"""Whether an Ansible has the private API that the warm runner needs.

`NEEDED` lists the names and how they are called; `check` reports which of them an ansible-core
lacks, before anything is run with it. Only `ansible_internals` uses them.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

NEEDED: Mapping[str, Sequence[str]] = {
    "ansible._internal._task": ["TaskContext"],
    "ansible.cli": ["CLI.run(self)", "CLI.version_info(gitinfo)"],
    "ansible.cli.playbook": ["PlaybookCLI(args)", "PlaybookCLI._play_prereqs(self)"],
    "ansible.constants": ["DEFAULT_INTERNAL_POLL_INTERVAL", "DEFAULT_ROLES_PATH"],
    "ansible.context": ["CLIARGS"],
    "ansible.errors": ["AnsibleError._exit_code"],
    "ansible.executor.playbook_executor": [
        "PlaybookExecutor(playbooks, inventory, variable_manager, loader, passwords)",
        "PlaybookExecutor.run(self)",
    ],
    "ansible.executor.process.worker": [
        "WorkerProcess.start(self)",
        "WorkerProcess._run(self)",
        "WorkerProcess._host",
        "WorkerProcess._task",
        "WorkerProcess._task_vars",
    ],
    "ansible.inventory.host": ["Host.groups", "Host.name", "Host.vars"],
    "ansible.parsing.dataloader": ["DataLoader._FILE_CACHE"],
    "ansible.playbook.task": ["Task.action", "Task.copy(self)"],
    "ansible.plugins.loader": ["add_all_plugin_dirs(path)", "callback_loader.get"],
    "ansible.plugins.strategy": ["WorkerProcess"],
    "ansible.utils.context_objects": ["CLIArgs(mapping)"],
    "ansible.utils.display": [
        "Display.error(self, msg)",
        "Display._deprecations",
        "Display._errors",
        "Display._warns",
        "Display.verbosity",
    ],
    "ansible.utils.vars": ["load_extra_vars(loader)", "load_extra_vars.extra_vars", "node_mac"],
    "ansible.vars.manager": [
        "VariableManager(loader, inventory, version_info)",
        "VariableManager._options_vars",
    ],
}
"""By module: names in it and their attributes, with the arguments of calls."""

CALLBACK = "ansible.plugins.callback.awx_display"
OF_THE_CALLBACK: Mapping[str, Sequence[str]] = {
    CALLBACK: [
        "AnsibleJSONEncoderLocal",
        "event_context.dump_begin",
        "event_context.dump_end",
        "event_context.get_begin_dict()",
    ]
}
"""The same for ansible-runner's callback, under the name that Ansible gives it."""


class IncompatibleError(Exception):
    """Ansible's private API has changed; the message names each change."""


def check(package: str = "ansible-core", needed: Mapping[str, Sequence[str]] = NEEDED) -> None:
    """Check everything that is needed, without running anything.

    Raises:
        IncompatibleError: Something is missing, or no longer accepts our arguments.
    """
    changes = [
        change
        for module, names in needed.items()
        for name in names
        if (change := _ask(module, name))
    ]
    if changes:
        try:
            release = version(package)
        except PackageNotFoundError:
            release = "of unknown version"
        raise IncompatibleError(f"{package} {release} {'; '.join(dict.fromkeys(changes))}")


def _ask(module: str, name: str) -> str:
    """What is wrong with a name in a module; empty if nothing is."""
    path, call, words = name.partition("(")
    try:
        found: Any = importlib.import_module(module)
    except ImportError:
        return f"has no `{module}`"
    for part in path.split("."):
        if not hasattr(found, part):
            return "" if _mentions(found, part) else f"has no `{module}.{path}`"
        found = getattr(found, part)
    arguments = filter(None, words.rstrip(")").split(", "))
    try:
        if call:
            inspect.signature(found).bind(**dict.fromkeys(arguments))
    except TypeError as error:
        return f"needs different arguments for `{module}.{path}`: {error}"
    return ""


def _mentions(owner: Any, name: str) -> bool:
    """Whether a function, or a class's constructor, sets an attribute of that name."""
    makers = [vars(one).get("__init__") for one in getattr(owner, "__mro__", ())] or [owner]
    codes = (getattr(maker, "__code__", None) for maker in makers)
    return any(name in code.co_names for code in codes if code)
