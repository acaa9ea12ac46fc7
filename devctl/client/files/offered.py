"""What a pod offers, and what of it may come here: the one door for `cp`, `sync` and artifacts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from devctl.client.files.dotgit import (
    FIX,
    Withheld,
    bare_repositories,
    folded,
    refuse_repository,
    within_git,
)
from devctl.client.files.names import check_name, readable, unshowable
from devctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class Offered(NamedTuple):
    """What may come.

    Attributes:
        names: Which names.
        left_out: Those that nobody could be shown, each with why.
        git: What stays there, as it is part of git repositories.
    """

    names: list[str]
    left_out: list[str]
    git: Withheld


def offered(names: Iterable[str], top: Path) -> Offered:
    """What of a pod's names may come.

    Args:
        names: Files, links and folders of the pod, as it tells of them.
        top: The folder here that they are for.

    Raises:
        DevctlError: One of them leads out of the folder, or is none.
        UsageError: The folder itself is a git repository, or would be one.
    """
    refuse_repository(top)
    showable: list[str] = []
    left_out: list[str] = []
    within: dict[str, str] = {}
    for name in names:
        if repository := within_git(name):
            within[name] = repository
        elif why := unshowable(name):
            left_out.append(f"`{readable(name)}`: its name {why}")
        else:
            check_name(name)
            showable.append(name)
    bare = bare_repositories(showable, top)
    if "" in bare:
        raise UsageError(
            f"`{readable(str(top))}` would be a git repository of a pod's here, and run programs:"
            " nothing was taken",
            f"{FIX}, or choose another folder",
        )
    if bare:
        within |= {name: found for name in showable if (found := _inside(name, bare))}
    # Of a folder that is named as well as what is in it, only the latter counts.
    filled = {name.rpartition("/")[0] for name in within}
    git = Withheld(len(within.keys() - filled), tuple(sorted(set(within.values()))))
    return Offered([name for name in showable if name not in within], left_out, git)


def _inside(name: str, bare: set[str]) -> str:
    """The bare repository that a name is in or that it is; empty where there is none."""
    ends = [at for at, letter in enumerate(name) if letter == "/"]
    return next((name[:end] for end in (*ends, len(name)) if folded(name[:end]) in bare), "")
