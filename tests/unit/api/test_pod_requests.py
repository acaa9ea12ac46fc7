from __future__ import annotations

import doctest

from devctl.api import pod_requests


def test_examples() -> None:
    assert doctest.testmod(pod_requests).failed == 0
