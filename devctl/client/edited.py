"""A spec in a person's editor: its text, and what was changed in it."""

from __future__ import annotations

from typing import Any

import yaml

from devctl.client.yaml_text import documents
from devctl.errors import UsageError
from devctl.text import one_line

_HEAD = """\
# The spec of {what}. Save and close to apply it; an empty file, or one without
# changes, changes nothing. Lines that begin with `#` are left out.
"""


def text_of(spec: dict[str, Any], what: str, trouble: str = "", edited: str = "") -> str:
    """What the editor shows.

    Args:
        spec: As it is.
        what: Whose it is, such as `devserver/lab`.
        trouble: Why the last edit was refused.
        edited: The last edit, which is shown again.
    """
    body = _bare(edited) if edited else yaml.safe_dump(spec, sort_keys=False, allow_unicode=True)
    if not edited and not body.replace("\n", "").isprintable():
        # No editor may get what a terminal obeys; and PyYAML reads U+0085 as another character.
        body = yaml.safe_dump(spec, sort_keys=False)
    said = f"#\n# Refused: {one_line(trouble)}\n#\n" if trouble else ""
    return _HEAD.format(what=what) + said + body


def spec_of(text: str) -> dict[str, Any] | None:
    """The spec in an edited text; None where nothing is left of it.

    Raises:
        UsageError: It is not YAML, or no mapping.
    """
    found, *more = documents(text, "the edit") or [None]
    if more:
        raise UsageError("the edit holds several documents", "leave out the lines `---`")
    if found is None:
        return None
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        raise UsageError("a spec is a mapping of fields", "write `field: value` lines")
    return found


def difference(before: Any, after: Any) -> Any:
    """The merge patch that makes one mapping of another; empty where they are equal.

    >>> difference({"a": 1, "b": {"c": 1, "d": 2}}, {"a": 1, "b": {"c": 3}})
    {'b': {'c': 3, 'd': None}}
    """
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    changed = {
        key: difference(before.get(key), value)
        for key, value in after.items()
        if key not in before or before[key] != value
    }
    return changed | {key: None for key in before if key not in after}


def _bare(text: str) -> str:
    """A text without the comments at its top: ours, and why it was refused before."""
    lines = text.splitlines(keepends=True)
    while lines and lines[0].startswith("#"):
        del lines[0]
    return "".join(lines)
