"""Who may write what of jobs and of what belongs to them, as tenants meet it."""

from __future__ import annotations

import pytest
from support.asked import annotate, delete, label, patch
from support.tenants import (
    ADMINISTRATOR,
    ALICE,
    BOB,
    OBSERVER,
    OPERATOR,
    Tenants,
    child,
    job,
    managed,
    role,
    workload,
)

from devctl.api.ephemeral_acceleration_job import GROUP, JOB, KIND, VERSION, WAKE

pytestmark = pytest.mark.usefixtures("enforced")

MARKED = ("Pod", "PersistentVolumeClaim")
REFUSED = "is written by devctl only"
UID = "00000000-0000-4000-8000-000000000000"


@pytest.mark.parametrize("key", [WAKE, f"{GROUP}/other", "devops.yourcompany.com/wake"])
def test_only_devctl_writes_its_metadata_of_a_job(tenants: Tenants, key: str) -> None:
    for field in ("labels", "annotations"):
        said = tenants.refused(ALICE, job(**{field: {key: "x"}}))
        assert f"`{key}` {REFUSED}: `{ALICE}` cannot add, change or remove it" in said
        tenants.create(ADMINISTRATOR, job(**{field: {key: "x"}}))
    tenants.create(ALICE, job(labels={"team": "blue"}))


@pytest.mark.parametrize(
    "key", ["ansible.sdk.operatorframework.io/reconcile-period", "operator-sdk/other"]
)
def test_nobody_sets_what_the_framework_reads(tenants: Tenants, key: str) -> None:
    for user in (ADMINISTRATOR, ALICE):
        said = tenants.refused(user, job(annotations={key: "x"}))
        assert f"annotation `{key}` cannot be set on {KIND}s" in said


@pytest.mark.parametrize("kind", MARKED)
@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_nobody_marks_an_object_as_part_of_a_job(tenants: Tenants, kind: str, field: str) -> None:
    marked = child(kind, "child", **{field: {JOB: "box"}})
    assert REFUSED in tenants.refused(ALICE, marked)
    for user in (OPERATOR, OBSERVER, ADMINISTRATOR):
        tenants.create(user, managed(marked))
    tenants.create(ALICE, child(kind, labels={"app": "gpu-job"}))


@pytest.mark.parametrize("kind", MARKED)
def test_nobody_gives_an_object_a_job_as_its_owner(tenants: Tenants, kind: str) -> None:
    owner = {"apiVersion": f"{GROUP}/{VERSION}", "kind": KIND, "name": "box", "uid": UID}
    said = tenants.refused(ALICE, child(kind, ownerReferences=[owner]))
    assert f"owner `{KIND}/box` {REFUSED}" in said


def test_the_mark_of_a_volume_is_not_taken_off(tenants: Tenants) -> None:
    claim = child("PersistentVolumeClaim", "artifacts-box", labels={JOB: "box"})
    tenants.create(ADMINISTRATOR, claim, keep=True)
    for change in (f"{JOB}-", f"{JOB}=other"):
        said = tenants.denied(ALICE, label("pvc/artifacts-box", change))
        assert REFUSED in said
    for note in ("finished-at", "released-at", "pvc-ttl-seconds"):
        said = tenants.denied(ALICE, annotate("pvc/artifacts-box", f"{GROUP}/{note}=1"))
        assert REFUSED in said
    tenants.send(ALICE, label("pvc/artifacts-box", "team=blue"))
    tenants.send(ALICE, delete("pvc/artifacts-box"))


def test_a_job_belongs_to_whoever_creates_it(tenants: Tenants) -> None:
    tenants.create(ALICE, job(), keep=True)
    assert tenants.read("eaj/box")["spec"]["owner"] == ALICE
    # An administrator's manifest that names no owner, as hers does not, is no change of it.
    for user in (ADMINISTRATOR, ALICE):
        tenants.replace(user, job(pvcSize="2Gi"))
        tenants.run(user, "apply", "--server-side", "--force-conflicts", "-f", "-", manifest=job())
        assert tenants.read("eaj/box")["spec"]["owner"] == ALICE
    change = patch("eaj/box", {"spec": {"owner": BOB}})
    for user in (ADMINISTRATOR, BOB):
        assert "the owner of a job cannot change" in tenants.denied(user, change)


def test_nobody_creates_a_job_in_anothers_name(tenants: Tenants) -> None:
    said = tenants.refused(BOB, job(owner=ALICE))
    assert f"spec.owner `{ALICE}` is not you: write `{BOB}`" in said
    for user in (ADMINISTRATOR, ALICE):
        tenants.create(user, job(owner=ALICE))


def test_a_template_is_judged_like_what_is_made_from_it(tenants: Tenants) -> None:
    for template, claim in (({"labels": {JOB: "box"}}, None), ({}, {"labels": {JOB: "box"}})):
        stateful = child("StatefulSet")
        stateful["spec"] = workload(template, claim)
        assert f"`{JOB}` in a template {REFUSED}" in tenants.refused(ALICE, stateful)
        tenants.create(ADMINISTRATOR, stateful)


def test_the_right_is_asked_for_each_kind(tenants: Tenants) -> None:
    """Who writes the marks of servers does not write those of jobs for that."""
    # Kinds of one group share their marks, so the right on each is asked for.
    kinds = " ".join(f"devserver{of}" for of in ("s", "flavors", "teams", "users"))
    verb, group = "write-reserved-metadata", "devops.yourcompany.com"
    tenants.create(ADMINISTRATOR, role("marks", verb, {group: kinds}), keep=True)
    tenants.bind(BOB, to="marks", awaits=(verb, f"devservers.{group}"))
    tenants.create(BOB, child("Pod", labels={"devops.yourcompany.com/devserver": "box"}))
    assert REFUSED in tenants.refused(BOB, child("Pod", labels={JOB: "box"}))


def test_a_status_that_a_user_writes_is_not_kept(tenants: Tenants) -> None:
    status = {"status": {"phase": "Succeeded", "finishedAt": "2001-01-01T00:00:00Z"}}
    tenants.create(ALICE, job() | status, keep=True)
    tenants.send(ALICE, patch("eaj/box", status))
    assert tenants.read("eaj/box").get("status", {}).get("finishedAt") is None
    said = tenants.denied(ALICE, patch("eaj/box", status, sub="status"))
    assert "forbidden" in said.lower()
