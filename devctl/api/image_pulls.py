"""How a kubelet says that an image cannot be pulled."""

from __future__ import annotations

import re

PULL_FAILURES = frozenset(
    {
        "ErrImagePull",
        "ErrImageNeverPull",
        "ImageInspectError",
        "ImagePullBackOff",
        "InvalidImageName",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    }
)
"""The reasons of a container that waits for its image in vain (kubernetes/pkg/kubelet/images)."""

_BACK_OFF = re.compile(r'^Back-off pulling image "[^"]*"(: (ErrImagePull: )?)?')


def pull_error(message: str) -> str:
    """What went wrong, of a container's message.

    The kubelet alternates between the error and its back-off, and this does not.

    >>> pull_error('Back-off pulling image "a": ErrImagePull: not found'), pull_error("not found")
    ('not found', 'not found')
    """
    return _BACK_OFF.sub("", message)
