"""Which checkout a folder is in: its remote, branch and commits, and the image that fits them.

Two commits matter beside HEAD. The merge base with the project's main branch is what images were
built of. The base is what a capsule builds on: the newest commit that others have, so that a mirror
has it too. It is HEAD if that was pushed, else the merge base; then unpushed commits travel as
changes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from devctl.client.checkout.repository import Repository
from devctl.client.checkout.vllm import IMAGE, image_of, is_vllm
from devctl.errors import UsageError
from devctl.text import readable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_BRANCHES = ("main", "master", "HEAD")
_LOGIN = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)(://)([^/]*)@")
_WEB = {"http", "https", "ftp", "ftps"}


@dataclass(frozen=True)
class Options:
    """What the user or an administrator may choose."""

    main: str = ""
    """The project's main branch, as REMOTE/BRANCH; found by its usual names if empty."""
    image: str = ""
    """The pattern of images, for any checkout; if empty, vLLM's for checkouts of vLLM."""


@dataclass(frozen=True)
class Checkout:
    """A checkout; what it does not have is empty. URLs are without logins."""

    root: Path
    remote: str
    branch: str
    commit: str
    main: str
    """The main branch that the merge base is with, as REMOTE/BRANCH."""
    merge_base: str
    base: str
    base_remote: str
    """Where the base can be fetched from."""
    unpushed: int
    """Commits since the base."""
    is_vllm: bool
    image: str


class _Found(NamedTuple):
    commit: str = ""
    remote: str = ""


def detect(folder: Path, options: Options | None = None) -> Checkout:
    """The checkout that a folder is in.

    Raises:
        UsageError: It is in none, it has no commits, or an option does not fit it.
        HostError: There is no git.
    """
    options = options or Options()
    root = Repository(folder).root()
    repository = Repository(root)
    commit = repository.text("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if not commit:
        raise UsageError(f"`{readable(str(root))}` has no commits yet", "commit, and push")
    remotes = repository.text("remote").splitlines()
    branch = repository.text("symbolic-ref", "--quiet", "--short", "HEAD")
    own = _own_remote(repository, branch, remotes)
    main_remote, main, ref = _main(repository, remotes, options.main)
    merge_base = repository.text("merge-base", commit, ref) if ref else ""
    base = _pushed(repository, commit, remotes, [own, main_remote])
    if not base.commit and merge_base:
        base = _Found(merge_base, main_remote)
    vllm = is_vllm(root)
    pattern = options.image or (IMAGE if vllm else "")
    since = f"{base.commit}..{commit}"
    return Checkout(
        root=root,
        remote=_url(repository, own),
        branch=branch,
        commit=commit,
        main=main,
        merge_base=merge_base,
        base=base.commit,
        base_remote=_url(repository, base.remote),
        unpushed=int(repository.text("rev-list", "--count", since) or 0) if base.commit else 0,
        is_vllm=vllm,
        image=image_of(merge_base, pattern) if pattern and merge_base else "",
    )


def without_login(url: str) -> str:
    """A URL that can be shown and stored; SSH needs a user's name, but no password.

    >>> without_login("https://me:token@example.org/x.git"), without_login("ssh://git:pw@host/x")
    ('https://example.org/x.git', 'ssh://git@host/x')
    """
    found = _LOGIN.match(url)
    if not found:
        return url
    user = "" if found[1].lower() in _WEB else found[3].partition(":")[0] + "@"
    return f"{found[1]}{found[2]}{user}{url[found.end() :]}"


def _url(repository: Repository, remote: str) -> str:
    return without_login(repository.text("remote", "get-url", remote)) if remote else ""


def _own_remote(repository: Repository, branch: str, remotes: Sequence[str]) -> str:
    """The remote of the branch's upstream, else `origin`."""
    known = ""
    if branch:
        place = f"refs/heads/{branch}"
        known = repository.text("for-each-ref", "--format=%(upstream:remotename)", place)
    return known if known in remotes else _first(remotes, "origin")


def _main(repository: Repository, remotes: Sequence[str], chosen: str) -> tuple[str, str, str]:
    """The remote of the main branch, the branch as REMOTE/BRANCH, and its ref; "" if unknown."""
    if chosen:
        remote = _remote_of(chosen, remotes)
        ref = f"refs/remotes/{chosen}"
        if not remote or not _exists(repository, ref):
            raise UsageError(
                f"there is no branch `{readable(chosen)}` here",
                "name it as REMOTE/BRANCH, and fetch it with `git fetch`",
            )
        return remote, chosen, ref
    remote = _first(remotes, "upstream", "origin")
    for branch in _BRANCHES if remote else ():
        ref = f"refs/remotes/{remote}/{branch}"
        if _exists(repository, ref):
            full = repository.text("rev-parse", "--abbrev-ref", ref) if branch == "HEAD" else ""
            return remote, full or f"{remote}/{branch}", ref
    return remote, "", ""


def _pushed(
    repository: Repository, commit: str, remotes: Sequence[str], liked: Sequence[str]
) -> _Found:
    """The commit and a remote that has it, as far as is known here; nothing if none does."""
    refs = repository.text(
        "for-each-ref", "--contains", commit, "--format=%(refname:lstrip=2)", "refs/remotes"
    )
    having = {_remote_of(ref, remotes) for ref in refs.splitlines()} - {""}
    remote = next((each for each in (*liked, *remotes) if each in having), "")
    return _Found(commit, remote) if remote else _Found()


def _remote_of(ref: str, remotes: Sequence[str]) -> str:
    """The remote of a REMOTE/BRANCH: both may have slashes in their names."""
    fitting = [each for each in remotes if ref.startswith(f"{each}/")]
    return max(fitting, key=len, default="")


def _first(remotes: Sequence[str], *names: str) -> str:
    return next((name for name in names if name in remotes), "")


def _exists(repository: Repository, ref: str) -> bool:
    return repository.find("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}") is not None


def no_base(checkout: Checkout) -> UsageError:
    """The error for a checkout that shares no commit with a remote."""
    shallow = Repository(checkout.root).text("rev-parse", "--is-shallow-repository") == "true"
    where = readable(str(checkout.root))
    return UsageError(
        f"`{where}` has no commit that a remote has, as far as is known here",
        "complete its history with `git fetch --unshallow`, or push HEAD"
        if shallow
        else "push HEAD, or fetch the main branch of its project with `git fetch`",
    )
