"""What an upgrade must leave as it is: a scene's objects, and all that was created for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml
from support.plane.content import NODES
from support.servers import condition_of, wait_until

from devctl.api.devserver import Condition
from devctl.api.devserver_user import namespace_of
from devctl.api.kinds import NODE_ACTIVITY, NODE_CACHE, USAGE
from devctl.api.usage import read_line
from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

    from support.lives import Scene

Thing = dict[str, Any]

WORK = ("statefulset", "pod", "job.batch", "persistentvolumeclaim", "resourceclaim")
"""Of these, none may be added either: it would be work that is done twice."""
BESIDE = (
    *("service", "secret", "configmap", "serviceaccount", "role", "rolebinding"),
    *("resourcequota", "limitrange", "networkpolicy"),
)
QUEUES = ("localqueue.kueue.x-k8s.io", "clusterqueue.kueue.x-k8s.io")
_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
_WRITTEN = {each.name for each in (NODE_ACTIVITY, NODE_CACHE, USAGE)}
"""Kinds that programs write all the time."""
_RESTART = Condition.RESTART_REQUIRED
"""By this condition a release reports that pods which start now would be others."""


class Kind(NamedTuple):
    """A kind of a release."""

    name: str
    resource: str
    namespaced: bool


@cache
def kinds_of(checkout: Path) -> tuple[Kind, ...]:
    """All kinds that a release defines."""
    files = sorted((checkout / "config/crd").glob("*.yaml"))
    found = (thing for file in files for thing in yaml.safe_load_all(file.read_text()))
    specs = (thing["spec"] for thing in found if thing["kind"] == "CustomResourceDefinition")
    return tuple(
        Kind(
            spec["names"]["kind"],
            f"{spec['names']['plural']}.{spec['group']}",
            spec["scope"] == "Namespaced",
        )
        for spec in specs
    )


def roles_of(checkout: Path) -> dict[str, str]:
    """The role of each kind that a release's operator watches."""
    watches = yaml.safe_load((checkout / "watches.yaml").read_text())
    return {watch["kind"]: watch["role"].rpartition("/")[2] for watch in watches}


@dataclass(frozen=True)
class Picture:
    """The objects of a scene at one time.

    Attributes:
        own: Objects of devctl's kinds, by kind, namespace and name.
        work: What runs for them, or holds their files.
        beside: All else that was created for them. Nobody needs what an object that has ended owns:
            its role deletes it whenever it runs again.
        labels: Of the nodes.
        rights: Of each user, in their namespace.
        outdated: StatefulSets of servers that are reported to need a restart.
    """

    own: dict[str, Thing] = field(default_factory=dict)
    work: dict[str, Thing] = field(default_factory=dict)
    beside: dict[str, Thing] = field(default_factory=dict)
    labels: dict[str, Thing] = field(default_factory=dict)
    rights: dict[str, Thing] = field(default_factory=dict)
    outdated: frozenset[str] = frozenset()

    @property
    def kinds(self) -> dict[str, int]:
        """How many objects there are of each of devctl's kinds."""
        names = [key.partition(" ")[0] for key in self.own]
        return {name: names.count(name) for name in names}


def take(scene: Scene, checkout: Path) -> Picture:
    """A picture of all that belongs to a scene, in the kinds of a release."""
    kinds = kinds_of(checkout)
    own = [
        each for kind in kinds for each in _ours(scene, kind.resource, namespaced=kind.namespaced)
    ]
    work = [each for kind in WORK for each in _ours(scene, kind)]
    beside = [each for kind in (*BESIDE, QUEUES[0]) for each in _ours(scene, kind)]
    beside += _ours(scene, QUEUES[1], namespaced=False)
    beside += [each for each in scene.api.list("namespace") if _name(each) in scene.namespaces]
    ended = {each["metadata"]["uid"] for each in own if "finishedAt" in each.get("status", {})}
    nodes = scene.api.list("node")
    return Picture(
        {_key(each): _of_own(each) for each in own},
        {_key(each): _of_work(each) for each in work},
        {_key(each): _of_beside(each) for each in beside if not _owners(each) & ended},
        {_key(node): node["metadata"].get("labels", {}) for node in nodes},
        {name: _rights(scene, name, namespace_of(user)) for name, user in scene.users.items()},
        frozenset(
            _key(each | {"kind": "StatefulSet"})
            for each in own
            if condition_of(each.get("status", {}), _RESTART).get("status") == "True"
        ),
    )


def _rights(scene: Scene, user: str, namespace: str) -> Thing:
    review = {"spec": {"namespace": namespace}}
    answer = scene.api.acting(user, "system:authenticated").post(_REVIEWS, review)
    return {
        f"{verb} {resource}.{group}/{name}": "allowed"
        for rule in answer["status"]["resourceRules"]
        for verb in rule["verbs"]
        for resource in rule["resources"]
        for group in rule["apiGroups"]
        for name in rule.get("resourceNames") or ["*"]
    }


