"""Each right of the operator's and the observer's is used, and nothing that they ask is denied.

What they ask is in the API server's audit log; here they do all that they ever do.
"""

from __future__ import annotations

import ssl
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import pytest
from support.audit import NOT_ASKED, asked, denied, used
from support.causes import Scene, causes
from support.plane.beside import FIRST
from support.plane.plane import SYSTEM
from support.rights import own_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl
    from support.plane.plane import Plane

    from devctl.local.images import Image


@pytest.fixture
def electing(operator_away: Plane) -> Iterator[Plane]:
    """The operator waits for a lease, as it does in its pod."""
    kubeconfig = operator_away.account("devctl-operator")
    operator = operator_away.operator_with(kubeconfig, "operator-electing", place=FIRST)
    operator.start()
    yield operator_away
    operator.stop()


def scrape(plane: Plane) -> None:
    """Ask for the operator's metrics, so that it asks who that is and whether they may."""
    request = urllib.request.Request("https://127.0.0.1:8443/metrics")
    token = plane.kubectl("create", "token", "devctl-observer", "-n", SYSTEM).strip()
    request.add_header("Authorization", f"Bearer {token}")
    context = ssl._create_unverified_context()  # noqa: S323, SLF001 - its certificate is its own
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(request, context=context, timeout=10)


def test_each_right_is_used_and_nothing_is_denied(
    electing: Plane, kubectl: Kubectl, namespace: str, images: dict[str, Image]
) -> None:
    accounts = ("operator", "observer")
    # An API server that has just started, as other tests have it do, denies what it has not read.
    before = {account: len(asked(electing, account)) for account in accounts}
    place = Scene(kubectl, namespace, images["base"].reference, clocks=electing.observer.set_clocks)
    for cause in causes():
        cause(place)
    scrape(electing)
    for account in accounts:
        events = asked(electing, account)
        # A namespace that ends refuses new objects with the same code.
        now = events[before[account] :]
        assert not denied(now)
        granted = own_rules(kubectl, f"devctl-{account}", SYSTEM)
        unused = {right for right in granted - used(events) if right[-1] not in NOT_ASKED}
        assert not unused, f"rights of the {account}'s that nothing needs: {sorted(unused)}"
