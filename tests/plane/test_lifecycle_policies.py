"""What administrators set about lifecycles: limits, defaults, and to whose servers they apply."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from support.asked import Request, delete, patch
from support.one import One
from support.servers import SMALL, apply_flavor, succeeds, wait_until
from support.tenants import ADMINISTRATOR, ALICE, Manifest, Tenants, server

from devctl.api.kinds import LIFECYCLE_POLICY

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.usefixtures("deployed", "enforced")


class Policies:
    """Policies for the servers of a user whom no other test knows, since all are cluster-wide."""

    def __init__(self, tenants: Tenants) -> None:
        self.tenants, self.user = tenants, f"user-{uuid4().hex[:6]}"
        self.made: list[One] = []

    def define(self, name: str = "limits", **spec: Any) -> One:
        """Create a policy, and wait until the API server enforces it."""
        one = self._apply(f"{self.user}-{name}", **{"users": [self.user], **spec})
        # The API server sees policies in order: when it knows the next one, it knows this one.
        probe = f"{self.user}-probe-{len(self.made)}"
        self._apply(probe, users=[probe], idleTimeout={"minimum": "1d", "default": "1d"})
        known = server("probe", owner=probe, lifecycle={"timeToLive": "1h"})
        short = server("probe", owner=probe, lifecycle={"idleTimeout": "1h"})
        wait_until(
            lambda: (
                "idleTimeout" in lifecycle_of(self.tenants, known)
                and not succeeds(lambda: self.tenants.create(ADMINISTRATOR, short))
            ),
            "it is enforced",
        )
        return one

    def _apply(self, name: str, **spec: Any) -> One:
        one = One(self.tenants.kubectl.api, LIFECYCLE_POLICY, name)
        one.apply(**spec)
        self.made.append(one)
        return one

    def create(self, **spec: Any) -> Manifest:
        """The lifecycle that a new server of the user's gets."""
        return lifecycle_of(self.tenants, server(owner=self.user, **spec))

    def refused(self, **spec: Any) -> str:
        """What is said against a new server of the user's."""
        return self.tenants.refused(ADMINISTRATOR, server(owner=self.user, **spec))


@pytest.fixture
def policies(tenants: Tenants) -> Iterator[Policies]:
    made = Policies(tenants)
    yield made
    for one in made.made:
        one.delete()


def lifecycle_of(tenants: Tenants, manifest: Manifest) -> Manifest:
    """The lifecycle that a new server gets."""
    found: Manifest = tenants.create(ADMINISTRATOR, manifest)["spec"].get("lifecycle", {})
    return found


def in_hours(hours: float) -> str:
    return f"{datetime.now(UTC) + timedelta(hours=hours):%Y-%m-%dT%H:%M:%SZ}"


LIMITED: list[tuple[Manifest, str, list[Manifest], list[Manifest]]] = [
    (
        {"idleTimeout": {"minimum": "1h"}},
        "allows at least 1h",
        [{"idleTimeout": "30m"}, {"idleTimeout": 3599}],
        [{}, {"idleTimeout": "60m"}, {"idleTimeout": 3600}, {"idleTimeout": "1d"}],
    ),
    (
        {"idleTimeout": {"maximum": 7200}},
        "allows at most 7200",
        [{"idleTimeout": "1d"}, {"idleTimeout": 7201}],
        [{}, {"idleTimeout": "2h"}, {"idleTimeout": "1h59m60s"}],
    ),
    (
        {"timeToLive": {"maximum": "1d12h"}},
        "allows at most 1d12h",
        [{"timeToLive": "2d"}, {"timeToLive": "36h1s"}],
        [{}, {"timeToLive": "36h"}],
    ),
    (
        {"maxRuntime": {"maximum": "1d", "required": True}},
        "",
        [{}, {"idleTimeout": "1h"}, {"maxRuntime": "25h"}],
        [{"maxRuntime": "1d"}, {"maxRuntime": 60}],
    ),
    (
        {"autoShutdown": {"required": True}},
        "requires it",
        [{}, {"idleTimeout": "1h"}, {"idleTimeout": "1h", "autoShutdown": False}],
        [{"idleTimeout": "1h", "autoShutdown": True}],
    ),
]
"""What a policy says, how it is put, and lifecycles that it refuses and accepts."""


