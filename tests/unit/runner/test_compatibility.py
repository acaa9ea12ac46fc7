from __future__ import annotations

import importlib
from importlib.metadata import version
from inspect import Parameter, Signature
from typing import Any

import pytest
from ansible.cli.playbook import PlaybookCLI
from ansible.executor.playbook_executor import PlaybookExecutor
from ansible.executor.process.worker import WorkerProcess
from ansible.plugins import strategy
from devctl_runner.runs.compatibility import IncompatibleError, check


def why_not() -> str:
    with pytest.raises(IncompatibleError) as refused:
        check()
    return str(refused.value).removeprefix(f"ansible-core {version('ansible-core')} ")


def test_the_pinned_ansible_has_all_that_is_needed() -> None:
    check()


def test_a_missing_name_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(strategy, "WorkerProcess")
    monkeypatch.delattr(PlaybookCLI.__bases__[0], "_play_prereqs")

    assert why_not() == (
        "has no `ansible.cli.playbook.PlaybookCLI._play_prereqs`; "
        "has no `ansible.plugins.strategy.WorkerProcess`"
    )


def test_an_attribute_that_objects_no_longer_get_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def init(self: Any, task: object, host: object, task_vars: object) -> None:
        self.task, self._host, self._task_vars = task, host, task_vars

    monkeypatch.setattr(WorkerProcess, "__init__", init)

    assert why_not() == "has no `ansible.executor.process.worker.WorkerProcess._task`"


def test_a_missing_module_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = importlib.import_module

    def without_tasks(name: str) -> object:
        if name == "ansible._internal._task":
            raise ModuleNotFoundError(name)
        return whole(name)

    monkeypatch.setattr(importlib, "import_module", without_tasks)

    assert why_not() == "has no `ansible._internal._task`"


@pytest.mark.parametrize(
    ("takes", "error"),
    [
        ("playbooks inventory variable_manager loader", "unexpected keyword argument 'passwords'"),
        ("playbooks inventory variable_manager loader passwords x", "required argument: 'x'"),
    ],
)
def test_another_call_is_named(monkeypatch: pytest.MonkeyPatch, takes: str, error: str) -> None:
    changed = Signature([Parameter(name, Parameter.KEYWORD_ONLY) for name in takes.split()])
    monkeypatch.setattr(PlaybookExecutor, "__signature__", changed, raising=False)

    name = "ansible.executor.playbook_executor.PlaybookExecutor"
    said = why_not()
    assert said.startswith(f"needs different arguments for `{name}`: ")
    assert said.endswith(error)
