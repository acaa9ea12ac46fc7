"""What the roles of users must not be able to do to others or to the platform, and what they can.

Each line is sent to the API server with that user's own token. An administrator sends it as well,
without effect: were a path or a body wrong, a refusal would prove nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from support.attempts import Attempt, Sender
from support.jobs import WAITS, Job
from support.servers import SMALL, DevServer, apply_flavor, wait_until
from support.user_attempts import (
    AGAINST_RULES,
    FORBIDDEN,
    JOB_USER,
    OF_BOTH,
    OF_JOBS,
    OF_SERVERS,
    USER,
)
from support.user_place import account_kubeconfig

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Kubectl

    from devctl.local.images import Image

pytestmark = pytest.mark.usefixtures("deployed", "enforced")

ROLES = (USER, JOB_USER)
GIVEN = {USER: (USER,), JOB_USER: (JOB_USER,), "both": ROLES}
"""The roles of each user, by the name of their account."""
FORBIDDEN_TO = re.compile(r"403: .* cannot .*")
SAMPLES = [REPOSITORY / f"config/samples/{name}.yaml" for name in ("namespace", "resourcequota")]


@dataclass(frozen=True)
class People:
    """Who sends requests: users by the names of their accounts, and an administrator."""

    users: dict[str, Sender]
    administrator: Sender


@pytest.fixture(scope="module")
def people(
    kubectl: Kubectl,
    kubeconfig: Path,
    images: dict[str, Image],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[People]:
    """Users of one namespace, where there are a server and a job; another has the same."""
    number = uuid4().hex[:6]
    own, other = f"own-{number}", f"other-{number}"
    apply_flavor(kubectl, own, resources=SMALL)
    made = []
    for place in (own, other):
        # With the limits of the samples.
        text = "".join(file.read_text() for file in SAMPLES)
        kubectl("apply", "-f", "-", input=text.replace("dev-alice", place))
        kubectl("-n", place, "create", "secret", "generic", "token")
        spec = {"owner": "somebody", "flavor": own, "image": images["base"].reference}
        made.append((DevServer(kubectl, place, spec), Job(kubectl, place, "none:1", "box")))
        made[-1][0].apply(persistentHomeSize="10Mi")
        made[-1][1].apply(command=WAITS)
    theirs = [Job(kubectl, own, "none:1", role) for role in ROLES]
    for job in theirs:
        job.apply(owner=f"system:serviceaccount:{own}:{job.name}", suspend=True)
    senders = {}
    for name in (*GIVEN, "administrator"):
        file = account_kubeconfig(kubectl, kubeconfig, own, name, tmp_path_factory.mktemp(name))
        words = {"own": own, "other": other, "account": name}
        words["me"] = f"system:serviceaccount:{own}:{name}"
        senders[name] = Sender(file, words)
        for role in GIVEN.get(name, ()):
            binding = ("rolebinding", f"{name}-{role}", "-n", own, f"--clusterrole={role}")
            kubectl("create", *binding, f"--serviceaccount={own}:{name}")
    everything = ("clusterrolebinding", own, "--clusterrole=cluster-admin")
    kubectl("create", *everything, f"--serviceaccount={own}:administrator")
    for server, _job in made:
        server.wait("Ready")
    for job in theirs:
        wait_until(lambda job=job: bool(job.get("pvc", job.claim)), f"{job.name} has a volume")  # type: ignore[misc]
    administrator = senders.pop("administrator")
    yield People(senders, administrator)
    kubectl("delete", "clusterrolebinding", own)
    for server, job in made:
        kubectl("-n", server.namespace, "delete", "devserver,eaj", "--all", "--wait=false")
        server.delete()
        job.wait_gone("eaj", job.name)
        kubectl("delete", "namespace", server.namespace, "--wait=false")
    kubectl("delete", "devserverflavor", own)


@pytest.mark.parametrize("tried", FORBIDDEN, ids=str)
def test_no_user_may(people: People, tried: Attempt) -> None:
    assert people.administrator.objection(tried) == ""
    for name, sender in people.users.items():
        assert FORBIDDEN_TO.match(sender.objection(tried)), name


@pytest.mark.parametrize("role", ROLES)
def test_each_role_gives_what_its_commands_need_and_not_what_the_other_gives(
    people: People, role: str
) -> None:
    given, others = (OF_SERVERS, OF_JOBS)[:: 1 if role == USER else -1]
    for tried in (*given, *OF_BOTH):
        assert people.users[role].objection(tried) == "", tried
    for tried in others:
        assert FORBIDDEN_TO.match(people.users[role].objection(tried)), tried


@pytest.mark.parametrize(("role", "tried", "said"), AGAINST_RULES)
def test_a_rule_of_the_cluster_stops_them(
    people: People, role: str, tried: Attempt, said: str
) -> None:
    answer = people.users[role].send(tried)
    assert (answer.is_client_error, said in answer.text) == (True, True), answer.text
