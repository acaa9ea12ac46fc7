"""What the CachePlan wants of a node. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")
_REPO = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,95}(?:/[A-Za-z0-9_][A-Za-z0-9._-]{0,95})?")
_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/+@#-]{0,254}")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,511}")
_URL = re.compile(
    r"https://[A-Za-z0-9][A-Za-z0-9._~:/+-]*"
    r"|ssh://[A-Za-z0-9_][A-Za-z0-9._~:/+-]*(?:@[A-Za-z0-9][A-Za-z0-9._~:/+-]*)?"
    r"|[A-Za-z0-9_][A-Za-z0-9._-]*@[A-Za-z0-9][A-Za-z0-9.-]*:[A-Za-z0-9_~/][A-Za-z0-9._~:/+-]*"
)


class Sort(StrEnum):
    """The plan's types of items."""

    IMAGE = "image"
    MIRROR = "gitRepo"
    MODEL = "model"


@dataclass(frozen=True)
class Item:
    """One item of the plan.

    Attributes:
        name: How runs call it; unique for its sort, and safe as the name of a folder.
        source: The image's reference, the repository's URL or the model's name on the hub.
        revision: A branch or the model's revision; empty for the source's own default.
        commit: A commit to have as well.
    """

    sort: Sort
    name: str
    source: str
    revision: str = ""
    commit: str = ""


def wanted(plan: Any, labels: Mapping[str, str]) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    """The items for a node with these labels, in the plan's order, and what is wrong with others.

    The API server has checked the plan already. What becomes a path or an argument is checked
    again, since an older schema may have let it pass.
    """
    found: list[Item] = []
    wrong: list[str] = []
    seen: set[tuple[str, str]] = set()
    for each in _list(_dictionary(plan, "spec").get("items")):
        if not isinstance(each, dict) or not concerns(each, labels):
            continue
        item = _item(each)
        if item is None or (item.sort, item.name) in seen:
            wrong.append(f"item {str(each.get('name'))[:64]!r} of the CachePlan is not valid")
            continue
        seen.add((item.sort, item.name))
        found.append(item)
    return tuple(found), tuple(wrong)


def concerns(item: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether an item is for a node with these labels.

    >>> concerns({"scope": "nodeSelector", "nodeSelector": {"gpu": "a"}}, {"gpu": "a"})
    True
    """
    if item.get("scope", "allNodes") == "allNodes":
        return True
    selector = item.get("nodeSelector")
    # Without one, it would be for all nodes, which its scope denies.
    return (
        isinstance(selector, dict)
        and bool(selector)
        and all(labels.get(key) == value for key, value in selector.items())
    )


def _item(each: Mapping[str, Any]) -> Item | None:
    name, sort = each.get("name"), each.get("type")
    if not (isinstance(name, str) and _NAME.fullmatch(name)):
        return None
    match sort:
        case Sort.IMAGE:
            ref = _text(each, "image", "ref", _IMAGE)
            return Item(Sort.IMAGE, name, ref) if ref else None
        case Sort.MIRROR:
            return _mirror(each, name)
        case Sort.MODEL:
            return _model(each, name)
    return None


def _mirror(each: Mapping[str, Any], name: str) -> Item | None:
    url = _text(each, "gitRepo", "url", _URL)
    branch = _text(each, "gitRepo", "branch", _REF)
    commit = _text(each, "gitRepo", "commit", _COMMIT)
    if not url or branch is None or commit is None or not is_ref(branch):
        return None
    return Item(Sort.MIRROR, name, url, branch, commit)


def _model(each: Mapping[str, Any], name: str) -> Item | None:
    repo = _text(each, "model", "repoId", _REPO)
    revision = _text(each, "model", "revision", _REF)
    # The hub has no names with `--`, with which folders say `/`.
    if not repo or "--" in repo or revision is None or not is_ref(revision):
        return None
    return Item(Sort.MODEL, name, repo, revision or "main")


def is_ref(name: str) -> bool:
    """Whether a branch or revision is safe as part of a path; empty is.

    >>> is_ref("refs/pr/1"), is_ref("a/../../b"), is_ref("a//b")
    (True, False, False)
    """
    return not name or all(part.strip(".") for part in name.split("/"))


def _text(each: Mapping[str, Any], part: str, field: str, pattern: re.Pattern[str]) -> str | None:
    """A field; empty if it is not there, None if it is not valid."""
    value = _dictionary(each, part).get(field, "")
    return value if isinstance(value, str) and (not value or pattern.fullmatch(value)) else None


def _dictionary(value: Any, name: str) -> dict[str, Any]:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
