"""Deletes a claim whose time is over, and nothing else."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightkube.resources.core_v1 import Pod
from prometheus_client import Counter

from devctl_observer.artifacts.claims import CLAIM, users_of
from devctl_observer.control.figures import COMMON
from devctl_observer.judging.model import meta_of

if TYPE_CHECKING:
    from lightkube.resources.core_v1 import PersistentVolumeClaim

    from devctl_observer.control.cluster_api import ClusterApi

log = logging.getLogger(__name__)

_REMOVED = Counter("claims_deleted", "Volumes of jobs that were deleted in their time.", **COMMON)


@dataclass
class Remover:
    """Deletes claims that no pod uses, and counts them."""

    api: ClusterApi

    async def remove(self, claim: PersistentVolumeClaim) -> tuple[bool, list[str]]:
        """Delete exactly this version of a claim unless a pod has it in use.

        Whoever calls has made sure that its time is over. Users are asked for past the cache, which
        knows devctl's own pods only.

        Returns:
            Whether it was deleted, and who uses it.
        """
        meta = meta_of(claim.metadata)
        users = users_of(await self.api.list_now(Pod, meta.namespace), meta.name)
        if users or not await self.api.delete(CLAIM, meta):
            return False, users
        _REMOVED.inc()
        log.info("%s/%s: deleted, its time is over", meta.namespace, meta.name)
        return True, []
