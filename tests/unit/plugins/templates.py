"""A role's templates, rendered as its one task has them rendered, and texts that try to be more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apply.templates import parse, render
from hypothesis import strategies as st

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Mapping

Thing = dict[str, Any]
# What YAML cannot hold at all is refused by the API server before any role sees it.
TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t\r"), min_size=1
)
HOSTILE = [
    "a\nprivileged: true",
    "{{ lookup('pipe', 'id') }}",
    "{% for a in b %}",
    "---\n- x",
    "!!python/object",
    "*alias &anchor",
    "'\"\\",
    "null",
    "0x10",
    "a: b # c",
    "{# comment #}",
    "\u2028\u0085",
    "🙂",
    "$(MODEL) $$(MODEL)",
]
CONFINED_POD = {
    "runAsNonRoot": True,
    "runAsUser": 1000,
    "runAsGroup": 1000,
    "fsGroup": 1000,
    "fsGroupChangePolicy": "OnRootMismatch",
    "seccompProfile": {"type": "RuntimeDefault"},
}
"""The security context of every pod of ours."""
CONFINED_CONTAINER = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
"""And of every container."""


def rendered(role: str, names: Mapping[str, Any]) -> list[Thing]:
    """The manifests of all of a role's templates, in the order of their names."""
    paths = sorted((REPOSITORY / "roles" / role / "templates").iterdir())
    return [manifest for path in paths for manifest in parse(path.name, render(path, names))]


def put(thing: Any, names: Mapping[str, str]) -> Any:
    """A thing with each text that is a placeholder replaced."""
    if isinstance(thing, dict):
        return {key: put(value, names) for key, value in thing.items()}
    if isinstance(thing, list):
        return [put(value, names) for value in thing]
    return names.get(thing, thing) if isinstance(thing, str) else thing
