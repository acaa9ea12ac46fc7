"""Names of images, so that what a user writes can be compared with what a node lists."""

from __future__ import annotations

_DOMAIN = "docker.io"
"""Of names without one: how containerd completes them."""


def full_name(name: str) -> str:
    """An image's whole name, as containerd lists it.

    >>> full_name("python"), full_name("nvidia/cuda:12")
    ('docker.io/library/python:latest', 'docker.io/nvidia/cuda:12')
    >>> full_name("ghcr.io/me/a:1@sha256:0f")
    'ghcr.io/me/a@sha256:0f'
    """
    path, at, digest = name.partition("@")
    first, slash, _ = path.partition("/")
    has_domain = slash and (first == "localhost" or set(first) & {".", ":"})
    if not has_domain:
        path = f"{_DOMAIN}/{path if slash else f'library/{path}'}"
    repository, colon, tag = path.rpartition(":")
    if not colon or "/" in tag:
        repository, tag = path, "latest"
    return f"{repository}@{digest}" if at else f"{repository}:{tag}"
