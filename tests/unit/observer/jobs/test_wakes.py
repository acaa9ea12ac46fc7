"""When the role is triggered again, and when not."""

from __future__ import annotations

import pytest
from devctl_observer.watching.store import Key

from unit.observer.jobs.cluster import POD, VOLUME, Cluster, finished
from unit.observer.jobs.things import NAMESPACE
from unit.observer.test_quotas import quota


def test_each_loss_wakes_the_role_once_also_after_a_restart() -> None:
    cluster = Cluster()
    cluster.create()
    for _ in range(3):
        cluster.wait(5)
        cluster.drop("pods", POD)
        cluster.wait(2)
        assert POD not in cluster.pods, "a watch may lag behind"
        cluster.wait(2)
        assert POD in cluster.pods
    cluster.drop("claims", VOLUME)
    cluster.restart()
    cluster.wait(4)
    assert VOLUME in cluster.claims
    cluster.drop("claims", VOLUME)
    cluster.restart()
    cluster.wait(4)
    assert VOLUME in cluster.claims
    assert len(cluster.woken) == len(set(cluster.woken)) == 5
    # A failing role is triggered only once.
    cluster.role_works = False
    cluster.drop("pods", POD)
    cluster.wait(60)
    assert len(cluster.woken) == 6


def test_a_role_that_met_an_earlier_jobs_pod_is_woken_once_that_is_gone() -> None:
    cluster = Cluster()
    cluster.create()
    old = cluster.pods[POD]
    cluster.drop("jobs", "my-job")
    cluster.role_works = False
    cluster.create()
    job = cluster.jobs["my-job"]
    said = {"type": "Applied", "status": "False", "reason": "Conflict", "message": "a pod is there"}
    status = job["status"] | {"conditions": [said | {"observedGeneration": 1}]}
    cluster.store("jobs", job | {"status": status})
    cluster.wait(3)
    assert cluster.woken == []
    assert cluster.status()["reason"] == "Conflict"
    cluster.drop("pods", POD)
    cluster.role_works = True
    cluster.settle()
    assert len(cluster.woken) == 1
    assert cluster.pods[POD]["metadata"]["uid"] != old["metadata"]["uid"]
    cluster.wait(60)
    assert len(cluster.woken) == 1


def test_a_job_that_waits_for_a_quota_is_woken_when_there_is_more_room() -> None:
    cluster = Cluster()
    cluster.create(suspend=True)
    said = {"type": "Applied", "status": "False", "reason": "QuotaExceeded", "message": "full"}
    job = cluster.jobs["my-job"]
    status = job["status"] | {"conditions": [said | {"observedGeneration": 1}]}
    cluster.role_works = False
    cluster.store("jobs", job | {"status": status})
    cluster.wait(60)
    # Once, because room may have been freed before this process started.
    assert len(cluster.woken) == 1
    cluster.observer.quotas.changed(quota(1, NAMESPACE, pods="5"), quota(2, NAMESPACE, pods="6"))
    cluster.wait(60)
    assert len(set(cluster.woken)) == len(cluster.woken) == 2


def foreign_claim(cluster: Cluster, uid: str) -> None:
    cluster.store("claims", {"metadata": {"name": VOLUME, "uid": uid}, "spec": {}})


@pytest.mark.parametrize("restarted", [False, True])
def test_a_role_that_met_a_foreign_claim_goes_on_soon_after_that_is_gone(
    *, restarted: bool
) -> None:
    """It is not watched, because it has none of our labels."""
    cluster = Cluster()
    foreign_claim(cluster, "first")
    cluster.create()
    cluster.wait(600)
    assert cluster.status()["reason"] == "Conflict"
    # Less and less often, and never with the same value, which would not trigger the role.
    assert len(cluster.woken) == len(set(cluster.woken)) == 12
    # Another one replaces it before the role has run, and blocks the role as well.
    cluster.claims.pop(VOLUME)
    foreign_claim(cluster, "second")
    cluster.wait(60)
    assert cluster.status()["reason"] == "Conflict"
    cluster.claims.pop(VOLUME)
    if restarted:
        cluster.restart()
        cluster.settle()
    cluster.wait(60)
    assert POD in cluster.pods
    assert VOLUME in cluster.claims
    woken = len(cluster.woken)
    cluster.wait(600)
    assert len(cluster.woken) == woken


def test_a_finished_job_whose_role_cannot_is_tried_again_until_it_goes() -> None:
    cluster = Cluster()
    finished(cluster, ttlSecondsAfterFinished=3600)
    before = len(cluster.woken)
    foreign_claim(cluster, "first")
    cluster.edit(ttlSecondsAfterFinished=7200)
    assert "Conflict" in str(cluster.status()["conditions"])
    cluster.wait(75)
    assert len(cluster.woken) == before + 4
    cluster.delete_job()
    cluster.wait(75)
    assert len(cluster.woken) == before + 4


def test_a_watch_that_lags_ends_no_job() -> None:
    cluster = Cluster()
    cluster.create()
    cluster.runs()
    children = cluster.process.caches.children
    children.pods.drop(Key("team", POD))
    cluster.process.look_again()
    cluster.settle()
    cluster.wait(30)
    assert cluster.status()["phase"] == "Running"
