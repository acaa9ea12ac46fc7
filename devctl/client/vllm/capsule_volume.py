"""The volume of a capsule that is too large for a ConfigMap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devctl.client.files.remote import Advice
from devctl.client.homes import Volume
from devctl.client.jobs.helper_pod import LOADER, Target, mounting
from devctl.client.objects import Collection
from devctl.client.settings import capsule_class
from devctl.client.vllm.capsule_upload import put
from devctl.client.vllm.gpus import State
from devctl.errors import BusyError, DeniedError
from devctl.kube import resources

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Unpack

    from devctl.client.checkout.capsule import Capsule
    from devctl.client.files.transfer import Progress
    from devctl.client.jobs.helper_pod import PodOptions
    from devctl.client.vllm.gpus import Gpu

_MIB = 1 << 20
_SPARE = 64
"""MiB besides the capsule: a file system needs some for itself."""
_ADVICE = Advice(
    look="repeat the command",
    no_room="delete the claim with `kubectl delete pvc`, and repeat the command",
    read_only="ask an administrator to look at the storage class",
    denied="ask an administrator to look at the storage class",
    no_tar="name an image with sha256sum in it with --loader-image",
)


class Volumes(Collection):
    """Volumes of capsules, filled by pods with the user's own permissions."""

    def fill(
        self,
        capsule: Capsule,
        metadata: Mapping[str, Any],
        moved: Progress | None = None,
        node: str = "",
        **pod: Unpack[PodOptions],
    ) -> None:
        """Have the volume of a capsule hold it, with the metadata of its claim.

        Raises:
            DeniedError: The user may not create claims.
            DevctlError: It did not arrive.
        """
        claim = self._claim(capsule, metadata)
        # A new volume is made where its first pod runs, and may be within reach of that node only.
        first = {"kubernetes.io/hostname": node} if node and claim.phase != "Bound" else None
        target = Target(capsule.name, claim, _ADVICE, selector=first)
        with mounting(self._cluster, target, LOADER, **pod) as place:
            put(place, capsule.file, capsule.digest, capsule.size, moved)

    def _claim(self, capsule: Capsule, metadata: Mapping[str, Any]) -> Volume:
        """The claim, which is created if there is none."""
        kind = resources.PersistentVolumeClaim
        if found := self._cluster.find(kind, capsule.name):
            if Volume(found).going:
                raise BusyError(
                    f"claim `{capsule.name}` is being deleted", "repeat the command in a moment"
                )
            return Volume(found)
        manifest = claim_of(capsule.size, metadata, capsule_class(self._cluster))
        try:
            return Volume(self._cluster.create(kind, manifest))
        except DeniedError as error:
            raise DeniedError(
                f"the changes are too large for a ConfigMap, and for a volume, {error.message}",
                "send less: list what the run does not need in `.devctlignore`; or have an"
                " administrator give you the role `devctl-job-user`",
            ) from error


def claim_of(size: int, metadata: Mapping[str, Any], storage_class: str = "") -> dict[str, Any]:
    """The claim of a volume for a capsule of so many bytes.

    One of a class that was set for this can be mounted on every node at once.

    >>> claim_of(10 << 20, {"name": "x"})["spec"]["resources"]
    {'requests': {'storage': '75Mi'}}
    """
    room = -(-size * 11 // (10 * _MIB)) + _SPARE
    spec: dict[str, Any] = {
        "accessModes": ["ReadWriteMany" if storage_class else "ReadWriteOnce"],
        "resources": {"requests": {"storage": f"{room}Mi"}},
    }
    if storage_class:
        spec["storageClassName"] = storage_class
    about = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    return {**about, "metadata": dict(metadata), "spec": spec}


def roomiest(gpus: Iterable[Gpu], count: int, ids: Sequence[int] = ()) -> str:
    """The node that is most likely to get a run: it offers the GPUs, and has most of them free.

    Empty if none offers them.
    """
    offers: dict[str, list[Gpu]] = {}
    for gpu in gpus:
        if not ids or gpu.index in ids:
            offers.setdefault(gpu.node, []).append(gpu)
    free = {
        node: sum(gpu.state == State.FREE for gpu in found)
        for node, found in offers.items()
        if len(found) >= count
    }
    return max(sorted(free), key=lambda node: free[node], default="")
