"""How many answers without an end of their own one may have open, in each replica by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from devctl_gateway.errors import TooManyRequestsError

_RETRY_SECONDS = 5


class OpenAnswers:
    """Counts them.

    Args:
        most: Of one principal at a time.
    """

    def __init__(self, most: int) -> None:
        """Have counted nothing."""
        self._most, self._open = most, Counter[str]()

    @contextmanager
    def another(self, principal: str) -> Iterator[None]:
        """Count one more answer to somebody, as long as it is open.

        Raises:
            TooManyRequestsError: They have too many open already.
        """
        if self._open[principal] >= self._most:
            raise TooManyRequestsError(
                f"{self._most} logs are being read already",
                "end one of them, or wait until its job has ended",
                retry_after=_RETRY_SECONDS,
            )
        self._open[principal] += 1
        try:
            yield
        finally:
            self._open[principal] -= 1
            if not self._open[principal]:
                del self._open[principal]