@pytest.mark.parametrize("limited", LIMITED, ids=lambda limited: next(iter(limited[0])))
def test_a_server_keeps_within_the_limits(
    tenants: Tenants,
    policies: Policies,
    limited: tuple[Manifest, str, list[Manifest], list[Manifest]],
) -> None:
    spec, said, wrong, right = limited
    name = policies.define(**spec).name
    for lifecycle in wrong:
        found = policies.refused(lifecycle=lifecycle)
        assert f"LifecyclePolicy `{name}`" in found
        assert f"{said} for user `{policies.user}`" in found
        tenants.create(ALICE, server(lifecycle=lifecycle))
    for lifecycle in right:
        assert policies.create(lifecycle=lifecycle) == lifecycle


def change(**changes: Any) -> Request:
    """A change of the server `box`."""
    return patch("devserver/box", changes)


def test_a_hold_ends_within_the_limit(tenants: Tenants, policies: Policies) -> None:
    policies.define(hold={"maximum": "2h"})
    said = policies.refused(lifecycle={"holdUntil": in_hours(3)})
    assert "allows at most 2h from now" in said
    policies.create(lifecycle={"holdUntil": in_hours(1)})
    tenants.create(ADMINISTRATOR, server(owner=policies.user), keep=True)

    def hold(hours: float, **metadata: Any) -> Request:
        return change(spec={"lifecycle": {"holdUntil": in_hours(hours)}}, metadata=metadata)

    tenants.send(ADMINISTRATOR, hold(1.9))
    assert "from now" in tenants.denied(ADMINISTRATOR, hold(2.1))
    # Whoever claims that it is later, or keeps no record, does not get around it.
    later = {
        "manager": "me",
        "operation": "Update",
        "apiVersion": LIFECYCLE_POLICY.api_version,
        "time": in_hours(100),
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:lifecycle": {"f:holdUntil": {}}}},
    }
    claims: list[list[Manifest]] = [[later], [{}]]
    for claimed in claims:
        said = tenants.denied(ADMINISTRATOR, hold(2.1, managedFields=claimed))
        assert "from now" in said
    # In one second, the record stays the same.
    for hours in (1.8, 1.7, 1.6):
        tenants.send(ADMINISTRATOR, hold(hours))


def test_what_exists_is_judged_where_it_changes(tenants: Tenants, policies: Policies) -> None:
    loose = {"idleTimeout": "5m", "timeToLive": "300d"}
    tenants.create(ADMINISTRATOR, server(owner=policies.user, lifecycle=loose), keep=True)
    policies.define(idleTimeout={"minimum": "1h"}, timeToLive={"maximum": "1d"})
    for accepted in (
        {"stopped": False},
        {"stopped": True, "enableSSH": False},
        {"lifecycle": {"holdUntil": in_hours(1)}},
        {"lifecycle": {"idleTimeout": "2h"}},
    ):
        tenants.send(ADMINISTRATOR, change(spec=accepted))
    said = tenants.denied(ADMINISTRATOR, change(spec={"lifecycle": {"idleTimeout": "30m"}}))
    assert "allows at least 1h" in said
    # Under another flavor, everything has to be right.
    said = tenants.denied(ADMINISTRATOR, change(spec={"flavor": "other"}))
    assert "spec.lifecycle.timeToLive is 300d" in said
    right = {"flavor": "other", "lifecycle": {"timeToLive": "1d"}}
    tenants.send(ADMINISTRATOR, change(spec=right))
    tenants.send(ADMINISTRATOR, delete("devserver/box"))


def test_each_policy_has_to_be_met(policies: Policies) -> None:
    policies.define("one", idleTimeout={"minimum": "1h"})
    policies.define("two", idleTimeout={"maximum": "3h"})
    for timeout, said in (("30m", "1h"), ("4h", "3h")):
        assert f" {said} for user" in policies.refused(lifecycle={"idleTimeout": timeout})
    policies.create(lifecycle={"idleTimeout": "3h"})


def test_a_new_server_gets_what_it_does_not_say(tenants: Tenants, policies: Policies) -> None:
    policies.define(
        idleTimeout={"minimum": "1h", "default": "2h", "maximum": "8h"},
        autoShutdown={"default": True},
        maxRuntime={"default": "3d", "required": True},
        timeToLive={"default": 86400, "maximum": "2d"},
    )
    limits = {"maxRuntime": "3d", "timeToLive": 86400}
    everything = {"idleTimeout": "2h", "autoShutdown": True, **limits}
    assert policies.create() == everything
    own = {"idleTimeout": "3h", "autoShutdown": False}
    assert policies.create(lifecycle=own) == own | limits
    assert lifecycle_of(tenants, server()) == {}


