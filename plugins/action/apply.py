"""Action plugin: apply what a role's templates render, in one task.

It runs in Ansible's own process; the logic is in plugins/apply (docs/decisions/0004).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from apply.condition import tell
from apply.converge import Goal, converge
from apply.errors import ApplyError
from apply.finalize import finalize
from apply.manifests import Kind, kind_of, unique
from apply.ownership import Owner, stamp
from apply.report import Report
from apply.server.client import Cluster
from apply.server.connection import connect
from apply.templates import parse, render
from apply.values import compute, load, neighbours

from devctl.api.applied import Reason
from devctl.api.conditions import find

DOCUMENTATION = """
name: apply
short_description: Apply what the role's templates render
description:
  - Server-side apply of every manifest in the owner's namespace, then deletion of the owner's
    objects of the prune kinds that are no longer rendered. If the owner is cluster-scoped, each
    manifest states its namespace.
  - An object that does not belong to the owner is never touched; the run fails before its first
    write instead.
  - PersistentVolumeClaims, and manifests annotated devops.yourcompany.com/retained=true, get no
    owner reference, are never pruned, and are deleted only if `finalize` names their kind.
    Manifests annotated devops.yourcompany.com/create-only=true are created if absent and never
    changed; those annotated devops.yourcompany.com/shared=true have no owner and are kept. Volumes
    and claims annotated devops.yourcompany.com/alias=true hold no files of their own - they are
    owned and pruned, and if one cannot be applied, the run fails only after everything else.
  - A failure has a `reason` (Conflict, Invalid, Forbidden, QuotaExceeded, Terminating, Unavailable,
    TemplateError), and `retryable` says whether the same run may succeed later.
options:
  owner: {description: The complete custom resource, required: true, type: dict}
  values:
    description:
      - The folder of the owner's kind in plugins/. Its values.py has the functions identity and
        values. Templates use the names that the latter returns; each value is rendered as JSON.
    required: true
    type: str
  neighbours:
    description:
      - Further arguments of values, by name, as lists of objects that have the owner's identity;
        with `everywhere`, all objects of a cluster-scoped kind; with `name` (and `namespace`), one
        object, whoever owns it; with `namespace` alone, those in that namespace; with `named_by`,
        the cluster-scoped objects that a field of earlier neighbours names. A kind that is not
        installed has no objects. With `with_fields`, it is only read for an owner whose spec has
        all of these fields.
    type: dict
    default: {}
  files:
    description: Files of the role whose contents are passed to values
    type: list
    elements: str
    default: []
  templates: {description: Templates of the role, required: true, type: list, elements: str}
  condition:
    description: The type of the owner's status condition that reports whether the run succeeded.
    type: str
  finalize:
    description:
      - Kinds of which the owner has objects in other namespaces, where Kubernetes does not garbage
        collect them. They carry the label devops.yourcompany.com/owner-uid. A run for an owner that
        is being deleted applies nothing, and succeeds when they are gone; such an owner needs a
        finalizer in watches.yaml.
    type: list
    elements: dict
    default: []
    options: {apiVersion: {type: str, required: true}, kind: {type: str, required: true}}
  prune:
    description: Kinds whose objects are deleted when they are no longer rendered
    type: list
    elements: dict
    default: []
    options: {apiVersion: {type: str, required: true}, kind: {type: str, required: true}}
  field_manager: {description: The name of the field manager, type: str, default: devctl-operator}
"""
_ARGUMENTS: dict[str, Any] = yaml.safe_load(DOCUMENTATION)["options"]


class ActionModule(ActionBase):
    """Renders, applies and reports."""

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True
    _supports_async = False

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Apply the task's templates."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(argument_spec=_ARGUMENTS)
        report = Report()
        failure = self._converge(arguments, report)
        if failure:
            result.update(
                failed=True,
                reason=str(failure.reason),
                retryable=failure.retryable,
                msg=str(failure),
            )
        result.update(report.result())
        if self._task.diff:
            result["diff"] = report.differences
        return result

    def _converge(self, arguments: dict[str, Any], report: Report) -> ApplyError | None:
        """Apply or finalize, and write the owner's condition; returns the failure, if any."""
        try:
            finalized = frozenset(map(kind_of, arguments["finalize"]))
            owner = Owner.of(arguments["owner"], going=bool(finalized))
            with connect() as client:
                cluster = Cluster(
                    client,
                    namespace=owner.key.namespace,
                    field_manager=arguments["field_manager"],
                    dry_run=self._task.check_mode,
                )
                failure: ApplyError | None = None
                try:
                    if arguments["owner"]["metadata"].get("deletionTimestamp"):
                        finalize(cluster, owner, finalized, report)
                        return None
                    converge(cluster, self._goal(owner, cluster, arguments, finalized), report)
                except ApplyError as error:
                    failure = error
                if arguments["condition"]:
                    tell(cluster, arguments["owner"], arguments["condition"], failure)
        except ApplyError as error:
            return error
        return failure

    def _goal(
        self, owner: Owner, cluster: Cluster, arguments: dict[str, Any], finalized: frozenset[Kind]
    ) -> Goal:
        resource, name = arguments["owner"], arguments["values"]
        # Strips Ansible's tags: a tagged string does not equal the server's.
        identity = {str(k): str(v) for k, v in load(name).identity(resource).items()}
        if not identity:
            raise ApplyError(Reason.INVALID, "identity is empty: ownership could not be recognised")
        read: dict[str, Any] = {}
        spec = resource.get("spec", {})
        for argument, asked in arguments["neighbours"].items():
            wanted = all(spec.get(field) for field in asked.get("with_fields", ()))
            read[argument] = neighbours(cluster, asked, identity, read) if wanted else []
        if files := arguments["files"]:
            read["files"] = {file: self._find("files", file).read_text("utf-8") for file in files}
        values = compute(name, resource, read)
        paths = [self._find("templates", template) for template in arguments["templates"]]
        manifests = [
            stamp(manifest, owner, identity, finalized)
            for path in paths
            for manifest in parse(path.name, render(path, values.names))
        ]
        kind = arguments["condition"]
        return Goal(
            owner,
            identity,
            unique(manifests),
            prune=frozenset(map(kind_of, arguments["prune"])),
            remove=values.remove,
            update_only=values.update_only,
            first=bool(kind) and not find(resource.get("status", {}), kind),
            finalized=finalized,
        )

    def _find(self, folder: str, file: str) -> Path:
        try:
            return Path(self._find_needle(folder, file))
        except AnsibleError as error:
            raise ApplyError(Reason.TEMPLATE_ERROR, f"{file}: {error}") from error
