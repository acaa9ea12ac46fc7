"""Action plugin: make the cluster hold what a role's templates render, in one task.

It runs in Ansible's own process, on what plugins/apply holds; docs/decisions/0004 says why.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.template import trust_as_template
from apply.client import Cluster
from apply.condition import tell, told
from apply.connection import connect
from apply.converge import Goal, converge
from apply.errors import ApplyError
from apply.manifests import Key, Manifest, kind_of, parse, stamp, unique
from apply.ownership import Owner
from apply.report import Report

from devctl.api.applied import Reason

DOCUMENTATION = """
name: apply
short_description: Make the cluster hold what the role's templates render
description:
  - Server-side apply of every manifest in the owner's namespace, then deletion of the owner's
    objects of the prune kinds that are no longer rendered.
  - An object that is not the owner's is never touched; the run then fails before its first write.
  - PersistentVolumeClaims, and manifests annotated devops.yourcompany.com/retain=true, get no owner
    reference and are never deleted. Manifests annotated devops.yourcompany.com/create-only=true are
    made if absent and never changed.
  - A failure has a `reason` (Conflict, Invalid, Forbidden, QuotaExceeded, Terminating, Unavailable,
    TemplateError), and `retryable` says whether the same run may succeed later.
options:
  owner: {description: The whole custom resource, required: true, type: dict}
  field_manager: {description: The name of its fields' manager, required: true, type: str}
  identity: {description: Labels that say that an object is the owner's, required: true, type: dict}
  templates: {description: Templates of the role, required: true, type: list, elements: str}
  compute:
    description: Names of variables that the templates use. Each is computed once.
    type: list
    elements: str
  condition:
    description: The type of the owner's status condition that says whether the run succeeded.
    type: str
  prune: {description: Kinds with apiVersion and kind, type: list, elements: dict}
  remove:
    description:
      - An expression over the computed variables, for objects as they were read. They are deleted
        before anything is applied. One that has changed since is left, and the run fails as
        retryable.
    type: str
  update_only:
    description:
      - An expression over the computed variables, for a list of apiVersion, kind and name. Such an
        object is applied if it exists, and not made.
    type: str
"""
_ARGUMENTS = {
    "owner": {"type": "dict", "required": True},
    "field_manager": {"type": "str", "required": True},
    "identity": {"type": "dict", "required": True},
    "templates": {"type": "list", "elements": "str", "required": True},
    "compute": {"type": "list", "elements": "str", "default": []},
    "condition": {"type": "str"},
    "remove": {"type": "str"},
    "update_only": {"type": "str"},
    "prune": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {
            "apiVersion": {"type": "str", "required": True},
            "kind": {"type": "str", "required": True},
        },
    },
}


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
        failure = self._converge(arguments, task_vars or {}, report)
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

    def _converge(
        self, arguments: dict[str, Any], variables: dict[str, Any], report: Report
    ) -> ApplyError | None:
        """Do it, and tell the owner; why it failed, if it did."""
        try:
            owner = Owner.of(arguments["owner"])
            with connect() as client:
                cluster = Cluster(
                    client,
                    namespace=owner.namespace,
                    field_manager=arguments["field_manager"],
                    dry_run=self._task.check_mode,
                )
                failure: ApplyError | None = None
                try:
                    converge(cluster, self._goal(owner, arguments, variables), report)
                except ApplyError as error:
                    failure = error
                if arguments["condition"]:
                    tell(cluster, arguments["owner"], arguments["condition"], failure)
        except ApplyError as error:
            return error
        return failure

    def _goal(self, owner: Owner, arguments: dict[str, Any], variables: dict[str, Any]) -> Goal:
        identity = {str(label): str(value) for label, value in arguments["identity"].items()}
        if not identity:
            raise ApplyError(Reason.INVALID, "identity is empty: nothing would tell whose is what")
        computed = {name: _value(self._templar, name) for name in arguments["compute"]}
        paths = [Path(self._find(template)) for template in arguments["templates"]]
        # One for all of them: each looks its filters up anew.
        templar = self._templar.copy_with_new_env(
            searchpath=list({str(path.parent): None for path in paths}),
            available_variables=variables | computed,
        )
        manifests = [
            stamp(manifest, owner, identity)
            for path in paths
            for manifest in _render(templar, path)
        ]
        remove, update_only = (
            _value(templar, arguments[name]) if arguments[name] else []
            for name in ("remove", "update_only")
        )
        return Goal(
            owner,
            identity,
            unique(manifests),
            prune=frozenset(map(kind_of, arguments["prune"])),
            remove=remove,
            update_only=frozenset(Key(kind_of(thing), str(thing["name"])) for thing in update_only),
            first=bool(kind := arguments["condition"]) and not told(arguments["owner"], kind),
        )

    def _find(self, template: str) -> str:
        try:
            return str(self._find_needle("templates", template))
        except AnsibleError as error:
            raise ApplyError(Reason.TEMPLATE_ERROR, f"{template}: {error}") from error


def _value(templar: Any, expression: str) -> Any:
    """The value of an expression; a filter's or a lookup's own error, where there is one."""
    try:
        return templar.template(trust_as_template(f"{{{{ {expression} }}}}"))
    except AnsibleError as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, ApplyError):
            cause = cause.__cause__
        raise cause or ApplyError(Reason.TEMPLATE_ERROR, f"{expression}: {error}") from error


def _render(templar: Any, path: Path) -> list[Manifest]:
    """The manifests of one template, as `ansible.builtin.template` would render it."""
    try:
        text = templar.template(
            trust_as_template(path.read_text(encoding="utf-8")),
            escape_backslashes=False,
            overrides={"trim_blocks": True, "lstrip_blocks": False},
        )
    except AnsibleError as error:
        raise ApplyError(Reason.TEMPLATE_ERROR, f"{path.name}: {error}") from error
    if text is not None and not isinstance(text, str):
        # A lone expression keeps its type; with `to_json` it is text.
        message = f"{path.name} renders to a {type(text).__name__}, not to text: use to_json"
        raise ApplyError(Reason.TEMPLATE_ERROR, message)
    return parse(path.name, text or "")
