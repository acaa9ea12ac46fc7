"""Kubernetes' dialect of JSONPath, as `kubectl -o jsonpath=` has it; see docs/decisions/0021."""

from __future__ import annotations

import json
import operator
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from devctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Step = Callable[[Any], "list[Any]"]

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


class _Node(NamedTuple):
    """A part of a template: text, a path whose values are printed, or a range over them."""

    text: str = ""
    path: Sequence[Step] | None = None
    inside: Sequence[_Node] | None = None


class Template:
    r"""A template such as `{range .items[*]}{.metadata.name}{"\n"}{end}`.

    >>> Template("{.items[*].name}").render({"items": [{"name": "a"}, {"name": "b"}]})
    'a b'
    """

    def __init__(self, text: str) -> None:
        """Read it.

        Raises:
            UsageError: It is not one, or uses what kubectl does not know either.
        """
        self._nodes = _template(text)

    def render(self, document: Any, escape: Callable[[str], str] = str) -> str:
        """What it makes of a document; a missing field is empty.

        Args:
            document: What the paths lead into.
            escape: Makes the document's own words fit to be shown.

        Raises:
            UsageError: A path does not fit the document: an index is too large, for one.
        """
        return "".join(_rendered(self._nodes, document, escape))


def values(path: str) -> Callable[[Any], list[Any]]:
    """What finds the values at a path, which may stand without braces: `.metadata.name`.

    Raises:
        UsageError: It is not one.
    """
    text = path[1:-1] if path.startswith("{") and path.endswith("}") else path
    steps = _path(text if text.startswith((".", "[", "$", "@")) else f".{text}")
    return lambda document: _walk([document], steps)


def _rendered(nodes: Sequence[_Node], at: Any, escape: Callable[[str], str]) -> Iterator[str]:
    for node in nodes:
        found = [] if node.path is None else _walk([at], node.path)
        if node.inside is not None:
            for value in found:
                yield from _rendered(node.inside, value, escape)
        else:
            yield node.text + " ".join(escape(_printed(value)) for value in found)


def _printed(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _template(text: str) -> list[_Node]:
    open_: list[tuple[Sequence[Step], list[_Node]]] = []
    nodes: list[_Node] = []
    at = 0
    while at < len(text):
        match = _ACTION.match(text, at)
        if match is None:
            if text[at] == "{":
                raise _wrong(text[at:], "a `{` that nothing closes, or one inside another")
            end = text.find("{", at)
            end = len(text) if end < 0 else end
            nodes.append(_Node(text=text[at:end]))
            at = end
            continue
        at, action = match.end(), match[1].strip()
        if _STRING.fullmatch(action):
            nodes.append(_Node(text=_unquoted(action)))
        elif action.startswith("range "):
            open_.append((_path(action.removeprefix("range ").strip()), nodes))
            nodes = []
        elif action == "end":
            if not open_:
                raise _wrong(text, "an `{end}` without its `{range}`")
            path, outer = open_.pop()
            outer.append(_Node(path=path, inside=nodes))
            nodes = outer
        else:
            nodes.append(_Node(path=_path(action)))
    if open_:
        raise _wrong(text, "a `{range}` without its `{end}`")
    return nodes


def _path(text: str) -> list[Step]:
    steps: list[Step] = []
    at = 1 if text.startswith(("$", "@")) else 0
    if text[at:] == ".":
        return steps
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
    return steps


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
        # As kubectl reads it: what is quoted is a path, so that a dot in a key is `\.` there, too.
        steps = _path(f".{item[1:-1]}")
        return lambda value: _walk([value], steps)
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
        steps = _path(text)
        return lambda value: _walk([value], steps)
    if _STRING.fullmatch(text):
        constant: Any = _unquoted(text)
    else:
        try:
            constant = json.loads(text)
        except ValueError:
            raise _wrong(whole, f"`{text}`") from None
    return lambda _value: [constant]


def _walk(found: list[Any], steps: Sequence[Step]) -> list[Any]:
    for step in steps:
        found = [each for value in found for each in step(value)]
    return found


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
        raise _wrong(whole, "brackets behind what is not a list")
    return value


def _within(index: int, value: list[Any], whole: str) -> int:
    if not -len(value) <= index < len(value):
        raise _wrong(whole, f"index {index} of a list of {len(value)}")
    return index


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text[1:-1])


def _wrong(text: str, what: str) -> UsageError:
    return UsageError(f"jsonpath `{text}` cannot be used: {what}", _SEE)
