"""The labels of a model's outputs, and how its images are preprocessed."""

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
    """The content of a labels file."""

    names: tuple[str, ...]
    """One per output of the model, in order. Not unique: ImageNet has two classes `crane`."""
    preprocess: Preprocess


def parse(data: bytes, path: str) -> Labels:
    """Read a labels file: a list of names, or an object that also has `preprocess`.

    Raises:
        Failure: It is anything else.
    """
    try:
        found = json.loads(data, object_pairs_hook=_once, parse_constant=_refuse)
        return _labels(found)
    # A million brackets make the decoder hit the recursion limit.
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise Failure(Reason.WEIGHTS_INVALID, f"{path} is not a labels file: {why}") from error


def _labels(found: object) -> Labels:
    if isinstance(found, list):
        return Labels(_names(found), preprocess.IMAGENET)
    if not isinstance(found, dict):
        raise ValueError("neither a list nor an object")  # noqa: TRY004 - one kind for all
    if found.keys() != {"labels", "preprocess"}:
        raise ValueError("an object must have exactly the keys `labels` and `preprocess`")
    return Labels(_names(found["labels"]), preprocess.parse(found["preprocess"]))


def _names(found: object) -> tuple[str, ...]:
    if not isinstance(found, list) or not 1 <= len(found) <= _MAX_LABELS:
        raise ValueError(f"labels must be a list of 1 to {_MAX_LABELS} names")
    for number, name in enumerate(found):
        if not _is_name(name):
            raise ValueError(f"label {number} is not a string of 1 to {_MAX_CHARACTERS} characters")
    return tuple(found)


def _is_name(found: object) -> bool:
    return (
        isinstance(found, str)
        and 1 <= len(found) <= _MAX_CHARACTERS
        # No control characters, and no lone surrogates, which UTF-8 cannot encode.
        and not any(unicodedata.category(char) in {"Cc", "Cs"} for char in found)
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate key")
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"`{constant}` is not JSON")
