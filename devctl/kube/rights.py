"""What a user may do, and the rules that say so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Right(NamedTuple):
    """Something that a request needs."""

    verb: str
    """Such as `get`."""
    group: str
    """The API group; empty for the core one."""
    resource: str
    """The kind's plural."""
    subresource: str = ""
    """Such as `exec`."""

    def __str__(self) -> str:
        """As people name it.

        >>> str(Right("create", "", "pods", "exec"))
        'create pods/exec'
        """
        return f"{self.verb} {self._what}"

    @property
    def _what(self) -> str:
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource

    def is_covered_by(self, rule: Mapping[str, Any]) -> bool:
        """Whether a rule, as the API server lists it, gives this right to all objects.

        >>> rule = {"verbs": ["get"], "apiGroups": ["*"], "resources": ["*/exec"]}
        >>> Right("get", "", "pods", "exec").is_covered_by(rule)
        True
        """
        # As RBAC reads it: `*` includes subresources, `pods` does not.
        resources = {"*", self._what, *([f"*/{self.subresource}"] if self.subresource else [])}
        return (
            not rule.get("resourceNames")
            and bool({"*", self.verb} & set(rule.get("verbs") or []))
            and bool({"*", self.group} & set(rule.get("apiGroups") or []))
            and bool(resources & set(rule.get("resources") or []))
        )
