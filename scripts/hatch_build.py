"""What the wheel has beside the package: man pages, and completion for three shells."""

from __future__ import annotations

import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

if TYPE_CHECKING:
    import click

_COMPLETIONS = {
    "bash": "share/bash-completion/completions/{program}",
    "zsh": "share/zsh/site-functions/_{program}",
    "fish": "share/fish/vendor_completions.d/{program}.fish",
}
"""Where shells look below a prefix such as /usr/local or ~/.local."""

_PROGRAMS = {
    "devctl": ("devctl.cli.main", "cli"),
    "egpu": ("devctl.cli.egpu.group", "egpu"),
    "k8shazgpu": ("devctl.cli.vllm.group", "k8shazgpu"),
}
_NOT_IN_A_WHEEL = {"local"}


class ShareHook(BuildHookInterface):  # type: ignore[type-arg]
    """Makes them from the commands themselves, so that they cannot be stale."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add them to a wheel; an editable one has none.

        Args:
            version: Of what is built: `standard` or `editable`.
            build_data: What hatchling puts into the wheel.
        """
        if version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory()
        sys.path[:0] = [self.root, str(Path(self.root, "scripts"))]
        for path, content in shared(self.metadata.version).items():
            file = Path(self._folder.name, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)
            build_data["shared_data"][str(file)] = path

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what `initialize` has written; the wheel has it."""
        del build_data, artifact_path
        if version != "editable":
            self._folder.cleanup()


def shared(version: str) -> dict[str, str]:
    """The files by their path below a prefix.

    Args:
        version: Of the package.
    """
    # Found only once the project is on the path.
    from reference.commands import pages  # noqa: PLC0415
    from reference.man import man_pages  # noqa: PLC0415

    from devctl.cli.completion import script  # noqa: PLC0415

    found: dict[str, str] = {}
    for program, (module, attribute) in _PROGRAMS.items():
        group: click.Group = getattr(import_module(module), attribute)
        made = man_pages(pages(group, program, _NOT_IN_A_WHEEL), version)
        found |= {f"share/man/man1/{name}": page for name, page in made.items()}
        variable = import_module(module).VARIABLE
        for shell, path in _COMPLETIONS.items():
            found[path.format(program=program)] = script(shell, group, program, variable) + "\n"
    return found
