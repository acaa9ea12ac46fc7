r"""Names of files: what can be shown to a person, and what may come from a pod.

Names are text as `os.fsdecode` gives it: a byte that is not UTF-8 is a lone surrogate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from devctl.errors import DevctlError
from devctl.text import readable

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["check_name", "link_problem", "named", "readable", "unshowable"]

# C0, DEL, C1, line separators, and what turns the direction of writing around.
_CONTROLS = frozenset(
    map(
        chr,
        [
            *range(0x20),
            *range(0x7F, 0xA0),
            *range(0x2028, 0x202F),
            *range(0x2066, 0x206A),
            0x200E,
            0x200F,
            0x061C,
        ],
    )
)
_SURROGATES = frozenset(map(chr, range(0xD800, 0xE000)))
_SHOWN = 5
"""How many names a message has room for."""
_LENGTH = 255
"""The longest name of one file that file systems take, in bytes."""
_PATH_LENGTH = 4000


def named(names: Sequence[str]) -> str:
    """Names for a message, the first few of them.

    >>> named(["a", "b"]), named([*"abcdefg"])
    ('`a`, `b`', '`a`, `b`, `c`, `d`, `e` and 2 more')
    """
    shown = ", ".join(f"`{readable(name)}`" for name in names[:_SHOWN])
    rest = len(names) - _SHOWN
    return f"{shown} and {rest} more" if rest > 0 else shown


def unshowable(name: str) -> str:
    """Why a name cannot be shown to anybody; empty where it can."""
    if not _CONTROLS.isdisjoint(name):
        return "holds control characters"
    return "is not UTF-8" if not _SURROGATES.isdisjoint(name) else ""


def check_name(name: str) -> None:
    """See that a name that a pod has told stays in the folder that it is for.

    Raises:
        DevctlError: It does not, or nobody could be shown it.

    >>> check_name("a/b.txt")
    """

    def refuse(what: str) -> NoReturn:
        raise DevctlError(
            f"the pod sent {what}; nothing was taken",
            "look at what runs in it: no honest `tar` does that",
        )

    parts = name.split("/")
    if name.startswith("/") or ".." in parts:
        refuse(f"the name `{readable(name)}`, which leads out of the folder")
    if why := unshowable(name):
        refuse(f"the name `{readable(name)}`, which {why}")
    if not name or not {"", "."}.isdisjoint(parts):
        refuse(f"the name `{readable(name)}`, which is none")
    if len(name.encode()) > _PATH_LENGTH or any(len(part.encode()) > _LENGTH for part in parts):
        refuse(f"a name of {len(name)} letters, which is too long")


def link_problem(name: str, target: str) -> str:
    """Why a link does not stay in the folder that it is in; empty where it does.

    `..` is taken at the front only: after a name it depends on where another link leads.

    >>> link_problem("a/link", "../b"), link_problem("link", "/etc")
    ('', 'leads out of the folder')
    """
    if not target or target.startswith("/"):
        return "leads out of the folder"
    if why := unshowable(target):
        return f"leads to a name that {why}"
    parts = [part for part in target.split("/") if part not in {"", "."}]
    rest = [*parts]
    while rest and rest[0] == "..":
        rest.pop(0)
    up = len(parts) - len(rest)
    if ".." in rest:
        return "leads to a path with `..` within"
    return "leads out of the folder" if up > name.count("/") else ""
