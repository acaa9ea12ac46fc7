"""The API server: whether it answers, what it is, for whom it takes the user."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from devctl.client.doctor.finding import Finding, failed, ok, warning
from devctl.client.doctor.machine import own_version
from devctl.errors import DeniedError

if TYPE_CHECKING:
    from devctl.kube.cluster import Cluster

OLDEST = (1, 31)
"""The first Kubernetes that lets a list of our kinds be selected by their fields."""
_SLOW = 2.0
_SKEW, _BAD_SKEW = 30.0, 300.0
_VERSION = re.compile(r"v?(\d+)\.(\d+)")


def reachability(cluster: Cluster) -> Finding:
    """Whether there is an answer, and how long it takes."""
    began = time.monotonic()
    try:
        cluster.read("/version")
    except DeniedError:
        # It has answered, and what it thinks of the user comes later.
        return ok("reachability", f"{cluster.server} answers")
    took = time.monotonic() - began
    if took > _SLOW:
        return warning(
            "reachability",
            f"{cluster.server} took {took:.1f} s to answer",
            "check the network and the VPN, or ask an administrator to look at the API server",
        )
    return ok("reachability", f"{cluster.server} answers in {took * 1000:.0f} ms")


def versions(cluster: Cluster) -> Finding:
    """Whether the cluster is new enough."""
    said = str(cluster.read("/version").json().get("gitVersion", ""))
    found = f"Kubernetes {said}, devctl {own_version()}"
    match = _VERSION.match(said)
    if match is None:
        return warning(
            "versions", f"the cluster does not say its version: `{said}`", "see `kubectl version`"
        )
    if (int(match[1]), int(match[2])) < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        return failed(
            "versions", f"{found}: too old", f"have the cluster upgraded to {wanted} or newer"
        )
    return ok("versions", found)


def credentials(cluster: Cluster) -> Finding:
    """Whether the API server knows the user."""
    try:
        who = cluster.whoami()
    except DeniedError as error:
        return failed("credentials", error.message, error.fix)
    if not who or who == "system:anonymous":
        return failed(
            "credentials",
            "the API server does not know you",
            "add credentials to the kubeconfig: a certificate, a token or an exec plugin",
        )
    return ok("credentials", f"you are `{who}`")


def clock(cluster: Cluster) -> Finding:
    """Whether this machine's clock and the API server's agree."""
    began = datetime.now(UTC)
    said = cluster.read("/version").headers.get("date", "")
    ended = datetime.now(UTC)
    try:
        there = parsedate_to_datetime(said).astimezone(UTC)
    except (TypeError, ValueError):
        return warning(
            "clock", "the API server does not say what time it is", "ask a proxy's owner"
        )
    return judge(there, began, ended)


def judge(there: datetime, began: datetime, ended: datetime) -> Finding:
    """How far two clocks are apart, as seen from here while an answer came.

    >>> now = datetime(2026, 1, 2, tzinfo=UTC)
    >>> judge(now, now, now).found
    'this machine and the API server differ by 0 s'
    """
    skew = (there - began - (ended - began) / 2).total_seconds()
    # Its time comes in whole seconds.
    apart = max(0.0, abs(skew) - 1)
    ahead = "behind" if skew > 0 else "ahead of"
    found = f"this machine and the API server differ by {apart:.0f} s"
    if apart <= _SKEW:
        return ok("clock", found)
    found = f"this machine is {apart:.0f} s {ahead} the API server"
    fix = "set this machine's clock, for example with NTP; if it is right, tell an administrator"
    if apart <= _BAD_SKEW:
        return warning("clock", f"{found}: ages and deadlines are shown wrong", fix)
    return failed("clock", f"{found}: certificates and tokens may count as expired", fix)
