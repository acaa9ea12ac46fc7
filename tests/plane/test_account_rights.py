"""Each right of the operator's and the observer's is used, and nothing that they ask is denied.

What they ask is in the API server's audit log; here they do all that they ever do.
"""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest
from support.jobs import SUCCEEDS, WAITS, Job
from support.plane.beside import FIRST
from support.plane.plane import SYSTEM
from support.rights import own_rules
from support.servers import SMALL, TWO_RANKS, DevServer, apply_flavor, small_server, wait_until

from devctl.api.ephemeral_acceleration_job import RELEASED_AT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.commands import Kubectl
    from support.plane.plane import Plane

    from devctl.local.images import Image

Right = tuple[str, str, str, str]
"""API group, resource, name, verb."""

DAY = 86400
NAMED = {"leases"}
DECISION = "authorization.k8s.io/decision"


@pytest.fixture
def electing(operator_away: Plane) -> Iterator[Plane]:
    """The operator waits for a lease, as it does in its pod."""
    kubeconfig = operator_away.account("devctl-operator")
    operator = operator_away.operator_with(kubeconfig, "operator-electing", place=FIRST)
    operator.start()
    yield operator_away
    operator.stop()


@pytest.fixture
def server(kubectl: Kubectl, namespace: str, images: dict[str, Image]) -> Iterator[DevServer]:
    with small_server(kubectl, namespace, images["base"].reference) as made:
        yield made


def asked(plane: Plane, account: str) -> list[dict[str, Any]]:
    """What an account has asked the API server."""
    user = f"system:serviceaccount:{SYSTEM}:devctl-{account}"
    lines = plane.control.audit_log.read_text().splitlines()
    found = [json.loads(line) for line in lines if line.endswith("}")]
    return [event for event in found if event["user"]["username"] == user]


def used(events: list[dict[str, Any]]) -> set[Right]:
    """The rights that requests needed."""
    found = set()
    for event in events:
        about = event.get("objectRef")
        if about is None:
            continue  # what API there is
        resource = "/".join(filter(None, (about["resource"], about.get("subresource"))))
        name = about.get("name", "") if resource in NAMED and event["verb"] != "create" else ""
        verbs = {event["verb"]}
        if event["verb"] == "patch" and event.get("responseStatus", {}).get("code") == 201:
            verbs.add("create")
        found |= {(about.get("apiGroup", ""), resource, name, verb) for verb in verbs}
    return found


def all_that_servers_cause(server: DevServer, clocks: Callable[[int, int], None]) -> None:
    """From a missing flavor to the end of its time, with every change on the way."""
    kubectl = server.kubectl
    kubectl.api.delete("devserverflavor", server.namespace)
    server.apply(lifecycle={"timeToLive": "1d"})
    server.wait("Applied", "False")
    apply_flavor(kubectl, server.namespace, resources=SMALL)
    server.wait("Ready")
    server.apply(persistentHomeSize="20Mi", **TWO_RANKS)
    server.wait("Applied")
    server.stop()
    clocks(DAY, DAY)
    wait_until(lambda: server.condition("Expiring")["reason"] == "Soon", "notice is given")
    clocks(2 * DAY, 2 * DAY)
    wait_until(lambda: not server.get("devserver", server.name), "its time is over")
    clocks(0, 0)


def scrape(plane: Plane) -> None:
    """Ask for the operator's metrics, so that it asks who that is and whether they may."""
    request = urllib.request.Request("https://127.0.0.1:8443/metrics")
    token = plane.kubectl("create", "token", "devctl-observer", "-n", SYSTEM).strip()
    request.add_header("Authorization", f"Bearer {token}")
    context = ssl._create_unverified_context()  # noqa: S323, SLF001 - its certificate is its own
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(request, context=context, timeout=10)


def all_that_jobs_cause(job: Job, clocks: Callable[[int, int], None]) -> None:
    """One that ends and whose times are over, and one that is deleted while it runs."""
    left = Job(job.kubectl, job.namespace, job.image, "left")
    left.apply(command=WAITS)
    job.apply(command=SUCCEEDS)
    job.wait("Succeeded")
    left.wait("Running")
    left.delete()
    # A day counts from then, and not from a day later.
    wait_until(
        lambda: RELEASED_AT in left.get("pvc", left.claim)[0]["metadata"]["annotations"],
        "it is known since when its volume has no job",
    )
    clocks(DAY, DAY)
    job.wait_gone("pod", job.pod)
    job.wait_gone("pvc", job.claim)
    left.wait_gone("pvc", left.claim)
    clocks(0, 0)


def test_each_right_is_used_and_nothing_is_denied(
    electing: Plane, server: DevServer, kubectl: Kubectl, images: dict[str, Image]
) -> None:
    accounts = ("operator", "observer")
    # An API server that has just started, as other tests have it do, denies what it has not read.
    before = {account: len(asked(electing, account)) for account in accounts}
    all_that_servers_cause(server, electing.observer.set_clocks)
    scrape(electing)
    all_that_jobs_cause(
        Job(kubectl, server.namespace, images["base"].reference), electing.observer.set_clocks
    )
    for account in accounts:
        events = asked(electing, account)
        # A namespace that ends refuses new objects with the same code.
        now = events[before[account] :]
        assert not [event for event in now if event["annotations"][DECISION] != "allow"]
        granted = own_rules(kubectl, f"devctl-{account}", SYSTEM)
        assert not granted - used(events), f"rights of the {account}'s that nothing needs"
