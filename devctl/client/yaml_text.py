"""YAML as people write it for Kubernetes: what looks like a date is text, as in JSON."""

from __future__ import annotations

from typing import Any

import yaml

from devctl.errors import UsageError

_TIMESTAMP = "tag:yaml.org,2002:timestamp"


class _Loader(yaml.SafeLoader):
    """What kubectl reads; JSON has no dates."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - as its base class has it
        letter: [(tag, shape) for tag, shape in known if tag != _TIMESTAMP]
        for letter, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def documents(text: str, source: str) -> list[Any]:
    """The documents in a text.

    Args:
        text: YAML, or JSON.
        source: Where it was read, for the error.

    Raises:
        UsageError: It is not YAML; with the line.
    """
    try:
        return list(yaml.load_all(text, _Loader))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        why = getattr(error, "problem", None) or str(error)
        raise UsageError(f"{source}{line} is not valid YAML: {why}", "correct it") from error
