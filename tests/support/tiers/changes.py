"""The files, and the tests, that differ from the last landed commit."""

from __future__ import annotations

import ast
import subprocess
import tomllib
from typing import TYPE_CHECKING, Any

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

PROJECT = "pyproject.toml"
CHECKERS = {"coverage", "importlinter", "mypy", "ruff"}


def changed_files(base: str, repository: Path = REPOSITORY) -> frozenset[str] | None:
    """Paths of files that differ between a commit and the work tree, under old and new names.

    Returns:
        None if the commit is not an ancestor of HEAD, or not in this clone.
    """
    if _git("merge-base", "--is-ancestor", base, "HEAD", at=repository) is None:
        return None
    differing = _git("diff", "--name-only", "--no-renames", "-z", base, at=repository)
    untracked = _git("ls-files", "--others", "--exclude-standard", "-z", at=repository)
    if differing is None or untracked is None:
        return None
    found = {name for name in (differing + untracked).split("\0") if name}
    project = repository / PROJECT
    if project.is_file() and PROJECT in found:
        old = _git("show", f"{base}:{PROJECT}", at=repository) or ""
        if without_checkers(old) == without_checkers(project.read_text()):
            found.discard(PROJECT)
    return frozenset(found)


def without_checkers(project: str) -> dict[str, Any]:
    r"""A pyproject.toml without the settings of tools that only read the code.

    These prove themselves at each landing; all other settings decide what tests run with.

    >>> without_checkers("[tool.ruff]\nline-length = 100")
    {'tool': {}}
    """
    read = tomllib.loads(project)
    tools = read.get("tool", {})
    return read | {"tool": {name: tools[name] for name in tools if name not in CHECKERS}}


def changed_tests(
    base: str, files: Iterable[str], repository: Path = REPOSITORY
) -> dict[str, list[str]]:
    """New and changed test functions, by their file; all of a file whose other lines changed."""
    found = {}
    for name in sorted(files):
        file = repository / name
        is_test = name.startswith("tests/") and file.name.startswith("test_")
        if is_test and file.suffix == ".py" and file.is_file():
            old = _git("show", f"{base}:{name}", at=repository) or ""
            if tests := differing_tests(old, file.read_text()):
                found[name] = tests
    return found


def differing_tests(old: str, new: str) -> list[str]:
    """Names of the test functions of a module that differ from an earlier version of it.

    Fixtures, helpers and constants concern all tests of a module. Comments and layout do not count.

    >>> before = "def test_a(): assert 1\\ndef test_b(): assert 2"
    >>> differing_tests(before, before.replace("2", "3"))
    ['test_b']
    >>> differing_tests(before, "LIMIT = 1\\n" + before)
    ['test_a', 'test_b']
    """
    tests_before, rest_before = _parts(old)
    tests, rest = _parts(new)
    if rest != rest_before:
        return list(tests)
    return [name for name, body in tests.items() if tests_before.get(name) != body]


def _parts(text: str) -> tuple[dict[str, str], list[str]]:
    """The test functions of a module, and everything else but imports and its docstring."""
    tests, rest = {}, []
    for node in ast.parse(text).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith(
            "test_"
        ):
            tests[node.name] = ast.dump(node)
        elif not isinstance(node, (ast.Import, ast.ImportFrom)) and not _is_text(node):
            rest.append(ast.dump(node))
    return tests, rest


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _git(*words: str, at: Path) -> str | None:
    """What git prints; None if it fails."""
    done = subprocess.run(["git", *words], check=False, capture_output=True, text=True, cwd=at)
    return None if done.returncode else done.stdout
