"""The kinds of the family, as requests name them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from lightkube.generic_resource import create_namespaced_resource
from lightkube.resources.core_v1 import PersistentVolumeClaim

from devctl.api.ephemeral_acceleration_job import GROUP, KIND, PLURAL, VERSION, WAKE
from devctl_observer.jobs.model import parse_job
from devctl_observer.kinds import Kind, without_history

if TYPE_CHECKING:
    from collections.abc import Mapping

EphemeralAccelerationJob = create_namespaced_resource(GROUP, VERSION, KIND, PLURAL)
# lightkube's own class is typed, and takes no manifest that holds a part of an object only.
_Claim = create_namespaced_resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")

JOB = Kind(EphemeralAccelerationJob, f"{GROUP}/{VERSION}", PLURAL, parse_job, WAKE)


def parse_claim(obj: Mapping[str, Any]) -> PersistentVolumeClaim:
    """A claim from the API's JSON."""
    return without_history(msgspec.convert(obj, PersistentVolumeClaim))


CLAIM = Kind(_Claim, "v1", "persistentvolumeclaims", parse_claim)
