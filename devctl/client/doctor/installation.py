"""What an administrator has installed in the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devctl.api import ephemeral_acceleration_job as job
from devctl.api.labels import GROUP, VERSION
from devctl.client.doctor.finding import Finding, failed, ok, skipped, warning
from devctl.client.settings import NAMESPACE
from devctl.errors import DeniedError, NotFoundError
from devctl.kube import resources

if TYPE_CHECKING:
    from devctl.kube.cluster import Cluster

HOME_CLASS, SHARED_CLASS = "devctl-home", "devctl-shared"
"""The storage classes that volumes are made with."""
_INSTALL = "have an administrator install devctl with `make deploy`"


def kinds(cluster: Cluster) -> Finding:
    """Whether the API server knows our kinds; everybody may ask that."""
    missing = sorted({"devservers", "devserverflavors"} - _served(cluster, GROUP, VERSION))
    if missing:
        names = " and ".join(f"`{name}.{GROUP}`" for name in missing)
        return failed("kinds", f"the cluster does not know {names}", _INSTALL)
    if job.PLURAL not in _served(cluster, job.GROUP, job.VERSION):
        return warning(
            "kinds",
            f"the cluster does not know `{job.PLURAL}.{job.GROUP}`: `egpu` cannot work",
            "have an administrator upgrade devctl with `make deploy`",
        )
    return ok("kinds", "servers, flavors and jobs are known")


def operator(cluster: Cluster) -> Finding:
    """Whether somebody makes what servers ask for."""
    return _deployment(cluster, "operator", "nothing that is asked for is made")


def observer(cluster: Cluster) -> Finding:
    """Whether somebody says how servers are."""
    return _deployment(cluster, "observer", "no status is true, and nothing stops in time")


def storage(cluster: Cluster) -> Finding:
    """Whether homes can be made."""
    try:
        there = {str(found["metadata"]["name"]) for found in cluster.list(resources.StorageClass)}
    except DeniedError:
        return skipped("storage", "only administrators may look at storage classes")
    fix = "have an administrator make it: config/eks shows how"
    if HOME_CLASS not in there:
        return failed("storage", f"there is no storage class `{HOME_CLASS}`: no home is made", fix)
    if SHARED_CLASS not in there:
        return warning(
            "storage", f"there is no storage class `{SHARED_CLASS}`: no shared volume is made", fix
        )
    return ok("storage", f"storage classes `{HOME_CLASS}` and `{SHARED_CLASS}`")


def _served(cluster: Cluster, group: str, version: str) -> set[str]:
    try:
        answer = cluster.read(f"/apis/{group}/{version}").json()
    except NotFoundError:
        return set()
    return {str(each.get("name")) for each in answer.get("resources") or []}


def _deployment(cluster: Cluster, name: str, else_: str) -> Finding:
    full = f"devctl-{name}"
    try:
        found = cluster.get(resources.Deployment, full, NAMESPACE)
    except NotFoundError:
        return failed(name, f"there is no Deployment `{full}` in `{NAMESPACE}`: {else_}", _INSTALL)
    except DeniedError:
        return skipped(name, f"only administrators may look into namespace `{NAMESPACE}`")
    wanted = int(found["spec"].get("replicas", 1))
    status = found.get("status") or {}
    ready = int(status.get("readyReplicas", 0))
    image = str(found["spec"]["template"]["spec"]["containers"][0].get("image", ""))
    if wanted == 0:
        return failed(
            name,
            f"it is scaled to 0: {else_}",
            f"`kubectl -n {NAMESPACE} scale deployment {full} --replicas=1`",
        )
    if ready == 0:
        why = next(
            (
                f" ({each.get('message')})"
                for each in status.get("conditions") or []
                if each.get("status") == "False" and each.get("message")
            ),
            "",
        )
        return failed(
            name,
            f"none of its pods is ready{why}: {else_}",
            f"see `kubectl -n {NAMESPACE} describe pods -l app.kubernetes.io/component={name}`",
        )
    return ok(name, f"{ready} of {wanted} ready, {image}")
