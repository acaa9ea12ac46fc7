"""A session: this process becomes the system's ssh."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NoReturn

from devctl.client.ssh import keys
from devctl.errors import HostError

if TYPE_CHECKING:
    from collections.abc import Sequence


def become(argv: Sequence[str]) -> NoReturn:
    """Run a program instead of this one: its exit code, keys and signals are its own.

    Raises:
        HostError: There is none, or it cannot be run.
    """
    try:
        os.execvp(argv[0], list(argv))  # noqa: S606 - no shell is the point
    except FileNotFoundError as error:
        raise keys.no_client(argv[0]) from error
    except OSError as error:
        raise HostError(
            f"`{argv[0]}` cannot be run: {error.strerror or error}", "see what it is on your PATH"
        ) from error
