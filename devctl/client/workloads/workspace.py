"""The volume of a workload's workspace: what its program wrote is fetched, or deleted."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

from devctl.api.gpu_workload import LABEL, claim_name
from devctl.client.files import remote
from devctl.client.files.copy import fetch_folder
from devctl.client.files.remote import Advice
from devctl.client.homes import Volume
from devctl.client.jobs.files import stored_names
from devctl.client.jobs.helper_pod import LOADER, Target, mounting
from devctl.client.objects import Collection
from devctl.client.workloads.code import Unchanged, sent_files
from devctl.client.workloads.workload import check_name
from devctl.errors import NotFoundError, UsageError
from devctl.kube import resources

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Unpack

    from devctl.client.files.copy import Copied
    from devctl.client.files.transfer import Progress
    from devctl.client.jobs.helper_pod import PodOptions
    from devctl.client.workloads.workload import Workload

_ADVICE = Advice(
    look="look at what it printed with `devctl jobs logs`",
    no_room="submit it again with a larger --volume",
    read_only="ask an administrator to look at the storage class",
    denied="have the program make it readable",
    no_tar="name an image with tar in it with --loader-image",
)


class Workspaces(Collection):
    """The volumes of workspaces."""

    def get(self, name: str) -> Volume:
        """The claim of a workload's workspace, whether or not the workload still exists.

        Raises:
            NotFoundError: It has none.
        """
        check_name(name)
        raw = self._cluster.find(resources.PersistentVolumeClaim, claim_name(name))
        found = Volume(raw) if raw else None
        if found is None or found.labels.get(LABEL) != name:
            raise NotFoundError(
                f"`{name}` has no volume in namespace `{self._cluster.namespace}`",
                "submit it with --volume or --pull to keep what it writes",
            )
        return found

    def download(
        self,
        name: str,
        into: Path,
        moved: Progress | None = None,
        workload: Workload | None = None,
        **pod: Unpack[PodOptions],
    ) -> Copied:
        """Fetch what the program wrote: all files but those that `workload` was submitted with.

        Each file here that differs is kept, and nothing is fetched then.

        Raises:
            NotFoundError: It has no volume, or no pod has used it yet.
        """
        if into.exists() and not into.is_dir():
            raise UsageError(f"`{into}` is not a folder", "name a folder, existing or new")
        claim = self.get(name)
        if claim.phase != "Bound":
            raise NotFoundError(
                f"the volume of `{name}` is empty: its program has not started yet",
                f"wait for it with `devctl jobs logs -f {name}`",
            )
        sent = sent_files(self._cluster, workload) if workload else {}
        with mounting(self._cluster, Target(name, claim, _ADVICE), LOADER, **pod) as place:
            names = stored_names(place)
            known = [each for each in names if each in sent]
            found = remote.look(place, known)
            same = {
                each
                for each, about in found.items()
                if not stat.S_ISREG(about.mode) or sent[each] == Unchanged(about.size, about.mtime)
            }
            return fetch_folder(place, [n for n in names if n not in same], into, moved)

    def delete(self, name: str) -> Volume:
        """Delete the volume with its files, as soon as no pod uses it."""
        found = self.get(name)
        self._cluster.delete(resources.PersistentVolumeClaim, found.raw)
        return found
