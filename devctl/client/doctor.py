"""What is wrong between a user and their servers, and how it is fixed."""

from __future__ import annotations

import os
import re
import shutil
import time
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, NamedTuple

from devctl.api import ephemeral_acceleration_job as job
from devctl.api.conditions import find
from devctl.api.labels import GROUP, VERSION
from devctl.api.network import AGENT, AGENTS, NAMESPACES, Agent, awaited
from devctl.api.queues import KUEUE, TEAM
from devctl.client.findings import Finding, State, failed, ok, skipped, warning
from devctl.client.flavors import Flavors
from devctl.client.gpu_ledger.check import gpus
from devctl.client.settings import IMAGE, NAME, NAMESPACE, annotations_of, default_image
from devctl.errors import DeniedError, DevctlError, NotFoundError
from devctl.kube import resources
from devctl.kube.rights import Right
from devctl.oidc.session import LOGIN_REQUIRED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from devctl.client.flavors import Flavor
    from devctl.kube.cluster import Cluster, Object

OLDEST = (1, 31)
"""The first Kubernetes release that can select custom resources by their fields."""
HOME_CLASS, SHARED_CLASS = "devctl-home", "devctl-shared"
"""The storage classes of volumes."""
_PROGRAMS = ("ssh", "ssh-keygen")
_SLOW = 2.0
"""Seconds."""
_SKEW, _BAD_SKEW = 30.0, 300.0
"""Seconds."""
_VERSION = re.compile(r"v?(\d+)\.(\d+)")
_INSTALL = "have an administrator install devctl with `make deploy`"


def programs() -> Finding:
    """Whether the programs that devctl runs are installed."""
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    if missing:
        what = " and ".join(f"`{name}`" for name in missing)
        found = f"this machine has no {what}: `devctl ssh` cannot work"
        return warning(found, "install the OpenSSH client; `devctl exec` does not need it")
    return ok(f"devctl {own_version()}, ssh")


def own_version() -> str:
    """The version of devctl."""
    try:
        return version("devctl")
    except PackageNotFoundError:
        return "of unknown version"


def reachability(cluster: Cluster) -> Finding:
    """Whether the API server answers, and how fast."""
    began = time.monotonic()
    try:
        cluster.read("/version")
    except DeniedError as error:
        if error.reason == LOGIN_REQUIRED:
            return skipped("nothing is sent without a login")
        # It has answered; credentials are checked later.
        return ok(f"{cluster.server} answers")
    took = time.monotonic() - began
    if took > _SLOW:
        return warning(
            f"{cluster.server} took {took:.1f} s to answer",
            "check the network and the VPN, or ask an administrator to look at the API server",
        )
    return ok(f"{cluster.server} answers in {took * 1000:.0f} ms")


def versions(cluster: Cluster) -> Finding:
    """Whether the cluster is new enough."""
    said = str(cluster.read("/version").json().get("gitVersion", ""))
    found = f"Kubernetes {said}, devctl {own_version()}"
    match = _VERSION.match(said)
    if match is None:
        return warning(f"the cluster's version cannot be read: `{said}`", "see `kubectl version`")
    if (int(match[1]), int(match[2])) < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        return failed(f"{found}: too old", f"have the cluster upgraded to {wanted} or newer")
    return ok(found)


def credentials(cluster: Cluster) -> Finding:
    """Whether the API server knows the user."""
    try:
        who = cluster.whoami()
    except DeniedError as error:
        return failed(error.message, error.fix)
    if not who or who == "system:anonymous":
        return failed(
            "the API server does not know you",
            "add credentials to the kubeconfig: a certificate, a token or an exec plugin",
        )
    return ok(f"you are `{who}`")


def clock(cluster: Cluster) -> Finding:
    """Whether this machine's clock and the API server's agree."""
    began = datetime.now(UTC)
    said = cluster.read("/version").headers.get("date", "")
    ended = datetime.now(UTC)
    try:
        there = parsedate_to_datetime(said).astimezone(UTC)
    except (TypeError, ValueError):
        return warning(
            "the API server's answers have no time",
            "if a proxy is in between, ask its administrator to keep the Date header",
        )
    return compare_clocks(there, began, ended)


