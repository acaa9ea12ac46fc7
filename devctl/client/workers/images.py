"""References of images, as the GPU workers API takes them."""

from __future__ import annotations

from devctl.errors import UsageError


def parts_of(image: str) -> tuple[str, str]:
    """The repository of an image, and its tag or digest.

    >>> parts_of("pytorch/pytorch"), parts_of("r.example:5000/a/b:v1")
    (('pytorch/pytorch', 'latest'), ('r.example:5000/a/b', 'v1'))

    Raises:
        UsageError: It has no repository.
    """
    name, at, digest = image.partition("@")
    head, slash, last = name.rpartition("/")
    last, _, tag = last.partition(":")
    repository = f"{head}{slash}{last}"
    if not last:
        raise UsageError(f"`{image}` is not an image", "write for example `pytorch/pytorch:latest`")
    # As container runtimes have it: with a digest, a tag is a comment.
    return repository, digest if at else tag or "latest"
