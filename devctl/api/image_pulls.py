"""How a kubelet reports that an image cannot be pulled."""

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
"""Reasons of a container whose image cannot be pulled (kubernetes/pkg/kubelet/images)."""

_BACK_OFF = re.compile(r'^Back-off pulling image "[^"]*"(: (ErrImagePull: )?)?')


def pull_error(message: str) -> str:
    """The error in a container's message.

    The kubelet alternates between the error and its back-off; this does not.

    >>> pull_error('Back-off pulling image "a": ErrImagePull: not found'), pull_error("not found")
    ('not found', 'not found')
    """
    return _BACK_OFF.sub("", message)
