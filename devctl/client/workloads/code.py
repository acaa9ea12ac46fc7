"""Code that travels with a GPU workload: an archive in a ConfigMap, named by its content.

It needs neither a volume nor a pod, so that a workload can be submitted, and wait in a queue, while
no node has room. The pod unpacks it (roles/gpu_workload).
"""

from __future__ import annotations

import base64
import gzip
import io
import tarfile
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from devctl.api.gpu_workload import ARCHIVE
from devctl.client.files.archive import add
from devctl.client.files.names import named
from devctl.client.files.transfer import amount
from devctl.client.objects import Named, mapping
from devctl.errors import AlreadyExistsError, DevctlError, NotFoundError, UsageError
from devctl.kube import resources

if TYPE_CHECKING:
    from collections.abc import Mapping

    from devctl.client.files.local import Selection
    from devctl.client.workloads.workload import Workload
    from devctl.kube.cluster import Cluster

LABELS = {"app.kubernetes.io/managed-by": "devctl-submit"}
"""Of such ConfigMaps. Not our reserved labels: users create and delete these objects themselves."""
LARGEST = 1_000_000
"""Bytes of an archive: a ConfigMap holds 1 MiB."""
_PLAIN = 100_000_000
"""Bytes of files that are tried at all: more would take long, and not fit."""
_NAME = "code-{}"
_KEPT = timedelta(hours=1)
"""For how long an archive is kept that no workload names: it may be about to be created."""


@dataclass(frozen=True)
class Code:
    """An archive, and what is in it."""

    data: bytes
    files: int
    size: int
    """Bytes of the files."""

    @property
    def name(self) -> str:
        """Of its ConfigMap: the same for the same content."""
        return _NAME.format(sha256(self.data).hexdigest()[:16])

    def __str__(self) -> str:
        """A line for people."""
        files = "1 file" if self.files == 1 else f"{self.files:,} files"
        return f"{files}, {amount(self.size)}, {amount(len(self.data))} compressed"


class Unchanged(NamedTuple):
    """What identifies a file that the program has left as it was sent."""

    size: int
    mtime: int


def pack(selection: Selection) -> Code:
    """The archive of the selected files; the same for the same files.

    Raises:
        UsageError: It is larger than a ConfigMap can be.
        DevctlError: A file changed while it was read.
    """
    entries = selection.entries
    size = sum(found.size for found in entries)
    if size > _PLAIN:
        raise _too_large(selection, size, "")
    plain = io.BytesIO()
    with tarfile.open(
        mode="w", fileobj=plain, format=tarfile.GNU_FORMAT, errors="surrogateescape"
    ) as tar:
        changed = [e.path for e in entries if not add(tar, selection.root, e, e.path, None)]
    if changed:
        raise DevctlError(
            f"{named(changed)} changed while it was being read, and nothing was sent",
            "wait until it is no longer written to, or list it in `.devctlignore`",
        )
    data = gzip.compress(plain.getvalue(), 9, mtime=0)
    if len(data) > LARGEST:
        raise _too_large(selection, len(data), " compressed")
    return Code(data, len(entries), size)


def _too_large(selection: Selection, size: int, how: str) -> UsageError:
    largest = max(selection.entries, key=lambda found: found.size)
    return UsageError(
        f"nothing was sent: the code has {amount(size)}{how}, and at most {amount(LARGEST)}"
        f" compressed travel with a job; the largest file is {named([largest.path])} with"
        f" {amount(largest.size)}",
        "list data and models in `.devctlignore`, and mount them from a claim with --mount",
    )


def send(cluster: Cluster, code: Code) -> str:
    """Store an archive in the user's namespace; the name of its ConfigMap."""
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": code.name, "labels": LABELS},
        # One that exists has the content that its name says.
        "immutable": True,
        "binaryData": {ARCHIVE: base64.b64encode(code.data).decode()},
    }
    with suppress(AlreadyExistsError):
        cluster.create(resources.ConfigMap, manifest)
    return code.name


def prune(cluster: Cluster, now: datetime | None = None) -> None:
    """Delete archives that no workload names."""
    now = now or datetime.now(UTC)
    stored = [Named(raw) for raw in cluster.list(resources.ConfigMap, labels=LABELS)]
    old = [each for each in stored if now - each.created_at > _KEPT]
    if not old:
        return
    # Read after the archives, so that none is missed that was created meanwhile.
    workloads = cluster.list(resources.GPUWorkload)
    used = {mapping(raw["spec"].get("workspace")).get("configMapName") for raw in workloads}
    for each in old:
        if each.name not in used:
            with suppress(NotFoundError):
                cluster.delete(resources.ConfigMap, each.raw)


def sent_files(cluster: Cluster, workload: Workload) -> Mapping[str, Unchanged]:
    """The files that travelled with a workload; none if its archive is gone."""
    name = mapping(workload.spec.get("workspace")).get("configMapName")
    raw = cluster.find(resources.ConfigMap, str(name)) if name else None
    stored = mapping((raw or {}).get("binaryData")).get(ARCHIVE)
    if not stored:
        return {}
    try:
        with tarfile.open(fileobj=io.BytesIO(base64.b64decode(stored)), mode="r:gz") as tar:
            return {each.name: Unchanged(each.size, int(each.mtime)) for each in tar}
    except (OSError, tarfile.TarError, ValueError):
        # Somebody else's archive: then everything counts as the program's.
        return {}
