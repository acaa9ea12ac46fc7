"""Rights of users, and the rules that grant them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Right(NamedTuple):
    """What a request needs: a verb on a kind's plural, in a group; the core group is empty."""

    verb: str
    group: str
    resource: str
    subresource: str = ""

    def __str__(self) -> str:
        """The usual notation.

        >>> str(Right("create", "", "pods", "exec"))
        'create pods/exec'
        """
        return f"{self.verb} {self._what}"

    @property
    def _what(self) -> str:
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource

    def is_covered_by(self, rule: Mapping[str, Any]) -> bool:
        """Whether a rule, as the API server lists it, grants this right on all objects.

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
