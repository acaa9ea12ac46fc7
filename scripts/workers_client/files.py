"""The files that are generated."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from workers_client.calls import async_calls, calls
from workers_client.document import as_text, document
from workers_client.models import models

if TYPE_CHECKING:
    from collections.abc import Mapping

_REPOSITORY = Path(__file__).parents[2]
DOCUMENT = _REPOSITORY / "docs" / "workers-openapi.json"
FOLDER = _REPOSITORY / "devctl" / "client" / "workers" / "generated"
_HEAD = '''"""{about}

Generated from docs/workers-openapi.json by `make api`: change what the gateway says instead.
"""

'''


def rendered() -> Mapping[Path, str]:
    """The text of each file."""
    found = document()
    made = {
        "__init__": ("What the document of the GPU workers API is made into.", ""),
        "async_calls": ("The operations of the GPU workers API.", async_calls(found)),
        "calls": ("The operations of the GPU workers API.", calls(found)),
        "models": ("What the GPU workers API is asked, and what it answers.", models(found)),
    }
    texts = {
        FOLDER / f"{name}.py": _formatted(_HEAD.format(about=about) + text, f"{name}.py")
        for name, (about, text) in made.items()
    }
    return {DOCUMENT: as_text(found), **texts}


def _formatted(source: str, name: str) -> str:
    """A module as the project formats all others."""
    # It may not be there yet, by which ruff would know whose it is.
    ours = '--config=lint.isort.known-first-party=["devctl"]'
    for command in (["check", "--fix", "--exit-zero", "--quiet", ours], ["format"]):
        source = subprocess.run(
            [sys.executable, "-m", "ruff", *command, f"--stdin-filename={FOLDER / name}", "-"],
            input=source,
            capture_output=True,
            text=True,
            check=True,
            cwd=_REPOSITORY,
        ).stdout
    return source
