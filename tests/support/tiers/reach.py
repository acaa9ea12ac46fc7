"""The files that a deep module depends on through imports, of the product and of the tests."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import grimp
from support.tiers.deep import matches

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.tiers.deep import Deep, Plan

_SUPPORT = "support"


class Reach:
    """The files that each module depends on beyond those that its rooms name."""

    def __init__(self, plan: Plan) -> None:
        """Build the graph of the product's imports."""
        self._plan = plan
        self._graph, self._files = _product()

    def of(self, module: Deep) -> frozenset[str]:
        """The imports of its rooms, of its file and of its tier's conftest."""
        patterns = self._plan.patterns(module)
        roots = [name for name, file in self._files.items() if matches(file, patterns)]
        imported = {name for root in roots for name in self._upstream(root)}
        conftest = str(Path(module.file).with_name("conftest.py"))
        tests = {"tests/conftest.py", module.file, conftest}
        return frozenset(
            {self._files[name] for name in imported if name in self._files}
            | tests
            | {file for test in tests for file in support_of(test)}
        )

    @cache  # noqa: B019 - there is one for each run
    def _upstream(self, name: str) -> frozenset[str]:
        return frozenset(self._graph.find_upstream_modules(name))


def reach_of(plan: Plan) -> dict[str, frozenset[str]]:
    """The files that each module depends on, by its id."""
    made = Reach(plan)
    return {module.id: made.of(module) for module in plan.modules}


@cache
def support_of(file: str) -> frozenset[str]:
    """The files of tests/support that a test's file imports, and what these import in turn."""
    found: set[str] = set()
    waiting = [file]
    while waiting:
        for name in _imports(waiting.pop()):
            if name not in found:
                found.add(name)
                waiting.append(name)
    return frozenset(found)


@cache
def _imports(file: str) -> tuple[str, ...]:
    path = REPOSITORY / file
    tree = ast.parse(path.read_text()) if path.is_file() else ast.Module([], [])
    named = {name for node in ast.walk(tree) for name in _named(node)}
    return tuple(sorted(found for name in named for found in _files_of(name)))


def _named(node: ast.AST) -> Iterator[str]:
    """Names of modules that a statement imports; a name in a module may be one of its modules."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from _spelt(node.value)


def _spelt(text: str) -> Iterator[str]:
    """Modules of tests/support that a text names, since a process of its own runs them.

    >>> list(_spelt("tests/support/stepped_observer.py")), list(_spelt("support.plane.given"))
    (['support.stepped_observer'], ['support.plane.given'])
    """
    if found := re.fullmatch(r"(?:tests/)?(support(?:/\w+)+)\.py", text):
        yield found[1].replace("/", ".")
    elif re.fullmatch(r"support(?:\.\w+)+", text):
        yield text
    elif found := re.fullmatch(r"(support(?:\.\w+)*)\.", text):
        # The rest is known only once it runs.
        folder = REPOSITORY / "tests" / found[1].replace(".", "/")
        yield from (f"{found[1]}.{file.stem}" for file in sorted(folder.glob("*.py")))


def _files_of(module: str) -> Iterator[str]:
    """The file of a module of tests/support, and those of the packages around it."""
    if module.partition(".")[0] == _SUPPORT:
        parts = module.split(".")
        for end in range(1, len(parts) + 1):
            base = f"tests/{'/'.join(parts[:end])}"
            for file in (f"{base}.py", f"{base}/__init__.py"):
                if (REPOSITORY / file).is_file():
                    yield file


def _product() -> tuple[grimp.ImportGraph, dict[str, str]]:
    """The graph of all packages that import-linter checks, and the file of each module."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]
    folders = [str(REPOSITORY / name) for name in project["pytest"]["ini_options"]["pythonpath"]]
    sys.path[:0] = [folder for folder in folders if folder not in sys.path]
    packages = project["importlinter"]["root_packages"]
    graph = grimp.build_graph(*packages, exclude_type_checking_imports=True, cache_dir=None)
    places = {name: _folder(name) for name in packages}
    files = {}
    for module in graph.modules:
        base = places[module.partition(".")[0]].joinpath(*module.split(".")[1:])
        file = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
        files[module] = str(file.relative_to(REPOSITORY))
    return graph, files


def _folder(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(package)
    return Path(spec.submodule_search_locations[0]).resolve()
