"""Why a pod waits for a volume."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devctl.api.devserver import Phase
from devctl_observer.judging.model import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lightkube.models.core_v1 import PersistentVolumeClaim, Pod
    from lightkube.resources.core_v1 import Event


def claim_names(pod: Pod) -> list[str]:
    """The claims that a pod mounts."""
    volumes = (pod.spec.volumes if pod.spec else None) or []
    sources = [volume.persistentVolumeClaim for volume in volumes]
    return [source.claimName for source in sources if source is not None]


def judge_claims(
    names: Iterable[str],
    claims: Mapping[str, PersistentVolumeClaim],
    warnings: Iterable[Event],
) -> Verdict | None:
    """The first claim that is lost, or waits for a volume and has said why.

    A claim that only waits is no verdict: most storage classes wait for the pod to have a node.
    A claim that is not known may be a shared one, which the scheduler tells about.
    """
    about = [(event.involvedObject, event) for event in warnings]
    said = {thing.name: event for thing, event in about if thing.kind == "PersistentVolumeClaim"}
    for name in names:
        claim = claims.get(name)
        if claim is None or claim.status is None:
            continue
        if claim.status.phase == "Lost":
            message = f"the volume of claim `{name}` is gone; ask an administrator to restore it"
            return Verdict(Phase.FAILED, "VolumeLost", message)
        if claim.status.phase == "Pending" and (event := said.get(name)):
            message = (
                f"claim `{name}` gets no volume; ask an administrator to look at its storage class "
                f"({event.message})"
            )
            return Verdict(Phase.PENDING, "VolumePending", message)
    return None


def waiting_claims(
    names: Iterable[str], claims: Mapping[str, PersistentVolumeClaim]
) -> list[tuple[str, str]]:
    """Claims that have no volume yet, with their storage class."""
    return [
        (name, (claim.spec.storageClassName if claim.spec else None) or "")
        for name in names
        if (claim := claims.get(name)) and claim.status and claim.status.phase == "Pending"
    ]
