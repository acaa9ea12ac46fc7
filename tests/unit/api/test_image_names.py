"""Names of images as containerd completes them."""

from __future__ import annotations

import doctest

import pytest

from devctl.api import image_names
from devctl.api.image_names import full_name


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("python", "docker.io/library/python:latest"),
        ("python:3.14", "docker.io/library/python:3.14"),
        ("docker.io/library/python:3.14", "docker.io/library/python:3.14"),
        ("me/train", "docker.io/me/train:latest"),
        ("localhost/train:1", "localhost/train:1"),
        ("registry:5000/train", "registry:5000/train:latest"),
        ("a.example/b/c:1@sha256:0f", "a.example/b/c@sha256:0f"),
        ("train@sha256:0f", "docker.io/library/train@sha256:0f"),
    ],
)
def test_a_name_is_completed_once(name: str, full: str) -> None:
    assert full_name(name) == full
    assert full_name(full) == full


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(image_names).failed == 0
