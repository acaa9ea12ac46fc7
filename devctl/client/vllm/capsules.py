"""Capsules of checkouts in a namespace: stored once, for as long as a run names them.

Small ones are in a ConfigMap, larger ones on a volume. The ConfigMap of a large one is only a note
that the volume has it as a whole, and is written last.
"""

from __future__ import annotations

import base64
import binascii
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from devctl.client.objects import Collection, Named, mapping
from devctl.client.vllm.capsule_volume import Volumes
from devctl.client.vllm.run import NOTES
from devctl.errors import AlreadyExistsError, DeniedError, DevctlError, NotFoundError
from devctl.kube import resources

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Unpack

    from devctl.client.checkout.capsule import Capsule
    from devctl.client.files.transfer import Progress
    from devctl.client.jobs.helper_pod import PodOptions
    from devctl.client.vllm.run import VLLMRun
    from devctl.kube.cluster import Object

LABELS = {"app.kubernetes.io/managed-by": "devctl-vllm"}
"""Of what holds capsules. Not our reserved labels: users create and delete these objects."""
DIGEST, SENDER = f"{NOTES}digest", f"{NOTES}sender"
"""Annotations: the capsule's SHA-256, and who has sent it."""
KEY = "capsule"
_VOLUME = "persistentVolumeClaim"
"""The key of a note, which has the claim's name."""
_KEPT = timedelta(days=1)
"""For how long a capsule is kept that no run names: one may be about to be created."""
_KINDS = (resources.ConfigMap, resources.PersistentVolumeClaim)


def source(capsule: Capsule) -> dict[str, str]:
    """Where a capsule is once it has been sent, as runs name it."""
    kind = "configMap" if capsule.small else "persistentVolumeClaim"
    return {"digest": capsule.digest, kind: capsule.name}


class Capsules(Collection):
    """The capsules of a namespace."""

    def send(
        self,
        capsule: Capsule,
        moved: Progress | None = None,
        node: str = "",
        **pod: Unpack[PodOptions],
    ) -> dict[str, str]:
        """Store a capsule unless that was done before; returns how runs name it.

        A large one goes through a pod to a new volume, preferably within reach of `node`; what an
        upload that was cut off has left is completed.

        Raises:
            DeniedError: The user may not create what holds it.
            DevctlError: Something else has its name, or it did not arrive.
        """
        self.prune(but=capsule.name)
        if not self.has(capsule):
            annotations = {DIGEST: capsule.digest, SENDER: self._cluster.whoami()}
            manifest: dict[str, Any] = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": capsule.name, "labels": LABELS, "annotations": annotations},
                # One that exists has the content that its name says.
                "immutable": True,
            }
            if capsule.small:
                content = base64.b64encode(capsule.file.read_bytes()).decode()
                manifest["binaryData"] = {KEY: content}
            else:
                Volumes(self._cluster).fill(capsule, manifest["metadata"], moved, node, **pod)
                manifest["data"] = {_VOLUME: capsule.name}
            # Somebody else may have been faster.
            with suppress(AlreadyExistsError):
                self._cluster.create(resources.ConfigMap, manifest)
        return source(capsule)

    def has(self, capsule: Capsule) -> bool:
        """Whether a capsule was sent before, as a whole.

        Raises:
            DevctlError: Something else has its name.
        """
        return self._there(capsule.name, capsule.digest)

    def check(self, run: VLLMRun) -> None:
        """Check that the capsule that a run names is still there, if it names one.

        Raises:
            NotFoundError: It was deleted.
        """
        named = mapping(mapping(run.spec.get("checkout")).get("capsule"))
        for kind, field in zip(_KINDS, ("configMap", _VOLUME), strict=True):
            name = named.get(field)
            if name and not self._cluster.find(kind, name):
                raise NotFoundError(
                    f"the capsule of `{run.name}` is gone: {kind.name} `{name}` does not exist",
                    "run it again in the checkout itself, with `k8shazgpu vllm run`",
                )

    def prune(self, now: datetime | None = None, but: str = "") -> Sequence[str]:
        """Delete those that no run names and that are older than a day; their names.

        The one that is called as `but` stays: it is about to be used.
        """
        now = now or datetime.now(UTC)
        old = [each for each in self._stored() if now - each.created_at > _KEPT]
        return self._delete([each for each in old if each.name != but])

    def delete_own(self) -> Sequence[str]:
        """Delete those that the user has sent and that no run names; their names."""
        stored = self._stored()
        if not stored:
            return []
        me = self._cluster.whoami()
        return self._delete([each for each in stored if _annotation(each, SENDER) == me])

    def _there(self, name: str, digest: str) -> bool:
        """Whether a capsule is there as a whole."""
        found = self._cluster.find(resources.ConfigMap, name)
        if found is None:
            return False
        if claim := mapping(found.get("data")).get(_VOLUME):
            if self._cluster.find(resources.PersistentVolumeClaim, claim):
                return _annotation(Named(found), DIGEST) == digest
            # The volume is gone: the note is no longer true.
            with suppress(NotFoundError):
                self._cluster.delete(resources.ConfigMap, found)
            return False
        if _digest(found) == digest:
            return True
        raise DevctlError(
            f"ConfigMap `{name}` is not the capsule that its name says",
            f"find out whose it is with `kubectl describe configmap {name}`, and delete it",
        )

    def _stored(self) -> Sequence[Named]:
        found: list[Named] = []
        for kind in _KINDS:
            with suppress(DeniedError):
                about = {"kind": kind.name}
                listed = self._cluster.list(kind, labels=LABELS)
                found += [Named(about | raw) for raw in listed]
        return [each for each in found if not each.going]

    def _delete(self, stored: Sequence[Named]) -> Sequence[str]:
        """Delete those that no run names."""
        if not stored:
            return []
        # Read after the capsules, so that no run is missed that was created meanwhile.
        runs = [Named(raw) for raw in self._cluster.list(resources.VLLMRun)]
        named = [
            mapping(mapping(run.spec.get("checkout")).get("capsule"))
            for run in runs
            if not run.going
        ]
        used = {each.get(field) for each in named for field in ("configMap", _VOLUME)}
        gone = [each for each in stored if each.name not in used]
        kinds = {kind.name: kind for kind in _KINDS}
        for each in gone:
            with suppress(NotFoundError):
                self._cluster.delete(kinds[each.raw["kind"]], each.raw)
        return sorted({each.name for each in gone})


def _annotation(found: Named, name: str) -> str:
    return str(mapping(found.raw["metadata"].get("annotations")).get(name, ""))


def _digest(found: Object) -> str:
    """The SHA-256 of what a ConfigMap holds; empty if that is no capsule."""
    held: Mapping[str, str] = mapping(found.get("binaryData"))
    try:
        return sha256(base64.b64decode(held.get(KEY, ""), validate=True)).hexdigest()
    except binascii.Error:
        return ""
