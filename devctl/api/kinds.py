"""The kinds of devctl's own, a line each: what roles, observer and requests call them."""

from __future__ import annotations

from typing import NamedTuple

from devctl.api import ephemeral_acceleration_job as job
from devctl.api.labels import GROUP, VERSION


class Kind(NamedTuple):
    """What the API server has to be told of a kind."""

    group: str
    """Empty for the core group."""
    version: str
    name: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """As manifests write it.

        >>> Kind("apps", "v1", "Deployment", "deployments").api_version
        'apps/v1'
        """
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def wake(self) -> str:
        """Annotation of an object: a digest of why its role is to run again."""
        return f"{self.group}/wake"


KINDS = (
    (DEVSERVER := Kind(GROUP, VERSION, "DevServer", "devservers")),
    (FLAVOR := Kind(GROUP, VERSION, "DevServerFlavor", "devserverflavors", namespaced=False)),
    (JOB := Kind(job.GROUP, job.VERSION, job.KIND, job.PLURAL)),
    (USER := Kind(GROUP, VERSION, "DevServerUser", "devserverusers", namespaced=False)),
    (TEAM := Kind(GROUP, VERSION, "DevServerTeam", "devserverteams", namespaced=False)),
)
