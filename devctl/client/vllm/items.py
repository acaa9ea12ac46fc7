"""The items of a CachePlan: how they are made, found and changed. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from devctl.errors import AlreadyExistsError, NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TYPES = {"image": "image", "gitrepo": "gitRepo", "model": "model"}
"""The types as people may write them, and as the kind does."""
_MAIN = {"image": "ref", "gitRepo": "url", "model": "repoId"}
"""The field of each type that says what it is."""
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?", re.ASCII)
_REF = re.compile(r"(?:.*/)?(?P<name>[^/:@]+)(?::(?P<tag>[^:@/]+))?(?:@.*)?")
_URL_END = re.compile(r"[/:]+([^/:]+?)(?:\.git)?/*$")


@dataclass(frozen=True)
class Item:
    """An item; `raw` is the item as the plan has it."""

    raw: Mapping[str, Any]

    @property
    def type(self) -> str:
        """`image`, `gitRepo` or `model`."""
        return str(self.raw.get("type", ""))

    @property
    def name(self) -> str:
        """By which runs name it; unique for its type."""
        return str(self.raw.get("name", ""))

    @property
    def what(self) -> str:
        """The reference of an image, the URL of a repository, the name of a model."""
        return str(self._own.get(_MAIN.get(self.type, ""), ""))

    @property
    def branch(self) -> str:
        """The branch of a repository; empty for its own."""
        return str(self._own.get("branch") or "")

    @property
    def commit(self) -> str:
        """A commit that a repository is to have as well; empty for none."""
        return str(self._own.get("commit") or "")

    @property
    def version(self) -> str:
        """Its branch, commit or revision; empty for the usual one."""
        own = self._own
        parts = [own.get("branch"), own.get("commit"), own.get("revision")]
        return " ".join(str(part) for part in parts if part)

    @property
    def nodes(self) -> str:
        """The labels of the nodes that are to have it; empty for all."""
        labels = self.raw.get("nodeSelector") or {}
        return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))

    @property
    def _own(self) -> Mapping[str, Any]:
        return self.raw.get(self.type) or {}


def image_name(ref: str) -> str:
    """The name of an image that is given none: the last part of its reference, and the tag.

    >>> image_name("public.ecr.aws/q9t5s3a7/vllm:latest"), image_name("a:5000/nginx@sha256:0")
    ('vllm-latest', 'nginx')
    """
    found = _REF.fullmatch(ref)
    return "-".join(filter(None, [found["name"], found["tag"]])) if found else ""


def repo_name(url: str) -> str:
    """The name of a repository that is given none.

    >>> repo_name("https://github.com/vllm-project/vllm.git"), repo_name("git@host:me/x")
    ('vllm', 'x')
    """
    found = _URL_END.search(url)
    return found[1] if found else ""


def model_name(repo_id: str) -> str:
    """The name of a model that is given none.

    >>> model_name("facebook/opt-125m")
    'opt-125m'
    """
    return repo_id.rpartition("/")[2]


def new_item(
    kind: str, name: str, own: Mapping[str, str | None], nodes: Mapping[str, str] | None = None
) -> Item:
    """An item for all nodes, or for those with some labels; fields that are None are left out.

    Raises:
        UsageError: It can have no such name.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"`{name}` cannot be an item's name", "give it one of letters and digits with --name"
        )
    scope = {"scope": "nodeSelector", "nodeSelector": dict(nodes)} if nodes else {}
    fields = {key: value for key, value in own.items() if value is not None}
    return Item({"type": kind, "name": name, "scope": "allNodes", **scope, kind: fields})


def find_item(items: Sequence[Item], word: str) -> Item:
    """The item of a NAME, or of TYPE/NAME.

    Raises:
        NotFoundError: There is none.
        UsageError: There are several, or the type does not exist.
    """
    before, slash, after = word.partition("/")
    kind = TYPES.get(before.lower()) if slash else ""
    if kind is None:
        raise UsageError(f"`{before}` is no type of item", f"write one of: {', '.join(TYPES)}")
    name = after if slash else word
    found = [each for each in items if each.name == name and kind in {"", each.type}]
    if not found:
        raise NotFoundError(
            f"the CachePlan has no item `{word}`", "list its items with `devctl cache plan show`"
        )
    if len(found) > 1:
        raise UsageError(
            f"several items are called `{name}`", f"write `{found[0].type.lower()}/{name}`"
        )
    return found[0]


def added(items: Sequence[Item], item: Item) -> Sequence[Item]:
    """The items with another one; as they are if they have it already.

    Raises:
        AlreadyExistsError: They have another one of its type and name.
    """
    there = next((each for each in items if _key(each) == _key(item)), None)
    if there is None:
        return [*items, item]
    if _plain(there) != _plain(item):
        raise AlreadyExistsError(
            f"there is an item `{item.name}` already: {there.what} {there.version}".rstrip(),
            "choose another --name, or change it with `devctl cache plan update`",
        )
    return items


def removed(items: Sequence[Item], word: str) -> Sequence[Item]:
    """The items without that of a NAME or TYPE/NAME."""
    gone = find_item(items, word)
    return [each for each in items if _key(each) != _key(gone)]


def updated(
    items: Sequence[Item],
    word: str,
    own: Mapping[str, str | None],
    nodes: Mapping[str, str] | None = None,
) -> Sequence[Item]:
    """The items with fields of one replaced; a field that becomes empty is left out.

    `nodes` are the labels of the nodes that are to have it: empty for all nodes, None as before.

    Raises:
        UsageError: The item is of a type without such a field.
    """
    old = find_item(items, word)
    allowed = {"image": {"ref"}, "gitRepo": {"url", "branch", "commit"}}
    wanted = {key: value for key, value in own.items() if value is not None}
    if wrong := wanted.keys() - allowed.get(old.type, {"repoId", "revision"}):
        option = {"ref": "image", "repoId": "model"}.get(min(wrong), min(wrong))
        raise UsageError(f"`{old.name}` is of type {old.type}", f"leave out --{option}")
    fields = {**(old.raw.get(old.type) or {}), **wanted}
    raw = {**old.raw, old.type: {key: value for key, value in fields.items() if value}}
    if nodes is not None:
        raw.pop("nodeSelector", None)
        raw["scope"] = "nodeSelector" if nodes else "allNodes"
        raw |= {"nodeSelector": dict(nodes)} if nodes else {}
    return [Item(raw) if _key(each) == _key(old) else each for each in items]


def _key(item: Item) -> tuple[str, str]:
    return item.type, item.name


def _plain(item: Item) -> dict[str, Any]:
    """An item without the default that the API server adds."""
    return {"scope": "allNodes", **item.raw}
