"""Two kinds of no release: an Errand is in no namespace, a Chore in one. Both have objects in other
namespaces, which only a finalizer run removes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from devctl.api.labels import GROUP
from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

Thing = dict[str, Any]

LABEL = f"{GROUP}/errand"
KINDS = {"Errand": "Cluster", "Chore": "Namespaced"}
VALUES = f"""
from apply.values import Values


def identity(owner):
    name = owner["metadata"]["name"]
    return {{"app.kubernetes.io/managed-by": "devctl", "{LABEL}": name}}


def values(owner):
    return Values({{"name": owner["metadata"]["name"], "places": owner["spec"]["places"]}})
"""
NOTE = """
{% for place in places %}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ name }}, namespace: {{ place }}}
{% endfor %}
"""


def definition(kind: str) -> Thing:
    """Its CustomResourceDefinition."""
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": free, "status": free}}
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": KINDS[kind],
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                }
            ],
        },
    }


def rights() -> list[Thing]:
    """What the operator may do beyond its own rights."""
    plurals = [f"{kind.lower()}s" for kind in KINDS]
    role: Thing = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "devctl-errands"},
        "rules": [
            # The operator itself writes and takes away the finalizer.
            {
                "apiGroups": [GROUP],
                "resources": plurals,
                "verbs": ["get", "list", "watch", "update", "patch"],
            },
            {
                "apiGroups": [GROUP],
                "resources": [f"{plural}/status" for plural in plurals],
                "verbs": ["patch"],
            },
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "delete"]},
        ],
    }
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole"}
    account = {"kind": "ServiceAccount", "name": "devctl-operator", "namespace": "devctl-system"}
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "devctl-errands"},
        "roleRef": reference | {"name": "devctl-errands"},
        "subjects": [account],
    }
    return [role, binding]


def checkout(folder: Path) -> Path:
    """This checkout, whose operator answers these two kinds and no others."""
    folder.mkdir()
    for path in REPOSITORY.iterdir():
        if path.name not in {"watches.yaml", "roles", "plugins"}:
            (folder / path.name).symlink_to(path)
    (folder / "plugins").mkdir()
    for path in (REPOSITORY / "plugins").iterdir():
        (folder / "plugins" / path.name).symlink_to(path)
    (folder / "plugins/errand").mkdir()
    (folder / "plugins/errand/values.py").write_text(VALUES)
    (folder / "watches.yaml").write_text(yaml.safe_dump([_watch(folder, kind) for kind in KINDS]))
    return folder


def _watch(folder: Path, kind: str) -> Thing:
    """Its entry in watches.yaml, and its role."""
    role = folder / "roles" / kind.lower()
    for part in ("tasks", "templates"):
        (role / part).mkdir(parents=True)
    (role / "templates/note.yaml.j2").write_text(NOTE)
    task = {
        "owner": f"{{{{ _{GROUP.replace('.', '_')}_{kind.lower()} }}}}",
        "values": "errand",
        "templates": ["note.yaml.j2"],
        "finalize": [{"apiVersion": "v1", "kind": "ConfigMap"}],
        "condition": "Applied",
    }
    (role / "tasks/main.yml").write_text(yaml.safe_dump([{"name": "Apply", "apply": task}]))
    return {
        "group": GROUP,
        "version": "v1",
        "kind": kind,
        "role": f"/opt/operator/roles/{kind.lower()}",
        "markUnsafe": True,
        "snakeCaseParameters": False,
        "manageStatus": False,
        "blacklist": [{"version": "v1", "kind": "ConfigMap"}],
        "finalizer": {"name": f"{GROUP}/finalizer", "vars": {"finalizing": True}},
    }
