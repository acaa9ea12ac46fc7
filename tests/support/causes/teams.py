"""Causes for a DevServerTeam: queues and volumes come and go, a queued server starts again."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from support.kueue import create_workload, kueue_kinds, preempt
from support.one import One
from support.servers import SMALL, DevServer, apply_flavor, wait_until

from devctl.api.devserver_user import namespace_of
from devctl.api.kinds import TEAM, USER
from devctl.api.queues import MEMBERS, cluster_queue, local_queue
from devctl.api.teams import SPACE, claim_name, volume_name

if TYPE_CHECKING:
    from support.causes import Scene


def cause(scene: Scene) -> None:
    with kueue_kinds(scene.kubectl, "workloads"):
        _queue(scene)


def _queue(scene: Scene) -> None:
    api, name = scene.kubectl.api, f"team-{uuid4().hex[:6]}"
    team, users = One(api, TEAM, name), [One(api, USER, f"{name}-{n}") for n in ("ann", "bob")]
    flavors = [apply_flavor(scene.kubectl, f"{name}-{n}", resources=SMALL) for n in (1, 2)]
    quotas = [{"name": flavor, "pods": 1} for flavor in flavors]
    team.apply(flavors=quotas)
    for user in users:
        user.apply(username=f"{user.name}@company.com", team=name)
        user.wait("Ready")
    space = namespace_of(users[0].name)
    team.apply(flavors=quotas, sharedStorage={"size": "1Mi"})
    volume = volume_name(name, space)
    wait_until(lambda: bool(api.get("pv", volume)), "the member has the team's volume")
    team.apply(flavors=quotas, members="view")
    wait_until(lambda: not api.get("pv", volume), "the volume goes")
    wait_until(lambda: bool(api.get("rolebinding", MEMBERS, space)), "members see it")
    team.apply(flavors=quotas, members="none")
    wait_until(lambda: not api.get("rolebinding", MEMBERS, space), "members see nothing")
    own = {"owner": f"{users[0].name}@company.com", "flavor": flavors[0], "image": scene.image}
    lab = DevServer(scene.kubectl, space, own | {"team": name})
    lab.apply()
    lab.wait("Ready")
    # The observer stops it.
    create_workload(scene.kubectl, lab.get("statefulset", lab.name)[0])
    preempt(scene.kubectl, space, lab.name, "2026-01-02T12:00:00Z")
    lab.follow(lambda found: found["status"]["phase"] == "Stopped", "it is stopped")
    api.patch("devserver", lab.name, {"spec": {"stopped": False}}, space)
    lab.wait("Ready")
    team.apply(flavors=quotas[:1])
    lost = cluster_queue(name, flavors[1]), local_queue(flavors[1])
    wait_until(
        lambda: not api.get("clusterqueue", lost[0]) and not api.get("localqueue", lost[1], space),
        "queues go with the quota",
    )
    api.delete("devserver", lab.name, space)
    for user in users:
        user.delete()
        api.delete("namespace", namespace_of(user.name))
    team.delete()
    api.delete("pvc", claim_name(name), SPACE)
    for flavor in flavors:
        api.delete("devserverflavor", flavor)
