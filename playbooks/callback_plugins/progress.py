"""Stdout callback: a line per play with its duration and log, and one clear line for a failure."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ansible.plugins.callback import CallbackBase
from ansible.template import Templar

if TYPE_CHECKING:
    from ansible.executor.stats import AggregateStats
    from ansible.executor.task_result import CallbackTaskResult
    from ansible.playbook import Playbook
    from ansible.playbook.play import Play

DOCUMENTATION = """
name: progress
type: stdout
short_description: A line per play with its duration, and one clear line for a failure
"""


class CallbackModule(CallbackBase):
    """Plays are the steps that a person sees; tasks go to the log."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "progress"

    def __init__(self) -> None:
        """Nothing has been seen yet."""
        super().__init__()
        self._plays: list[str] = []
        self._play = ""
        self._log = ""
        self._started = 0.0
        self._number = 0
        self._changed = False
        self._failed = False

    def v2_playbook_on_start(self, playbook: Playbook) -> None:
        """Count the steps."""
        self._plays = [play.get_name() for play in playbook.get_plays()]

    def v2_playbook_on_play_start(self, play: Play) -> None:
        """Finish the step before, begin this one."""
        self._finish()
        self._number += 1
        self._play, self._started, self._changed = play.get_name(), time.monotonic(), False
        variables = play.get_variable_manager().get_vars(play=play)
        templar = Templar(loader=play.get_loader(), variables=variables)
        self._log = str(templar.template(variables.get("play_log", "")))

    def v2_runner_on_ok(self, result: CallbackTaskResult) -> None:
        """Remember whether the step changed anything."""
        self._changed = self._changed or bool(result.result.get("changed"))
        self._display.display(f"ok: {result.task_name} {result.result}", log_only=True)

    def v2_runner_on_failed(
        self,
        result: CallbackTaskResult,
        ignore_errors: bool = False,  # noqa: FBT001, FBT002 - Ansible's signature
    ) -> None:
        """Say what failed and what to do, each on a line."""
        if ignore_errors:
            return
        self._failed = True
        self._finish("failed")
        for line in failure_lines(result.result):
            self._display.display(line, stderr=True)

    def v2_runner_on_unreachable(self, result: CallbackTaskResult) -> None:
        """The same as a failure."""
        self.v2_runner_on_failed(result)

    def v2_playbook_on_stats(self, stats: AggregateStats) -> None:  # noqa: ARG002 - Ansible's signature
        """Finish the last step."""
        self._finish()

    def _finish(self, outcome: str = "") -> None:
        if not self._play:
            return
        seconds = time.monotonic() - self._started
        outcome = outcome or ("done" if self._changed else "unchanged")
        log = f"  log: {self._log}" if self._log else ""
        count = f"[{self._number}/{len(self._plays)}]"
        self._display.display(f"{count} {self._play:<26} {outcome:<10}{seconds:6.1f} s{log}")
        self._play = ""


def failure_lines(result: dict[str, Any]) -> list[str]:
    """The one line of what went wrong and the one of what to do, from a task's result."""
    message = str(result.get("msg", "failed"))
    output = [line for line in str(result.get("stderr", "")).splitlines() if line.strip()]
    if output and "fix" not in result:
        message = output[-1].strip()
    lines = [f"error: {message}"]
    if result.get("fix"):
        lines.append(f"  fix: {result['fix']}")
    return lines
