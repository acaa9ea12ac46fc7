"""The generated part of the documentation's site: commands, kinds, the SDK and the HTTP API."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

from reference import endpoints, rst, sdk
from reference.commands import pages
from reference.fields import kinds

from devctl.cli.egpu.group import egpu
from devctl.cli.main import cli
from devctl.cli.vllm.group import k8shazgpu

if TYPE_CHECKING:
    from pathlib import Path

_PROGRAMS = {"devctl": cli, "egpu": egpu, "k8shazgpu": k8shazgpu}


def write(repository: Path, folder: Path) -> None:
    """Write all pages; one that is as it was keeps its time, so that it is not read again.

    Args:
        repository: The project.
        folder: Where the pages go; others are removed.
    """
    wanted = {folder / f"{name}.rst": text for name, text in _site(repository).items()}
    for path in set(folder.rglob("*.rst")) - wanted.keys():
        path.unlink()
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def _site(repository: Path) -> dict[str, str]:
    found = {}
    for program, group in _PROGRAMS.items():
        made = list(pages(group, program))
        for page in made:
            found[f"commands/{page.name}"] = f"{rst.title(page.path)}\n{page.body}"
        below = [f"{page.name}" for page in made[1:]]
        found[f"commands/{program}"] += _toctree(below)
    found["commands"] = rst.title("Commands") + _toctree([f"commands/{name}" for name in _PROGRAMS])
    found |= {
        f"fields/{kind.lower()}": text for kind, text in kinds(repository / "config/crd").items()
    }
    fields = sorted(name for name in found if name.startswith("fields/"))
    found["fields"] = rst.title("Fields") + _toctree(fields)
    found["pictures"] = _pictures(repository)
    found["sdk"] = sdk.page()
    found["gpu-workers"] = endpoints.page(repository / "docs/workers-openapi.json")
    return found


def _pictures(repository: Path) -> str:
    """What `make pictures` has drawn, in the order of its sessions."""
    sessions = tomllib.loads((repository / "scripts/pictures.toml").read_text())
    parts = [rst.title("In pictures"), "Each was drawn by ``make pictures`` from a real session.\n"]
    for name, session in sessions.items():
        if (repository / f"docs/pictures/{name}.svg").exists():
            parts += [rst.title(session["title"], "-")]
            parts += [f".. image:: /pictures/{name}.svg\n   :alt: {session['title']}\n"]
    return "\n".join(parts)


def _toctree(names: list[str]) -> str:
    lines = "\n".join(f"   {name}" for name in names)
    return f"\n.. toctree::\n   :maxdepth: 1\n\n{lines}\n"
