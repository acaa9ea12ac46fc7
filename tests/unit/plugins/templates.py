"""A role's templates, rendered as by its task, and hostile texts for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apply.templates import parse, render
from hypothesis import strategies as st

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Mapping

Thing = dict[str, Any]
# The API server refuses text that YAML cannot represent before any role sees it.
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
"""The security context of each of our pods."""
CONFINED_CONTAINER = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
"""The security context of each of our containers."""


def rendered(role: str, names: Mapping[str, Any]) -> list[Thing]:
    """The manifests of all templates of a role, ordered by file name."""
    paths = sorted((REPOSITORY / "roles" / role / "templates").iterdir())
    return [manifest for path in paths for manifest in parse(path.name, render(path, names))]


def put(thing: Any, names: Mapping[str, str]) -> Any:
    """A value with all placeholder texts replaced."""
    if isinstance(thing, dict):
        return {key: put(value, names) for key, value in thing.items()}
    if isinstance(thing, list):
        return [put(value, names) for value in thing]
    return names.get(thing, thing) if isinstance(thing, str) else thing