def compare_clocks(there: datetime, began: datetime, ended: datetime) -> Finding:
    """How far apart two clocks are: one in whole seconds, ours before and after the request.

    >>> now = datetime(2026, 1, 2, tzinfo=UTC)
    >>> compare_clocks(now, now, now).found
    'this machine and the API server differ by 0 s'
    """
    skew = (there - began - (ended - began) / 2).total_seconds()
    apart = max(0.0, abs(skew) - 1)
    ahead = "behind" if skew > 0 else "ahead of"
    if apart <= _SKEW:
        return ok(f"this machine and the API server differ by {apart:.0f} s")
    found = f"this machine is {apart:.0f} s {ahead} the API server"
    fix = "set this machine's clock, for example with NTP; if it is right, tell an administrator"
    if apart <= _BAD_SKEW:
        return warning(f"{found}: ages and deadlines are shown wrong", fix)
    return failed(f"{found}: certificates and tokens may count as expired", fix)


class Need(NamedTuple):
    """A permission that commands need."""

    right: Right
    commands: str
    """What does not work without it."""
    basic: bool = False
    """Nothing works without it."""


NEEDS = (
    Need(Right("list", GROUP, "devservers"), "list", basic=True),
    Need(Right("get", GROUP, "devservers"), "describe", basic=True),
    Need(Right("watch", GROUP, "devservers"), "create --wait", basic=True),
    Need(Right("create", GROUP, "devservers"), "create", basic=True),
    Need(Right("patch", GROUP, "devservers"), "stop, start, extend"),
    Need(Right("delete", GROUP, "devservers"), "delete"),
    Need(Right("list", GROUP, "devserverflavors"), "flavors"),
    Need(Right("get", GROUP, "devserverflavors"), "create --flavor"),
    Need(Right("get", "", "pods"), "ssh, exec, run", basic=True),
    Need(Right("list", "", "pods"), "delete --wait, homes list"),
    Need(Right("watch", "", "pods"), "ssh"),
    Need(Right("get", "", "pods", "exec"), "ssh, exec, run, sync, cp"),
    Need(Right("create", "", "pods", "exec"), "ssh, exec, run, sync, cp"),
    Need(Right("get", "", "pods", "portforward"), "port-forward, jupyter"),
    Need(Right("create", "", "pods", "portforward"), "port-forward, jupyter"),
    Need(Right("list", "", "persistentvolumeclaims"), "homes list"),
    Need(Right("get", "", "persistentvolumeclaims"), "homes delete"),
    Need(Right("delete", "", "persistentvolumeclaims"), "homes delete"),
    Need(Right("list", "", "events"), "events"),
)
"""The permissions of the ClusterRole `devctl-user` that commands need."""


def rights(cluster: Cluster) -> Finding:
    """Whether the user has the permissions that commands need."""
    allowed = cluster.allowed([need.right for need in NEEDS])
    missing = [need for need, may in zip(NEEDS, allowed, strict=True) if not may]
    where = f"in namespace `{cluster.namespace}`"
    if not missing:
        with suppress(DeniedError):
            if cluster.find(resources.Namespace, cluster.namespace) is None:
                return failed(
                    f"there is no namespace `{cluster.namespace}`",
                    "name another one with -n, or have an administrator create it",
                )
        return ok(f"all that commands need {where}")
    bind = "have an administrator bind the ClusterRole `devctl-user` to you"
    fix = f"{bind} {where}, or name another one with -n"
    if all(need in missing for need in NEEDS if need.basic):
        return failed(f"you have no rights {where}: no command works there", fix)
    what = ", ".join(str(need.right) for need in missing)
    names = dict.fromkeys(name for need in missing for name in need.commands.split(", "))
    say = failed if any(need.basic for need in missing) else warning
    return say(f"you may not {what} {where}, which {', '.join(names)} need", fix)


def kinds(cluster: Cluster) -> Finding:
    """Whether the CRDs are installed; everyone may ask that."""
    missing = sorted({"devservers", "devserverflavors"} - _served(cluster, GROUP, VERSION))
    if missing:
        names = " and ".join(f"`{name}.{GROUP}`" for name in missing)
        return failed(f"the cluster does not know {names}", _INSTALL)
    if job.PLURAL not in _served(cluster, job.GROUP, job.VERSION):
        return warning(
            f"the cluster does not know `{job.PLURAL}.{job.GROUP}`: `egpu` cannot work",
            "have an administrator upgrade devctl with `make deploy`",
        )
    return ok("servers, flavors and jobs are known")


