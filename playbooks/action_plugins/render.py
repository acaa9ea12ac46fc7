"""Action plugin: write templates of the current role in one task, in Ansible's own process.

`ansible.builtin.template` starts two modules per file; a node has many small files, and
`up` should be fast if nothing has changed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.template import trust_as_template

DOCUMENTATION = """
name: render
short_description: Write templates of the current role
options:
  files: {description: Target paths by template name, required: true, type: dict}
  mode: {description: The files' mode, default: "0644", type: str}
"""


class ActionModule(ActionBase):
    """Writes files that differ and reports them."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Render every template; write those that differ from the existing file."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(
            argument_spec={
                "files": {"type": "dict", "required": True},
                "mode": {"type": "str", "default": "0644"},
            }
        )
        changed = []
        for template, target in arguments["files"].items():
            source = Path(self._find_needle("templates", template))
            self._templar.available_variables = task_vars or {}
            text = str(self._templar.template(trust_as_template(source.read_text())))
            path = Path(target)
            if not path.is_file() or path.read_text() != text:
                changed.append(target)
                if not self._task.check_mode:
                    _write(path, text, int(arguments["mode"], 8))
        result.update(changed=bool(changed), written=changed)
        return result


def _write(path: Path, text: str, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    partial.touch(mode=0o600)
    partial.write_text(text)
    partial.chmod(mode)
    partial.rename(path)