def _ours(scene: Scene, resource: str, *, namespaced: bool = True) -> list[Thing]:
    if namespaced:
        return [each for space in scene.namespaces for each in scene.api.list(resource, space)]
    shared = {*NODES, "default"}
    return [
        each
        for each in scene.api.list(resource)
        if scene.mark in _name(each) or _name(each) in shared
    ]


def _name(thing: Thing) -> str:
    return str(thing["metadata"]["name"])


def _owners(thing: Thing) -> set[str]:
    return {each["uid"] for each in thing["metadata"].get("ownerReferences", [])}


def _key(thing: Thing) -> str:
    return f"{thing['kind']} {thing['metadata'].get('namespace', '')}/{_name(thing)}"


def differences(before: Picture, after: Picture) -> list[str]:
    """What is not as it was: what is missing, what has changed, and what runs in addition."""
    found = [f"{key} is new" for key in after.work.keys() - before.work.keys()]
    for part in ("own", "work", "beside", "labels", "rights"):
        now = getattr(after, part)
        for key, was in getattr(before, part).items():
            found += _lost(was, now[key], key) if key in now else [f"{key} is gone"]
    # Their pods stay as they are, and the next ones are made by another template: on the way back,
    # by the one that they were made by.
    reported = tuple(f"{key}.template" for key in before.outdated | after.outdated)
    return sorted(each for each in found if not each.startswith(reported))


def _lost(was: Any, now: Any, path: str) -> list[str]:
    """Where a value is not as it was. A field may be new: a release may add one with a default."""
    if isinstance(was, dict) and isinstance(now, dict):
        pairs = [(f"{path}.{name}", value, now.get(name)) for name, value in was.items()]
    elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        pairs = [(f"{path}[{n}]", *pair) for n, pair in enumerate(zip(was, now, strict=True))]
    else:
        return [] if was == now else [f"{path} was {was}, and is {now}"]
    return [each for place, one, other in pairs for each in _lost(one, other, place)]


def _of_own(thing: Thing) -> Thing:
    """The part of an object of devctl's kinds that stays."""
    if thing["kind"] == USAGE.name:
        keys = (read_line(line)[0] for line in thing["spec"].get("lines", []))
        return _same(thing) | {"lines": {str(key): "booked" for key in keys}}
    if thing["kind"] in _WRITTEN:
        return _same(thing)
    status = thing.get("status", {})
    conditions = {
        each["type"]: [each["status"], each["reason"], each["lastTransitionTime"]]
        for each in status.get("conditions", [])
        if each["type"] != _RESTART
    }
    return _same(thing) | {
        "generation": thing["metadata"]["generation"],
        "spec": thing.get("spec", {}),
        "phase": status.get("phase"),
        "reason": status.get("reason"),
        "conditions": conditions,
    }


def _of_work(thing: Thing) -> Thing:
    """The part of something that runs or holds files that stays."""
    kind, spec, status = thing["kind"], thing.get("spec", {}), thing.get("status", {})
    if kind == "StatefulSet":
        # What has no pods may get another template.
        template = spec["template"] if spec["replicas"] else None
        how = {"replicas": spec["replicas"], "updates": spec["updateStrategy"]["type"]}
        return _same(thing) | how | {"template": template}
    if kind == "Pod":
        containers = status.get("containerStatuses", [])
        restarts = [each["restartCount"] for each in containers]
        return _same(thing) | {"spec": spec, "restarts": restarts, "phase": status.get("phase")}
    if kind == "ResourceClaim":
        return _same(thing) | {"spec": spec, "gpus": status.get("allocation", {}).get("devices")}
    return _same(thing) | {"spec": spec}


def _of_beside(thing: Thing) -> Thing:
    """The part of something else that stays: keys are a Secret's."""
    return _same(thing) | ({"data": thing.get("data")} if thing["kind"] == "Secret" else {})


def _same(thing: Thing) -> Thing:
    meta = thing["metadata"]
    return {"uid": meta["uid"], "leaves": "deletionTimestamp" in meta}


def remove(scene: Scene) -> None:
    """Delete all that lives in a scene, and wait until nothing of it holds a GPU."""
    for kind in kinds_of(REPOSITORY):
        if kind.name != NODE_ACTIVITY.name:
            for each in _ours(scene, kind.resource, namespaced=kind.namespaced):
                space = each["metadata"].get("namespace")
                scene.api.delete(kind.resource, _name(each), space)
    for space in scene.namespaces:
        for pod in scene.api.list("pod", space):
            scene.api.delete("pod", _name(pod), space)
    left: list[str] = []

    def gone() -> bool:
        own = (k for k in kinds_of(REPOSITORY) if k.name not in _WRITTEN)
        kinds = [("pod", True), *((kind.resource, kind.namespaced) for kind in own)]
        left[:] = [
            _name(each) for of, spaced in kinds for each in _ours(scene, of, namespaced=spaced)
        ]
        return not left

    wait_until(gone, lambda: f"they go: {left}", 120)
    for space in scene.namespaces:
        if space != scene.namespace:
            scene.api.delete("namespace", space)
