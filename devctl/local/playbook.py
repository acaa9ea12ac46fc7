"""Running this project's playbooks: the inventory, the run, and what a killed run left behind.

Ansible's workers outlive Ansible. Everything that a playbook starts for a cluster carries the
cluster's name in its environment, except for what the supervisor runs.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devctl.errors import HostError
from devctl.local import cgroups
from devctl.local.namespaces import enter
from devctl.local.paths import REPOSITORY, ClusterPaths, cache_paths
from devctl.local.supervisor import SYSTEM_PATH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from devctl.local.settings import ClusterSettings, Node

API_PORT = 6443


def inventory(settings: ClusterSettings, paths: ClusterPaths) -> dict[str, Any]:
    """The inventory in Ansible's JSON form: `control_plane` and `workers` make up `nodes`."""
    first, *others = settings.nodes
    return {
        "all": {
            "vars": cluster_vars(settings, paths),
            "hosts": {"localhost": {}},
            "children": {
                "nodes": {
                    "children": {
                        "control_plane": {"hosts": {first.name: node_vars(settings, paths, first)}},
                        "workers": {
                            "hosts": {n.name: node_vars(settings, paths, n) for n in others}
                        },
                    }
                }
            },
        }
    }


def cluster_vars(settings: ClusterSettings, paths: ClusterPaths) -> dict[str, Any]:
    """The variables of the whole cluster."""
    programs = "hostvars['localhost']['local_programs']"
    return {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "local_cluster": settings.name,
        "local_server": f"https://{settings.nodes[0].address}:{API_PORT}",
        "local_ranges": {
            "pod": str(settings.pod_range),
            "service": str(settings.service_range),
            "dns": str(settings.dns_address),
        },
        "local_paths": {
            "files": str(REPOSITORY / "devctl" / "local" / "files"),
            "kubeconfig": str(paths.kubeconfig),
            "logs": str(paths.logs),
            "manifests": str(paths.root / "manifests"),
            "nodes": str(paths.root / "nodes"),
            "supervisor_config": str(paths.supervisor_config),
            "supervisor_pid": str(paths.supervisor_pid),
            "supervisor_socket": str(paths.supervisor_socket),
        },
        # Finds the programs called inside a node.
        "local_environment": {"PATH": f"{{{{ {programs}['kubernetes'] }}}}:{SYSTEM_PATH}"},
    }


def node_vars(settings: ClusterSettings, paths: ClusterPaths, node: Node) -> dict[str, Any]:
    """The variables of one node."""
    group = cgroups.path_of(settings.name, node.name)
    files = paths.node(node.name)
    return {
        "node_address": str(node.address),
        "node_cgroup": group,
        "node_cgroup_files": [str(f) for f in cgroups.process_files(f"{group}/{cgroups.SYSTEM}")],
        # The host's folder for temporary files is not visible inside.
        "node_enter": [*enter(files), "env", "TMPDIR=/tmp"],
        "node_mount_namespace": str(files.mount_namespace),
        "node_network_namespace": str(files.network_namespace),
        "node_pod_range": str(node.pod_range),
    }


RUN_VARIABLE = "DEVCTL_LOCAL_RUN"


def leftovers(cluster: str, proc: Path = Path("/proc")) -> set[int]:
    """The processes of earlier playbook runs for a cluster.

    Callers must hold the cluster's lock: another command's run would be found, too.
    """
    mark = f"{RUN_VARIABLE}={cluster}".encode()
    found = set()
    for entry in proc.glob("[0-9]*"):
        with suppress(OSError):
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                found.add(int(entry.name))
    return found - {os.getpid()}


def end_leftovers(cluster: str, seconds: float = 10.0) -> None:
    """Kill the processes of earlier runs; raises HostError if some survive for `seconds`."""
    if left := cgroups.kill_all(lambda: leftovers(cluster), seconds):
        raise HostError(
            f"pid {min(left)} of an earlier run does not end", "see what it is waiting for"
        )


PLAYBOOKS = REPOSITORY / "playbooks"


def environment(log: Path, scratch: Path) -> dict[str, str]:
    """Ansible's settings: our progress lines, and all its files below the state folder."""
    return {
        **os.environ,
        "ANSIBLE_CALLBACK_PLUGINS": str(PLAYBOOKS / "callback_plugins"),
        "ANSIBLE_CONFIG": str(REPOSITORY / "ansible.cfg"),
        "ANSIBLE_HOME": str(cache_paths().root / "ansible"),
        "ANSIBLE_LOCAL_TEMP": str(scratch),
        "ANSIBLE_REMOTE_TEMP": str(scratch),
        "ANSIBLE_LOG_PATH": str(log),
        "ANSIBLE_NOCOLOR": "1",
        # Modules read their code from standard input, which saves a process per task.
        "ANSIBLE_PIPELINING": "1",
        "ANSIBLE_STDOUT_CALLBACK": "progress",
        # Killed programs leave temporary files behind; the next run deletes them.
        "TMPDIR": str(scratch),
        # Named in the playbooks' messages.
        "DEVCTL_LOGS": str(log.parent),
        "DEVCTL_BUILD_LOGS": str(cache_paths().logs),
    }


def run(
    playbook: str,
    inventory: Mapping[str, Any],
    folder: Path,
    extra: Mapping[str, Any] | None = None,
    *,
    run_of: str = "",
) -> int:
    """Run a playbook, with its progress on standard output; returns its exit code.

    `folder` gets the inventory and the log; `extra` variables override all others. Processes that
    change a local cluster can be found by its name, `run_of`.
    """
    logs = folder / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    inventory_file = folder / "inventory.json"
    inventory_file.write_text(json.dumps(inventory, indent=2))
    command = [
        *(sys.executable, "-m", "ansible", "playbook"),
        *("--inventory", inventory_file, PLAYBOOKS / playbook),
        *(("--extra-vars", json.dumps(extra)) if extra else ()),
    ]
    log = logs / f"{Path(playbook).stem}.log"
    scratch = folder / "tmp"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    (cache_paths().root / "ansible").mkdir(parents=True, exist_ok=True)
    variables = {**environment(log, scratch), **({RUN_VARIABLE: run_of} if run_of else {})}
    return subprocess.run(command, check=False, env=variables, stdin=subprocess.DEVNULL).returncode
