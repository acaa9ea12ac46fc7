"""Whose homes may be deleted by whom: config/admission/homes.yaml, as tenants meet it."""

from __future__ import annotations

import pytest
from support.servers import succeeds, wait_until
from support.tenants import ADMINISTRATOR, ALICE, BOB, OBSERVER, Tenants, child, managed

from devctl.api import ephemeral_acceleration_job as jobs
from devctl.api.labels import GROUP, OWNER_NAME

pytestmark = pytest.mark.usefixtures("enforced")

HOME = "persistentvolumeclaim/child"
DELETE = ("delete", "--dry-run=server")


def home(tenants: Tenants) -> None:
    """A home of Alice's."""
    made = child("PersistentVolumeClaim", annotations={OWNER_NAME: ALICE})
    tenants.create(ADMINISTRATOR, managed(made), keep=True)


def test_a_home_is_deleted_by_its_owner_or_an_administrator(tenants: Tenants) -> None:
    home(tenants)
    said = f"home `child` belongs to `{ALICE}`: only they or an administrator can delete it"
    for user in (BOB, OBSERVER):
        assert said in tenants.refusal(user, *DELETE, HOME)
    for user in (ADMINISTRATOR, ALICE):
        tenants.run(user, *DELETE, HOME)


def test_a_jobs_volume_is_deleted_by_its_owner_or_by_its_time(tenants: Tenants) -> None:
    notes = {jobs.OWNER_NAME: ALICE, jobs.PVC_TTL_SECONDS: "0"}
    tenants.create(
        ADMINISTRATOR, managed(child("PersistentVolumeClaim", annotations=notes)), keep=True
    )
    said = f"volume `child` belongs to `{ALICE}`: only they or an administrator can delete it"
    assert said in tenants.refusal(BOB, *DELETE, HOME)
    for user in (OBSERVER, ADMINISTRATOR, ALICE):
        tenants.run(user, *DELETE, HOME)


def test_all_claims_at_once_are_no_way_round(tenants: Tenants) -> None:
    home(tenants)
    every = f"/api/v1/namespaces/{tenants.namespace}/persistentvolumeclaims"
    assert f"belongs to `{ALICE}`" in tenants.refusal(BOB, "delete", f"--raw={every}")
    assert tenants.read(HOME)
    tenants.run(ALICE, "delete", f"--raw={every}")
    wait_until(lambda: not tenants.run(ADMINISTRATOR, "get", "pvc", "-o", "name"), "it goes")


@pytest.mark.parametrize("change", [f"{OWNER_NAME}={BOB}", f"{OWNER_NAME}-"])
def test_nobody_makes_a_home_their_own(tenants: Tenants, change: str) -> None:
    home(tenants)
    said = tenants.refusal(BOB, "annotate", "--overwrite", HOME, change)
    assert f"annotation `{OWNER_NAME}` is written by devctl only" in said


def test_a_claim_without_an_owner_is_deleted_as_ever(tenants: Tenants) -> None:
    tenants.create(ADMINISTRATOR, child("PersistentVolumeClaim"), keep=True)
    tenants.run(BOB, *DELETE, HOME)


def test_who_stands_for_the_owner_deletes_their_homes(tenants: Tenants) -> None:
    home(tenants)
    right = ("--verb=create-for-others", f"--resource=devservers.{GROUP}")
    for role, owner in (("other", BOB), ("hers", ALICE)):
        assert "belongs to" in tenants.refusal(BOB, *DELETE, HOME)
        named = ("create", "role", role, *right, f"--resource-name={owner}")
        tenants.run(ADMINISTRATOR, *named)
        binding = ("create", "rolebinding", role, f"--role={role}", f"--user={BOB}")
        tenants.run(ADMINISTRATOR, *binding)
    wait_until(lambda: succeeds(lambda: tenants.run(BOB, *DELETE, HOME)), "he stands for her")


def test_the_end_of_a_namespace_takes_homes_along_and_that_of_an_object_does_not(
    tenants: Tenants,
) -> None:
    home(tenants)
    controller = "system:serviceaccount:kube-system:{}"
    tenants.run(controller.format("namespace-controller"), *DELETE, HOME)
    collector = controller.format("generic-garbage-collector")
    assert "belongs to" in tenants.refusal(collector, *DELETE, HOME)