def _served(cluster: Cluster, group: str, version: str) -> set[str]:
    try:
        answer = cluster.read(f"/apis/{group}/{version}").json()
    except NotFoundError:
        return set()
    return {str(each.get("name")) for each in answer.get("resources") or []}


def deployment(cluster: Cluster, name: str, otherwise: str) -> Finding:
    """Whether a component runs; `otherwise` says what does not work without it."""
    full = f"devctl-{name}"
    try:
        found = cluster.get(resources.Deployment, full, NAMESPACE)
    except NotFoundError:
        return failed(f"there is no Deployment `{full}` in `{NAMESPACE}`: {otherwise}", _INSTALL)
    except DeniedError:
        return skipped(f"only administrators may look into namespace `{NAMESPACE}`")
    wanted = int(found["spec"].get("replicas", 1))
    if wanted == 0:
        return failed(
            f"it is scaled to 0: {otherwise}",
            f"`kubectl -n {NAMESPACE} scale deployment {full} --replicas=1`",
        )
    status = found.get("status") or {}
    ready = int(status.get("readyReplicas", 0))
    if ready == 0:
        false = (each for each in status.get("conditions") or [] if each.get("status") == "False")
        why = next((f" ({each['message']})" for each in false if each.get("message")), "")
        return failed(
            f"none of its pods is ready{why}: {otherwise}",
            f"see `kubectl -n {NAMESPACE} describe pods -l app.kubernetes.io/component={name}`",
        )
    image = str(found["spec"]["template"]["spec"]["containers"][0].get("image", ""))
    return ok(f"{ready} of {wanted} ready, {image}")


def storage(cluster: Cluster) -> Finding:
    """Whether the storage classes of homes and shared volumes exist."""
    try:
        there = {str(found["metadata"]["name"]) for found in cluster.list(resources.StorageClass)}
    except DeniedError:
        return skipped("only administrators may look at storage classes")
    fix = "have an administrator create it: config/eks shows how"
    if HOME_CLASS not in there:
        return failed(f"there is no storage class `{HOME_CLASS}`: no home can be created", fix)
    if SHARED_CLASS not in there:
        what = f"there is no storage class `{SHARED_CLASS}`: no shared volume can be created"
        return warning(what, fix)
    return ok(f"storage classes `{HOME_CLASS}` and `{SHARED_CLASS}`")


def default_flavor(cluster: Cluster) -> Finding:
    """Whether there is exactly one default flavor, and a node that can hold it."""
    flavors = Flavors(cluster).list()
    if not flavors:
        return failed(
            "there is no flavor: no server can be created",
            "have an administrator create a DevServerFlavor; config/samples has some",
        )
    defaults = [flavor for flavor in flavors if flavor.default]
    if not defaults:
        found = f"none of {len(flavors)} flavors is the default"
        return warning(found, _other_flavor(flavors))
    if len(defaults) > 1:
        names = " and ".join(f"`{flavor.name}`" for flavor in defaults)
        return failed(
            f"{names} are all the default: servers that name none are refused",
            "have an administrator set `default: false` on all but one",
        )
    [flavor] = defaults
    if flavor.schedulable is False:
        detail = f": {flavor.message}" if flavor.message else ""
        return warning(
            f"no node can hold a server of the default flavor `{flavor.name}`{detail}",
            "name another one with --flavor: `devctl flavors` lists them",
        )
    if flavor.cordoned:
        found = f"the default flavor `{flavor.name}` is cordoned: it takes no new servers"
        return warning(found, _other_flavor(flavors))
    return ok(f"default `{flavor.name}`, {len(flavors)} in all")


def _other_flavor(flavors: Sequence[Flavor]) -> str:
    """What people do without a default flavor."""
    free = [f"`{flavor.name}`" for flavor in flavors if not flavor.cordoned]
    if not free:
        return "have an administrator run `devctl admin flavor uncordon NAME`"
    return f"name one with --flavor: {', '.join(free[:5])}"


def image(cluster: Cluster) -> Finding:
    """Whether there is a default image for servers."""
    if own := os.environ.get(IMAGE):
        return ok(f"`{own}`, from {IMAGE}")
    if common := default_image(cluster):
        return ok(f"`{common}`")
    return warning(
        "the cluster has no image for servers that name none",
        f"name one with --image or {IMAGE}, or have an administrator set `image` in ConfigMap "
        f"`{NAME}` of namespace `{NAMESPACE}`",
    )


