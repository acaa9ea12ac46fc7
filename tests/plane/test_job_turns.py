"""Kueue's own program decides about jobs: one waits for another, and one takes another's quota."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.kueue import GATE, await_next_second
from support.queued_jobs import a_place
from support.servers import wait_until

from devctl.api.queues import FINALIZER

if TYPE_CHECKING:
    from support.commands import Kubectl
    from support.plane.kueue import KueueProcess

    from devctl.local.images import Image

pytestmark = pytest.mark.usefixtures("deployed", "enforced")


def test_a_job_waits_for_another_one_and_runs_after_it(
    kueue_process: KueueProcess, kubectl: Kubectl, images: dict[str, Image]
) -> None:
    with a_place(kubectl, images["base"].reference, pods=1) as place:
        first, second, third = (place.job(name) for name in ("first", "second", "third"))
        first.apply()
        first.wait("Running")
        second.apply()
        short = "not enough quota is free: it needs 20m more cpu, 32Mi more memory"
        place.wait(second, "Queued", f"for flavor `{place.name}`: {short}")
        pod = place.pod(second)
        assert {"name": GATE} in pod["spec"]["schedulingGates"]
        assert FINALIZER in pod["metadata"]["finalizers"]
        await_next_second(kubectl, place.namespace)
        third.apply()
        place.wait(third, "Queued", "its turn has not come yet")
        # What is gone is not waited for.
        second.delete()
        first.end()
        first.wait("Succeeded")
        first.wait_gone("pod", first.pod)
        third.wait("Running")
        # While Kueue is down, its finalizer and its webhooks remain.
        new = place.job("new")
        kueue_process.stop()
        try:
            new.apply()
            # Not `QueueUnavailable`: on a plane, its webhooks are not those of its Service.
            place.wait(new, "Unavailable", 'failed calling webhook "mpod.kb.io"')
            kubectl.api.delete("eaj", third.name, place.namespace)
            wait_until(
                lambda: "deletionTimestamp" in third.get("pod", third.pod)[0]["metadata"],
                "its pod is deleted",
            )
            place.release(third)
            third.wait_gone("pod", third.pod)
        finally:
            kueue_process.resume()
        new.wait("Running", seconds=180)


def test_a_preempted_job_has_failed_and_gets_no_other_pod(
    kueue_process: KueueProcess,  # noqa: ARG001
    kubectl: Kubectl,
    images: dict[str, Image],
) -> None:
    with a_place(kubectl, images["base"].reference, pods=1, preemptible=True) as place:
        low, high = place.job("low", priority="low"), place.job("high", priority="high")
        low.apply()
        low.wait("Running")
        high.apply()
        status = low.wait("Failed", "Preempted")
        assert "a server or job with a higher priority needed its quota" in status["message"]
        high.wait("Running")
        low.wait_gone("pod", low.pod)
        low.apply(pvcTTLSecondsAfterFinished=7200)
        low.wait_applied()
        assert not low.get("pod", low.pod)
        assert low.get("pvc", low.claim)
