"""Action plugin: make the cluster hold what a role's templates render, in one task.

It runs in Ansible's own process, on what plugins/apply holds; docs/decisions/0004 says why.
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
short_description: Make the cluster hold what the role's templates render
description:
  - Server-side apply of every manifest in the owner's namespace, then deletion of the owner's
    objects of the prune kinds that are no longer rendered. Where the owner is in no namespace, each
    manifest says where it belongs.
  - An object that is not the owner's is never touched; the run then fails before its first write.
  - PersistentVolumeClaims get no owner reference, are never pruned, and are deleted only if
    `finalize` names their kind. Manifests annotated devops.yourcompany.com/create-only=true are
    made if absent and never changed; those annotated devops.yourcompany.com/shared=true are of no
    owner and stay.
  - A failure has a `reason` (Conflict, Invalid, Forbidden, QuotaExceeded, Terminating, Unavailable,
    TemplateError), and `retryable` says whether the same run may succeed later.
options:
  owner: {description: The whole custom resource, required: true, type: dict}
  values:
    description:
      - The folder in plugins/ of the owner's kind. Its values.py has the functions identity and
        values. Templates have the names that the latter gives, and write each value as JSON.
    required: true
    type: str
  neighbours:
    description:
      - What values is to know beside the owner, by the name of its argument. Objects with the
        owner's identity; with `everywhere`, all of a kind that is in no namespace.
    type: dict
    default: {}
  files:
    description: Files of the role whose texts values is to know
    type: list
    elements: str
    default: []
  templates: {description: Templates of the role, required: true, type: list, elements: str}
  condition:
    description: The type of the owner's status condition that says whether the run succeeded.
    type: str
  finalize:
    description:
      - Kinds of which the owner has objects in other namespaces, where Kubernetes removes none for
        it. They carry the label devops.yourcompany.com/owner-uid. A run for an owner that is being
        deleted applies nothing, and succeeds when they are gone; watches.yaml gives such a kind a
        finalizer.
    type: list
    elements: dict
    default: []
    options: {apiVersion: {type: str, required: true}, kind: {type: str, required: true}}
  prune:
    description: Kinds of which what is no longer rendered goes
    type: list
    elements: dict
    default: []
    options: {apiVersion: {type: str, required: true}, kind: {type: str, required: true}}
  field_manager: {description: The name of its fields' manager, type: str, default: devctl-operator}
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
        """Do it, and tell the owner; why it failed, if it did."""
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
        # Without Ansible's tags, by which a text is not what the server has.
        identity = {str(k): str(v) for k, v in load(name).identity(resource).items()}
        if not identity:
            raise ApplyError(Reason.INVALID, "identity is empty: nothing would tell whose is what")
        read: dict[str, Any] = {
            argument: neighbours(cluster, asked, identity)
            for argument, asked in arguments["neighbours"].items()
        }
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