def queues(cluster: Cluster) -> Finding:
    """Whether Kueue is installed, and answers."""
    team = annotations_of(cluster).get(TEAM, "")
    group, version = KUEUE.split("/")
    if "clusterqueues" not in _served(cluster, group, version):
        if not team:
            return ok("Kueue is not installed: servers start without queues")
        return warning(
            f"Kueue is not installed: nothing enforces the quota of team `{team}`",
            "have an administrator install it: config/kueue",
        )
    try:
        cluster.read(f"/apis/visibility.{group}/{version}", once=True)
    except DevctlError:
        return warning(
            "Kueue does not answer: running servers continue, new ones of teams do not start",
            "have an administrator look at Deployment `kueue-controller-manager` in `kueue-system`",
        )
    return ok(f"Kueue runs{f', you are in team `{team}`' if team else ''}")


def network(cluster: Cluster) -> Finding:
    """Whether the network plugin's agent is ready on every node."""
    try:
        agents = [
            _agent(pod)
            for namespace in NAMESPACES
            for pod in cluster.list(resources.Pod, namespace, {AGENT: AGENTS})
        ]
    except DeniedError:
        return skipped("only administrators may look at the network plugin")
    if not agents:
        return skipped("no network plugin known to enforce NetworkPolicies is installed")
    if down := awaited(agents):
        first, name = min(down.items())
        where = f"`{first}`" if len(down) == 1 else f"{len(down)} nodes, such as `{first}`"
        return warning(
            f"`{name}` is not ready on {where}: what runs there continues, new servers wait",
            f"see `kubectl describe pods -A -l {AGENT}={name}`",
        )
    nodes = len({one.node for one in agents})
    return ok(f"`{agents[0].plugin}` is ready on {nodes} {'node' if nodes == 1 else 'nodes'}")


def _agent(pod: Object) -> Agent:
    ready = find(pod.get("status") or {}, "Ready").get("status") == "True"
    return Agent(pod["spec"].get("nodeName", ""), pod["metadata"]["labels"][AGENT], ready)


_CHECKS: dict[str, Callable[[Cluster], Finding]] = {
    "reachability": reachability,
    "credentials": credentials,
    "versions": versions,
    "clock": clock,
    "kinds": kinds,
    "rights": rights,
    "operator": partial(deployment, name="operator", otherwise="no request is handled"),
    "observer": partial(
        deployment, name="observer", otherwise="every status is stale, and nothing expires"
    ),
    "storage": storage,
    "flavor": default_flavor,
    "image": image,
    "queues": queues,
    "network": network,
    "gpus": gpus,
}
_BASIC = {
    "reachability": "the API server cannot be reached",
    "credentials": "the API server does not know you",
}
"""Why later checks are skipped if one of these fails."""
_SEE_DOCTOR = re.compile("(^|; )[^;]*`devctl doctor`[^;]*")
"""Advice that some errors give and the reader has just followed."""


def examine(connect: Callable[[], Cluster]) -> Iterator[Finding]:
    """Run all checks and yield each result at once; `connect` reads the kubeconfig."""
    yield replace(programs(), check="programs")
    try:
        cluster = connect()
    except DevctlError as error:
        yield replace(failed(error.message, error.fix), check="kubeconfig")
        yield from _skip(_CHECKS, "there is no kubeconfig to use")
        return
    who = f"user `{cluster.user}`, " if cluster.user else ""
    yield replace(ok(f"{who}namespace `{cluster.namespace}`, {cluster.server}"), check="kubeconfig")
    names = iter(_CHECKS)
    for name in names:
        yield (found := _run(name, cluster))
        if found.state is State.FAILED and name in _BASIC:
            yield from _skip(names, _BASIC[name])


def _run(name: str, cluster: Cluster) -> Finding:
    try:
        found = _CHECKS[name](cluster)
    except DeniedError as error:
        found = skipped(f"you have no permission to check it: {error.message}", error.fix)
    except DevctlError as error:
        found = failed(error.message, _SEE_DOCTOR.sub("", error.fix).removeprefix("; "))
    return replace(found, check=name)


def _skip(names: Iterable[str], why: str) -> Iterator[Finding]:
    for name in names:
        yield replace(skipped(why), check=name)
