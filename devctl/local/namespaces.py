"""A node's namespaces: a mount namespace with a root of its own, and a network namespace.

Both are kept by handles, files under the cluster's run folder, so that they outlive any process
and the supervisor can be restarted without touching the pods.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from devctl.local.commands import run_logged

if TYPE_CHECKING:
    from devctl.local.paths import ClusterPaths, NodePaths
    from devctl.local.settings import Node

_SCRIPT = Path(__file__).parent / "files" / "node-root.sh"


def mount_points(mountinfo: str) -> list[str]:
    """The mount points in the text of /proc/self/mountinfo, in order of mounting."""
    points = (line.split(" ")[4] for line in mountinfo.splitlines())
    return [p.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\") for p in points]


def current_mounts() -> list[str]:
    """What is mounted in this process's view."""
    return mount_points(Path("/proc/self/mountinfo").read_text())


def exist(node: NodePaths) -> bool:
    """Whether the node's namespaces are there, whatever runs in them."""
    return {str(node.mount_namespace), str(node.network_namespace)} <= set(current_mounts())


def enter(node: NodePaths) -> list[str]:
    """The command line that runs what follows it inside the node."""
    return ["nsenter", f"--mount={node.mount_namespace}", f"--net={node.network_namespace}", "--"]


def create(cluster: ClusterPaths, node: Node, image_root: Path, programs: Path) -> bool:
    """Make a node's folders and namespaces; returns whether anything had to be made.

    Raises:
        StepError: A mount failed; nothing is kept of the namespaces then.
    """
    paths = cluster.node(node.name)
    if exist(paths):
        return False
    remove(paths)
    for folder in (
        paths.var / "lib",
        paths.var / "log",
        paths.var / "tmp",
        paths.volumes,
        paths.run,
    ):
        folder.mkdir(parents=True, exist_ok=True)
    cluster.shared_volumes.mkdir(parents=True, exist_ok=True)
    (paths.var / "tmp").chmod(0o1777)
    if not (paths.var / "run").is_symlink():
        (paths.var / "run").symlink_to("/run")
    if not paths.etc.is_dir():
        partial = paths.etc.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        shutil.copytree(image_root / "etc", partial, symlinks=True)
        partial.rename(paths.etc)
    log = cluster.logs / "namespaces.log"
    what = f"make the namespaces of node `{node.name}`"
    # A handle cannot be kept on a mount that propagates: / does where systemd runs.
    run_logged(["mount", "--bind", paths.run, paths.run], log, what=what)
    try:
        run_logged(["mount", "--make-private", paths.run], log, what=what)
        (paths.run / "root").mkdir(exist_ok=True)
        paths.mount_namespace.touch()
        paths.network_namespace.touch()
        run_logged(
            [
                *(
                    "unshare",
                    f"--mount={paths.mount_namespace}",
                    f"--net={paths.network_namespace}",
                ),
                *("--propagation", "private", "sh", _SCRIPT),
                *(
                    image_root,
                    paths.root,
                    paths.run,
                    programs,
                    paths.volumes,
                    cluster.shared_volumes,
                ),
            ],
            log,
            what=what,
        )
    except BaseException:
        remove(paths)
        raise
    return True


def remove(node: NodePaths) -> None:
    """Let a node's namespaces go; they vanish with the last process in them.

    Raises:
        StepError: A handle cannot be unmounted.
    """
    below = f"{node.run}/"
    points = [p for p in current_mounts() if p == str(node.run) or p.startswith(below)]
    for point in reversed(points):
        run_logged(["umount", "--lazy", point], Path("/dev/null"), what=f"unmount `{point}`")
    shutil.rmtree(node.run, ignore_errors=True)
