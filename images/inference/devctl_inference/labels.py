"""What a model's outputs mean, and how its images are prepared."""

from __future__ import annotations

import json
import unicodedata
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from devctl_inference import preprocess
from devctl_inference.failure import Failure, Reason

if TYPE_CHECKING:
    from devctl_inference.preprocess import Preprocess

_MAX_LABELS = 100_000
_MAX_CHARACTERS = 256


class Labels(NamedTuple):
    """A labels file."""

    names: tuple[str, ...]
    """One for each output of the model, in its order. ImageNet has two classes `crane`."""
    preprocess: Preprocess


def parse(data: bytes, path: str) -> Labels:
    """Read a labels file: a list of names, or an object that says `preprocess`, too.

    Raises:
        Failure: It is something else.
    """
    try:
        found = json.loads(data, object_pairs_hook=_once, parse_constant=_refuse)
        return _labels(found)
    # The decoder runs into the stack's end on a million brackets.
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise Failure(Reason.WEIGHTS_INVALID, f"{path} is not a file of labels: {why}") from error


def _labels(found: object) -> Labels:
    if isinstance(found, list):
        return Labels(_names(found), preprocess.IMAGENET)
    if not isinstance(found, dict):
        raise ValueError("neither a list nor an object")  # noqa: TRY004 - one kind for all
    if found.keys() != {"labels", "preprocess"}:
        raise ValueError("an object has `labels` and `preprocess`, and nothing else")
    return Labels(_names(found["labels"]), preprocess.parse(found["preprocess"]))


def _names(found: object) -> tuple[str, ...]:
    if not isinstance(found, list) or not 1 <= len(found) <= _MAX_LABELS:
        raise ValueError(f"labels are a list of 1 to {_MAX_LABELS}")
    for number, name in enumerate(found):
        if not _is_name(name):
            raise ValueError(f"label {number} is not a text of 1 to {_MAX_CHARACTERS} characters")
    return tuple(found)


def _is_name(found: object) -> bool:
    return (
        isinstance(found, str)
        and 1 <= len(found) <= _MAX_CHARACTERS
        # No line breaks, and no halves of characters, which UTF-8 cannot write.
        and not any(unicodedata.category(char) in {"Cc", "Cs"} for char in found)
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands there twice")
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"`{constant}` is not JSON")
