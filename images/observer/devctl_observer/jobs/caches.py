"""Everything that is watched for jobs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from devctl.api.ephemeral_acceleration_job import claim_name, pod_name
from devctl_observer.artifacts.claims import job_of, stays
from devctl_observer.jobs.observed import Observed, is_own
from devctl_observer.judging.pods import Surroundings
from devctl_observer.watching.store import Key, Store

if TYPE_CHECKING:
    from lightkube.resources.core_v1 import Pod

    from devctl_observer.jobs.model import Job
    from devctl_observer.watching.children import Children


@dataclass
class JobCaches:
    """The stores of every kind that makes a job."""

    children: Children
    """Those that are shared with other families."""
    jobs: Store[Job] = field(default_factory=Store)
    last: dict[Key, Pod] = field(default_factory=dict)
    """The pod that each job lost before it was known how it ended, as it was seen last."""

    def observe(self, key: Key, job: Job) -> Observed:
        """Everything that a job's status is derived from."""
        children = self.children
        pod = children.pods.get(Key(key.namespace, pod_name(key.name)))
        found = children.claims.get(Key(key.namespace, claim_name(key.name)))
        claim = found if found and job_of(found) == key and stays(found) else None
        about = [("Pod", pod.metadata if pod else None)]
        about += [("PersistentVolumeClaim", claim.metadata if claim else None)]
        claims = {claim_name(key.name): claim} if claim else {}
        last = self.last.get(key)
        seen = Observed(
            job,
            last=last if last and is_own(last, job) else None,
            claim=claim,
            around=Surroundings(claims, children.warnings_about(about)),
        )
        return seen.with_pod(pod, children.nodes)
