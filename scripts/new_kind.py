"""Generate a working skeleton of a kind; docs/adding-a-kind.md describes the next steps.

scripts/new_kind/ has a template for each generated file, at its path in the project. For an
existing list, the template is a line or an entry, which is appended.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2

if TYPE_CHECKING:
    from collections.abc import Callable

PROJECT = Path(__file__).parents[1]
TEMPLATES = Path(__file__).with_name("new_kind")
LISTS = ("watches.yaml", "kustomization.yaml")
"""Names of existing files to which a kind is added."""
IMPORT = "from devctl_observer.kinds.{0} import {1}\n"


@dataclass(frozen=True)
class Names:
    """A kind's names, in each place's usual form."""

    kind: str
    group: str
    version: str
    plural: str
    scope: str

    def __post_init__(self) -> None:
        """Refuse what Kubernetes would.

        Raises:
            ValueError: A name is not as it must be.
        """
        for name, value, rule in (
            ("KIND", self.kind, r"([A-Z][a-z0-9]*)+"),
            ("GROUP", self.group, r"([a-z0-9]([-a-z0-9]*[a-z0-9])?\.)+[a-z]+"),
            ("VERSION", self.version, r"v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?"),
            ("PLURAL", self.plural, r"[a-z][a-z0-9]*"),
            ("SCOPE", self.scope, "Namespaced|Cluster"),
        ):
            if not re.fullmatch(rule, value):
                raise ValueError(f"{name}={value} does not match {rule}")

    @property
    def snake(self) -> str:
        """The name of modules and roles: gpu_workload for GPUWorkload."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", self.kind).lower()

    def values(self) -> dict[str, object]:
        """What templates print."""
        article = "an" if self.kind[0] in "AEIOU" else "a"
        return vars(self) | {
            "snake": self.snake,
            "constant": self.snake.upper(),
            "lower": self.kind.lower(),
            "cluster": self.scope == "Cluster",
            "a": article,
            "A": article.capitalize(),
        }


def render(names: Names) -> dict[Path, str]:
    """What is made, by its path in the project."""
    environment = jinja2.Environment(  # noqa: S701 - it prints code
        variable_start_string="<<",
        variable_end_string=">>",
        block_start_string="<%",
        block_end_string="%>",
        trim_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    made = {}
    for template in sorted(TEMPLATES.rglob("*.j2")):
        path = str(template.relative_to(TEMPLATES).with_suffix(""))
        path = path.replace("SNAKE", names.snake).replace("LOWER", names.kind.lower())
        made[Path(path)] = environment.from_string(template.read_text()).render(names.values())
    return made


def make(names: Names, project: Path) -> list[Path]:
    """Write all of it; the files that were made or changed.

    Raises:
        ValueError: The name is taken; nothing is written then.
    """
    made = render(names)
    taken = [path for path in made if path.name not in LISTS and (project / path).exists()]
    if taken:
        raise ValueError(f"there is a {taken[0]} already")
    if importlib.util.find_spec(names.snake):
        raise ValueError(
            f"`{names.snake}` is a package of somebody else's: plugins/ cannot have it"
        )
    for path, text in made.items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        before = (project / path).read_text() if path.name in LISTS else ""
        (project / path).write_text(before + text)
    changed: dict[str, Callable[[str, Names], str]] = {
        "devctl/api/kinds.py": name_it,
        "images/observer/devctl_observer/families.py": follow_it,
        "config/admission/accounts.yaml": admit,
        "config/admission/reserved.yaml": admit,
        "config/admission/user_objects.yaml": admit,
    }
    for place, change in changed.items():
        (project / place).write_text(change((project / place).read_text(), names))
    files = [*made, *map(Path, changed)]
    python = [project / path for path in files if path.suffix == ".py"]
    ruff = Path(sys.executable).with_name("ruff")
    for words in (["check", "--select=I", "--fix"], ["format"]):
        subprocess.run([ruff, *words, "--quiet", *python], check=True, cwd=project)
    return files


def name_it(text: str, names: Names) -> str:
    """devctl/api/kinds.py with a line more."""
    where = "" if names.scope == "Namespaced" else ", namespaced=False"
    words = f'"{names.group}", "{names.version}", "{names.kind}", "{names.plural}"{where}'
    return text.removesuffix(")\n") + f"    ({names.snake.upper()} := Kind({words})),\n)\n"


def follow_it(text: str, names: Names) -> str:
    """The observer's families.py with the kind among those that are standard."""
    last = IMPORT.format("servers.family", "Servers")
    line = IMPORT.format(f"{names.snake}.standard", names.snake.upper())
    text = text.replace(last, last + line)
    return re.sub(r"(STANDARD: .*= \([^)]*)\)", rf"\1{names.snake.upper()},)", text)


def admit(text: str, names: Names) -> str:
    """An admission policy whose lists of our groups have that of the kind."""
    for quote in ("'", ""):
        ours, other = f"{quote}devops.yourcompany.com{quote}", f"{quote}{names.group}{quote}"
        for found in set(re.findall(rf"\[({ours}, [^]]*)]", text)):
            if other not in found.split(", "):
                text = text.replace(f"[{found}]", f"[{found}, {other}]")
    return text


def main() -> int:
    """Make it as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("kind", "group", "version", "scope", "plural"):
        parser.add_argument(f"--{name}", default="")
    given = parser.parse_args()
    plural = given.plural or f"{given.kind.lower()}s"
    try:
        names = Names(given.kind, given.group, given.version, plural, given.scope)
        files = make(names, PROJECT)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(
        *sorted(files), "", f"created {names.kind}; continue with docs/adding-a-kind.md", sep="\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
