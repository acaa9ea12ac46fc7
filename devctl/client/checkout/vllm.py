"""What makes a checkout one of vLLM's, and the image that was built of a commit of it."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

from devctl.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

IMAGE = "public.ecr.aws/q9t5s3a7/vllm-ci-postmerge-repo:{commit}"
"""vLLM's project builds one of each commit of its main branch."""
_COMMIT = "{commit}"
_NAME = "vllm"
_SETUP = re.compile(r"""^\s*name\s*=\s*["']vllm["']""", re.MULTILINE)
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9./:@_-]{0,499}")


def is_vllm(root: Path) -> bool:
    """Whether a folder has the package `vllm`, and a project file that names it."""
    if not (root / _NAME / "__init__.py").is_file():
        return False
    try:
        project = tomllib.loads(_read(root / "pyproject.toml")).get("project")
    except tomllib.TOMLDecodeError:
        project = None
    if isinstance(project, dict) and project.get("name") == _NAME:
        return True
    return _SETUP.search(_read(root / "setup.py")) is not None


def image_of(commit: str, pattern: str) -> str:
    """The image of a commit.

    Raises:
        UsageError: The pattern has no place for a commit, or makes no name of an image.

    >>> image_of("abc", "registry.example/vllm:{commit}")
    'registry.example/vllm:abc'
    """
    image = pattern.replace(_COMMIT, commit)
    if _COMMIT not in pattern or not _IMAGE.fullmatch(image):
        raise UsageError(
            f"`{pattern}` is no pattern of images", "write it like `registry/name:{commit}`"
        )
    return image


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
