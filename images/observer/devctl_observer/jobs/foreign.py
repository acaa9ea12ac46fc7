"""What else has the name of a job's pod or claim.

Watches tell of devctl's own objects only, so nobody says when such a one goes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightkube.resources.core_v1 import PersistentVolumeClaim, Pod

from devctl.api.ephemeral_acceleration_job import claim_name, pod_name
from devctl_observer.artifacts.claims import job_of
from devctl_observer.watching.children import is_owned
from devctl_observer.watching.store import Key

if TYPE_CHECKING:
    from devctl_observer.control.cluster_api import ClusterApi
    from devctl_observer.judging.model import Meta


async def find_foreign(api: ClusterApi, job: Meta) -> str | None:
    """The UID of an object that stands in a job's way; None where nothing does."""
    where, name = job.namespace, job.name
    claims = await api.list_now(PersistentVolumeClaim, where, claim_name(name))
    pods = await api.list_now(Pod, where, pod_name(name))
    found = [claim.metadata for claim in claims if job_of(claim) != Key(where, name)]
    found += [pod.metadata for pod in pods if not is_owned(pod.metadata, job.uid)]
    return next((metadata.uid for metadata in found), None)
