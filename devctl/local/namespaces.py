"""A node's namespaces: a mount namespace with its own root, and a network namespace.

Handles in the cluster's run folder keep both alive, so that the supervisor can be restarted without
affecting pods.
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
    """The mount points that this process sees."""
    return mount_points(Path("/proc/self/mountinfo").read_text())


def exist(node: NodePaths) -> bool:
    """Whether the node's namespaces exist."""
    return {str(node.mount_namespace), str(node.network_namespace)} <= set(current_mounts())


def enter(node: NodePaths) -> list[str]:
    """The command line that runs another one, appended to it, in the node."""
    return ["nsenter", f"--mount={node.mount_namespace}", f"--net={node.network_namespace}", "--"]


def create(cluster: ClusterPaths, node: Node, image_root: Path, programs: Path) -> bool:
    """Create a node's folders and namespaces; returns whether they were missing.

    Raises:
        StepError: A mount failed; the namespaces were removed again.
    """
    paths = cluster.node(node.name)
    if exist(paths):
        return False
    remove(paths)
    folders = [paths.var / name for name in ("lib", "log", "tmp")]
    for folder in (*folders, paths.volumes, paths.run, cluster.shared_volumes):
        folder.mkdir(parents=True, exist_ok=True)
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
    # A handle needs a mount that does not propagate; with systemd, / does.
    run_logged(["mount", "--bind", paths.run, paths.run], log, what=what)
    try:
        run_logged(["mount", "--make-private", paths.run], log, what=what)
        (paths.run / "root").mkdir(exist_ok=True)
        paths.mount_namespace.touch()
        paths.network_namespace.touch()
        run_logged(
            [
                *("unshare", "--propagation", "private"),
                *(f"--mount={paths.mount_namespace}", f"--net={paths.network_namespace}"),
                *("sh", _SCRIPT, image_root, paths.root, paths.run),
                *(programs, paths.volumes, cluster.shared_volumes),
            ],
            log,
            what=what,
        )
    except BaseException:
        remove(paths)
        raise
    return True


def remove(node: NodePaths) -> None:
    """Remove the handles of a node's namespaces, which then end with their last process."""
    below = f"{node.run}/"
    points = [p for p in current_mounts() if p == str(node.run) or p.startswith(below)]
    for point in reversed(points):
        run_logged(["umount", "--lazy", point], Path("/dev/null"), what=f"unmount `{point}`")
    shutil.rmtree(node.run, ignore_errors=True)
