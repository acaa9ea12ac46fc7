"""Action plugin: one step of starting or stopping a local cluster (devctl.local.steps).

It runs in Ansible's own process: a module would start an interpreter for each step.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from devctl.errors import DevctlError
from devctl.local.steps import STEPS, Context

DOCUMENTATION = """
name: local_step
short_description: One step of starting or stopping a local cluster
options:
  step: {description: The step's name, required: true, type: str}
  cluster: {description: The cluster's name, required: true, type: str}
  node: {description: The node, for steps that run once per node, type: str}
  arguments: {description: Further arguments of the step, type: dict}
"""


class ActionModule(ActionBase):
    """Calls the step and reports its error as a failed task."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Run the step named by the task."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(
            argument_spec={
                "step": {"type": "str", "required": True, "choices": sorted(STEPS)},
                "cluster": {"type": "str", "required": True},
                "node": {"type": "str", "default": ""},
                "arguments": {"type": "dict", "default": {}},
            }
        )
        report = partial(Display().display, stderr=False)
        try:
            context = Context.of(
                arguments["cluster"], lambda line: report(f"    {line}"), arguments["node"]
            )
            result.update(STEPS[arguments["step"]](context, **arguments["arguments"]))
        except DevctlError as error:
            result.update(failed=True, msg=error.message, fix=error.fix)
        return result
