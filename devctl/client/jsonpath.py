"""Kubernetes' dialect of JSONPath, as `kubectl -o jsonpath=` has it; see docs/decisions/0021."""

from __future__ import annotations

import json
import operator
import re
from typing import TYPE_CHECKING, Any

from devctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Step = Callable[[Any], list[Any]]
    Part = Callable[[Any, Callable[[str], str]], str]
    """Renders a part of a template for a value, given how to escape its words."""

_SEE = "see https://kubernetes.io/docs/reference/kubectl/jsonpath, and quote it for the shell"
_NAME = re.compile(r"(?:\\.|[^.,\[\]$@{}\s\\])+", re.DOTALL)
_STRING = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\"""")
_ACTION = re.compile(rf"\{{((?:{_STRING.pattern}|[^'\"{{}}])*)\}}")
_BRACKETS = re.compile(rf"\[((?:{_STRING.pattern}|[^'\"\[\]]|\[[^\[\]]*\])*)\]")
_ITEM = re.compile(rf"(?:{_STRING.pattern}|[^'\",])+")
_SLICE = re.compile(r"(-?\d*):(-?\d*)(?::(-?\d*))?")
_CONDITION = re.compile(rf"((?:{_STRING.pattern}|[^'\"!<>=])+?)\s*(==|!=|<=|>=|<|>)\s*(.+)")
_SIGN = re.compile(r"[=!<>~&|]")
_COMPARE = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def template(text: str) -> Part:
    r"""Renders a template such as `{range .items[*]}{.metadata.name}{"\n"}{end}` for a document.

    Raises UsageError for what kubectl does not support either; so does the result if a path does
    not fit the document.

    >>> template("{.items[*].name}")({"items": [{"name": "a"}, {"name": "b"}]}, str)
    'a b'
    """
    open_: list[tuple[Step, list[Part]]] = []
    parts: list[Part] = []
    for number, piece in enumerate(_ACTION.split(text)):
        action = piece.strip()
        if number % 2 == 0:
            if "{" in piece:
                raise _wrong(text, "a `{` that is not closed, or one inside another")
            parts.append(_constant(piece))
        elif _STRING.fullmatch(action):
            parts.append(_constant(_unquoted(action)))
        elif action.startswith("range "):
            open_.append((_path(action.removeprefix("range ").strip()), parts))
            parts = []
        elif action == "end":
            if not open_:
                raise _wrong(text, "an `{end}` without its `{range}`")
            path, outer = open_.pop()
            outer.append(_range(path, _joined(parts)))
            parts = outer
        else:
            parts.append(_values(_path(action)))
    if open_:
        raise _wrong(text, "a `{range}` without its `{end}`")
    return _joined(parts)


def values(path: str) -> Callable[[Any], list[Any]]:
    """Finds the values at a path such as `.metadata.name`; raises UsageError if it is invalid."""
    text = path[1:-1] if path.startswith("{") and path.endswith("}") else path
    return _path(text if text.startswith((".", "[", "$", "@")) else f".{text}")


def _constant(text: str) -> Part:
    return lambda _at, _escape: text


def _values(path: Step) -> Part:
    return lambda at, escape: " ".join(escape(_printed(each)) for each in path(at))


def _range(path: Step, inside: Part) -> Part:
    return lambda at, escape: "".join(inside(each, escape) for each in path(at))


def _joined(parts: Sequence[Part]) -> Part:
    return lambda at, escape: "".join(part(at, escape) for part in parts)


def _printed(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _path(text: str) -> Step:
    steps: list[Step] = []
    root = 1 if text.startswith(("$", "@")) else 0
    at = len(text) if text[root:] == "." else root
    while at < len(text):
        if match := _BRACKETS.match(text, at):
            steps.append(_brackets(match[1].strip(), text))
        elif text.startswith("..", at) and (match := _NAME.match(text, at + 2)):
            steps += [_descend, _named(match[0])]
        elif text.startswith(".", at) and (match := _NAME.match(text, at + 1)):
            steps.append(_named(match[0]))
        else:
            raise _wrong(text, f"`{text[at:]}`")
        at = match.end()

    def walk(value: Any) -> list[Any]:
        found = [value]
        for step in steps:
            found = [each for one in found for each in step(one)]
        return found

    return walk


def _brackets(inside: str, whole: str) -> Step:
    if inside.startswith("?(") and inside.endswith(")"):
        return _filter(inside[2:-1].strip(), whole)
    parts = [_part(item.strip(), whole) for item in _ITEM.findall(inside)]
    if not parts:
        raise _wrong(whole, "`[]`")
    return lambda value: [found for part in parts for found in part(value)]


def _part(item: str, whole: str) -> Step:
    if item == "*":
        return _children
    if item[:1] == "'" and _STRING.fullmatch(item):
        # Like kubectl, which takes a quoted key as a path, so that a dot in it is `\.` as well.
        return _path(f".{item[1:-1]}")
    if re.fullmatch(r"-?\d+", item):
        return lambda value: [_list(value, whole)[_within(int(item), value, whole)]]
    if match := _SLICE.fullmatch(item):
        cut = slice(*(int(number) if number else None for number in match.groups()))
        if cut.step is not None and cut.step < 1:
            raise _wrong(whole, "a step below 1")
        return lambda value: _list(value, whole)[cut]
    raise _wrong(whole, f"`[{item}]`")


def _filter(text: str, whole: str) -> Step:
    match = _CONDITION.fullmatch(text)
    if match is None:
        wanted = _operand(text, whole)
        return lambda value: [each for each in _list(value, whole) if wanted(each)]
    left, sign, right = _operand(match[1], whole), match[2], _operand(match[3], whole)

    def holds(each: Any) -> bool:
        found, other = left(each), right(each)
        if not found or not other:
            return False
        try:
            return bool(_COMPARE[sign](found[0], other[0]))
        except TypeError:
            raise _wrong(whole, f"{_printed(found[0])} {sign} {_printed(other[0])}") from None

    return lambda value: [each for each in _list(value, whole) if holds(each)]


def _operand(text: str, whole: str) -> Step:
    text = text.strip()
    if text.startswith(("@", "$")):
        if _SIGN.search(_STRING.sub("", text)):
            raise _wrong(whole, f"`{text}`")
        return _path(text)
    if _STRING.fullmatch(text):
        constant: Any = _unquoted(text)
    else:
        try:
            constant = json.loads(text)
        except ValueError:
            raise _wrong(whole, f"`{text}`") from None
    return lambda _value: [constant]


def _named(name: str) -> Step:
    if name == "*":
        return _children
    key = re.sub(r"(?s)\\(.)", r"\1", name)
    return lambda value: [value[key]] if isinstance(value, dict) and key in value else []


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, list) else []


def _descend(value: Any) -> list[Any]:
    return [value, *(below for child in _children(value) for below in _descend(child))]


def _list(value: Any, whole: str) -> list[Any]:
    if not isinstance(value, list):
        raise _wrong(whole, "brackets after something that is not a list")
    return value


def _within(index: int, value: list[Any], whole: str) -> int:
    if not -len(value) <= index < len(value):
        raise _wrong(whole, f"index {index} of a list of {len(value)}")
    return index


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text[1:-1])


def _wrong(text: str, what: str) -> UsageError:
    return UsageError(f"jsonpath `{text}` cannot be used: {what}", _SEE)
