"""The Ansible inventory of a cluster: everything that the playbooks' roles are told."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from devctl.local import cgroups
from devctl.local.namespaces import enter
from devctl.local.network import NODE_INTERFACE
from devctl.local.paths import REPOSITORY, CachePaths, ClusterPaths

if TYPE_CHECKING:
    from devctl.local.settings import ClusterSettings, Node

API_PORT = 6443
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def inventory(settings: ClusterSettings, paths: ClusterPaths, cache: CachePaths) -> dict[str, Any]:
    """The inventory in Ansible's JSON form: `control_plane` and `workers` make up `nodes`."""
    first, *others = settings.nodes
    return {
        "all": {
            "vars": cluster_vars(settings, paths, cache),
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


def cluster_vars(
    settings: ClusterSettings, paths: ClusterPaths, cache: CachePaths
) -> dict[str, Any]:
    """What is true for the whole cluster."""
    programs = "hostvars['localhost']['local_programs']"
    return {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "local_cluster": settings.name,
        "local_server": f"https://{settings.nodes[0].address}:{API_PORT}",
        "local_node_interface": NODE_INTERFACE,
        "local_ranges": {
            "node": str(settings.node_range),
            "pod": str(settings.pod_range),
            "service": str(settings.service_range),
            "dns": str(settings.dns_address),
        },
        "local_paths": {
            "cache_logs": str(cache.logs),
            "files": str(REPOSITORY / "devctl" / "local" / "files"),
            "kubeconfig": str(paths.kubeconfig),
            "logs": str(paths.logs),
            "manifests": str(paths.root / "manifests"),
            "nodes": str(paths.root / "nodes"),
            "supervisor_config": str(paths.supervisor_config),
            "supervisor_pid": str(paths.supervisor_pid),
            "supervisor_socket": str(paths.supervisor_socket),
        },
        # The programs that are called inside a node.
        "local_environment": {"PATH": f"{{{{ {programs}['kubernetes'] }}}}:{_SYSTEM_PATH}"},
    }


def node_vars(settings: ClusterSettings, paths: ClusterPaths, node: Node) -> dict[str, Any]:
    """What is true for one node."""
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
