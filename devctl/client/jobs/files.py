"""Files between this machine, URLs and the volumes of jobs, by the jobs' names."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from devctl.client.jobs import download as jobs_download
from devctl.client.jobs import upload as jobs_upload
from devctl.client.jobs.copy_url import copy_url
from devctl.client.jobs.fetch import Limits, look_up
from devctl.client.jobs.helper_pod import DEBUG, LOADER
from devctl.client.jobs.loader import helper
from devctl.client.jobs.manifest import check_name
from devctl.client.jobs.target import target_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Unpack

    from devctl.client.files.local import Selection
    from devctl.client.jobs.copy_url import Fetched
    from devctl.client.jobs.download import Downloaded, StoredFile
    from devctl.client.jobs.loader import VolumePlace
    from devctl.client.jobs.upload import Uploaded
    from devctl.kube.cluster import Cluster


class PodOptions(TypedDict, total=False):
    """What can be said of the pod that reaches a volume; devctl.client.jobs.loader has more."""

    image: str
    """Else the cluster's."""
    seconds: float
    """How long it may take to start."""
    progress: Callable[[str], None]
    """Told why it does not run yet."""
    keep: Callable[[], bool]
    """Asked in the end whether it is to stay."""


class JobFiles:
    """The files on the volumes of jobs.

    Each method makes a short-lived pod with the volume, with the user's own rights: a job's pod can
    be gone, or not be there yet.
    """

    def __init__(self, cluster: Cluster) -> None:
        """Ask nothing yet."""
        self._cluster = cluster

    def upload(
        self,
        job: str,
        what: Path | Selection,
        moved: Callable[[int], None] | None = None,
        **pod: Unpack[PodOptions],
    ) -> Uploaded:
        """Put the contents of a folder at the root of a job's volume, and check them there.

        Args:
            job: The job.
            what: The folder, or what devctl.client.jobs.upload.choose has chosen of it.
            moved: Takes the number of bytes that were just sent.
            pod: Of the pod.
        """
        selection = jobs_upload.choose(what) if isinstance(what, Path) else what
        with self._loader(job, pod) as place:
            return jobs_upload.upload(place, selection, moved)

    def list(self, job: str, **pod: Unpack[PodOptions]) -> Sequence[StoredFile]:
        """The files on a job's volume."""
        with self._loader(job, pod) as place:
            return jobs_download.stored(place)

    def download(
        self,
        job: str,
        into: Path,
        moved: Callable[[int], None] | None = None,
        **pod: Unpack[PodOptions],
    ) -> Downloaded:
        """Bring the files on a job's volume here; see devctl.client.jobs.download.download."""
        with self._loader(job, pod) as place:
            return jobs_download.download(place, into, moved)

    def copy_url(
        self,
        job: str,
        url: str,
        path: str,
        limits: Limits | None = None,
        moved: Callable[[int], None] | None = None,
        **pod: Unpack[PodOptions],
    ) -> Fetched:
        """Fetch a URL from this machine and put what it holds onto a job's volume."""
        path, limits = target_path(path), limits or Limits()
        look_up(url, limits)
        with self._loader(job, pod) as place:
            return copy_url(place, url, path, limits, moved)

    @contextmanager
    def debug(self, job: str, **pod: Unpack[PodOptions]) -> Iterator[VolumePlace]:
        """A pod with a job's volume at /mnt, for as long as a `with` block lasts."""
        check_name(job)
        with helper(self._cluster, job, DEBUG, **pod) as place:
            yield place

    @contextmanager
    def _loader(self, job: str, pod: PodOptions) -> Iterator[VolumePlace]:
        check_name(job)
        with helper(self._cluster, job, LOADER, **pod) as place:
            yield place