def test_nobody_gets_a_shutdown_without_a_timeout(policies: Policies) -> None:
    policies.define(autoShutdown={"default": True})
    assert policies.create() == {}
    found = policies.create(lifecycle={"idleTimeout": "1h"})
    assert found == {"idleTimeout": "1h", "autoShutdown": True}


def test_a_policy_applies_to_the_servers_of_its_flavors(
    tenants: Tenants, policies: Policies
) -> None:
    kubectl, name = tenants.kubectl, policies.user
    one = policies.define(flavors=[name], idleTimeout={"minimum": "1h", "default": "2h"})
    assert "there is no flavor" in one.wait("FlavorsFound", "False")["message"]
    short = {"idleTimeout": "5m"}
    said = policies.refused(flavor=name, lifecycle=short)
    assert f"at least 1h for flavor `{name}` for user" in said
    policies.create(flavor="other", lifecycle=short)
    policies.create(lifecycle=short)
    # What names no flavor gets the default one of the namespace, or of the cluster.
    annotation = "devops.yourcompany.com/default-flavor"
    kubectl("annotate", "namespace", tenants.namespace, f"{annotation}={name}")
    wait_until(lambda: policies.create() == {"idleTimeout": "2h"}, "the namespace has it")
    kubectl("annotate", "namespace", tenants.namespace, f"{annotation}-")
    wait_until(lambda: policies.create() == {}, "it has no longer")
    apply_flavor(kubectl, name, resources=SMALL, default=True)
    try:
        one.wait("FlavorsFound")
        wait_until(lambda: policies.create() == {"idleTimeout": "2h"}, "it is the default")
        assert "for the default flavor for user" in policies.refused(lifecycle=short)
    finally:
        kubectl("delete", "devserverflavor", name)


def test_two_defaults_for_the_same_servers_are_reported(policies: Policies) -> None:
    one = policies.define("one", idleTimeout={"default": "1h"})
    one.wait("DefaultConflict", "False")
    other = policies.define("two", idleTimeout={"default": "2h"})
    assert f"idleTimeout of {other.name};" in one.wait("DefaultConflict")["message"]
    other.delete()
    one.wait("DefaultConflict", "False")
    wait_until(lambda: policies.create() == {"idleTimeout": "1h"}, "the API server has seen it")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({}, "should have at least 1 properties"),
        ({"idleTimeout": {}}, "should have at least 1 properties"),
        ({"idleTimeout": {"minimum": "30s"}}, "a duration is from a minute to a year"),
        ({"idleTimeout": {"default": "soon"}}, "a duration is from a minute to a year"),
        ({"idleTimeout": {"minimum": "2h", "default": "119m"}}, "must not be shorter than the"),
        ({"idleTimeout": {"minimum": 7200, "maximum": "1h"}}, "no value longer than the maximum"),
        ({"idleTimeout": {"default": "1d", "maximum": "23h"}}, "no value longer than the maximum"),
        ({"timeToLive": {"default": "8d", "maximum": "7d"}}, "must not be longer than the maximum"),
        ({"maxRuntime": {"default": "8d", "maximum": "7d"}}, "must not be longer than the maximum"),
        ({"autoShutdown": {"required": True, "default": False}}, "must be true where autoShutdown"),
        ({"hold": {}}, "spec.hold.maximum: Required value"),
        ({"flavors": ["A100"]}, "spec.flavors[0]"),
        ({"ceiling": "1h"}, 'unknown field "spec.ceiling"'),
    ],
)
def test_a_wrong_policy_is_refused(tenants: Tenants, spec: Manifest, said: str) -> None:
    made = {
        "apiVersion": LIFECYCLE_POLICY.api_version,
        "kind": LIFECYCLE_POLICY.name,
        "metadata": {"name": "wrong"},
        "spec": spec,
    }
    assert said in tenants.refused(ADMINISTRATOR, made)


def test_everybody_reads_policies_and_only_administrators_write_them(tenants: Tenants) -> None:
    verbs = ("get", "list", "create", "update", "patch", "delete", "deletecollection")
    rights = {
        user: {verb for verb in verbs if tenants.api(user).may(verb, LIFECYCLE_POLICY.plural)}
        for user in (ALICE, ADMINISTRATOR)
    }
    assert rights == {ALICE: {"get", "list"}, ADMINISTRATOR: set(verbs)}
