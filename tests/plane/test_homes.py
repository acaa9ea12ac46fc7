"""Whose homes may be deleted by whom: config/admission/homes.yaml, as tenants meet it."""

from __future__ import annotations

import pytest
from support.asked import annotate, delete
from support.servers import wait_until
from support.tenants import ADMINISTRATOR, ALICE, BOB, OBSERVER, Tenants, child, managed, role

from devctl.api import ephemeral_acceleration_job as jobs
from devctl.api.labels import GROUP, OWNER_NAME

pytestmark = pytest.mark.usefixtures("enforced")

HOME = "persistentvolumeclaim/child"
DELETE = delete(HOME, dry=True)


def home(tenants: Tenants) -> None:
    """A home of Alice's."""
    made = child("PersistentVolumeClaim", annotations={OWNER_NAME: ALICE})
    tenants.create(ADMINISTRATOR, managed(made), keep=True)


def test_a_home_is_deleted_by_its_owner_or_an_administrator(tenants: Tenants) -> None:
    home(tenants)
    said = f"home `child` belongs to `{ALICE}`: only they or an administrator can delete it"
    for user in (BOB, OBSERVER):
        assert said in tenants.denied(user, DELETE)
    for user in (ADMINISTRATOR, ALICE):
        tenants.send(user, DELETE)


def test_a_jobs_volume_is_deleted_by_its_owner_or_by_its_time(tenants: Tenants) -> None:
    notes = {jobs.OWNER_NAME: ALICE, jobs.PVC_TTL_SECONDS: "0"}
    tenants.create(
        ADMINISTRATOR, managed(child("PersistentVolumeClaim", annotations=notes)), keep=True
    )
    said = f"volume `child` belongs to `{ALICE}`: only they or an administrator can delete it"
    assert said in tenants.denied(BOB, DELETE)
    for user in (OBSERVER, ADMINISTRATOR, ALICE):
        tenants.send(user, DELETE)


def test_all_claims_at_once_are_no_way_round(tenants: Tenants) -> None:
    home(tenants)
    every = delete("persistentvolumeclaims")
    assert f"belongs to `{ALICE}`" in tenants.denied(BOB, every)
    assert tenants.read(HOME)
    tenants.send(ALICE, every)
    wait_until(lambda: not tenants.names("pvc"), "it goes")


@pytest.mark.parametrize("change", [f"{OWNER_NAME}={BOB}", f"{OWNER_NAME}-"])
def test_nobody_makes_a_home_their_own(tenants: Tenants, change: str) -> None:
    home(tenants)
    said = tenants.denied(BOB, annotate(HOME, change))
    assert f"annotation `{OWNER_NAME}` is written by devctl only" in said


def test_a_claim_without_an_owner_is_deleted_as_ever(tenants: Tenants) -> None:
    tenants.create(ADMINISTRATOR, child("PersistentVolumeClaim"), keep=True)
    tenants.send(BOB, DELETE)


def test_who_stands_for_the_owner_deletes_their_homes(tenants: Tenants) -> None:
    home(tenants)
    verb, servers = "create-for-others", {GROUP: "devservers"}
    for name, owner in (("other", BOB), ("hers", ALICE)):
        assert "belongs to" in tenants.denied(BOB, DELETE)
        tenants.create(ADMINISTRATOR, role(name, verb, servers, owner), keep=True)
        tenants.bind(BOB, to=name, awaits=(verb, f"devservers.{GROUP}/{owner}"))
    tenants.send(BOB, DELETE)


def test_the_end_of_a_namespace_takes_homes_along_and_that_of_an_object_does_not(
    tenants: Tenants,
) -> None:
    home(tenants)
    controller = "system:serviceaccount:kube-system:{}"
    tenants.send(controller.format("namespace-controller"), DELETE)
    collector = controller.format("generic-garbage-collector")
    assert "belongs to" in tenants.denied(collector, DELETE)
