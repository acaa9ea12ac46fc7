"""Which repository of the CachePlan a checkout builds on, and at which commit.

A node's mirror has one branch of a repository. What a checkout shares with that branch, as far as
is known here, is in the mirror for sure; everything since then travels as changes.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from devctl.client.checkout.detect import without_login
from devctl.client.checkout.repository import Repository
from devctl.client.vllm.items import repo_name
from devctl.errors import UsageError
from devctl.text import readable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from devctl.client.checkout.detect import Checkout
    from devctl.client.vllm.items import Item

_ADDRESS = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?:[^/@]*@)?(?P<host>[^/:]+|\[[^/\]]*\])"
    r"(?::(?P<port>[0-9]*))?/+(?P<path>.*)"
)
_SCP = re.compile(r"(?:[^/@:]+@)?(?P<host>[^/:@]+):(?!/)(?P<path>.+)")
_USUAL_PORTS = {"http": "80", "https": "443", "ssh": "22", "git": "9418"}
_DEFAULTS = ("HEAD", "main", "master")
"""What is taken for a repository's own branch here."""


class Built(NamedTuple):
    """A repository of the plan, and the checkout on top of a commit that its mirror has."""

    repo: str
    checkout: Checkout


class _Candidate(NamedTuple):
    ahead: int
    """Commits that the mirror may lack."""
    item: Item
    base: str


def same_place(url: str) -> str:
    """A URL in a form in which those of one repository are the same, however it is reached.

    >>> same_place("git@Host:a/b.git"), same_place("https://me:pw@host:443/a/b/")
    ('host/a/b', 'host/a/b')
    >>> same_place("ssh://git@host:2222/a/b"), same_place("/srv/b.git")
    ('host:2222/a/b', '/srv/b')
    """
    if found := _ADDRESS.fullmatch(url):
        usual = _USUAL_PORTS.get(found["scheme"].lower(), "")
        port = "" if found["port"] in {None, "", usual} else f":{found['port']}"
        return f"{found['host'].lower()}{port}/{_plain(found['path'])}"
    if found := _SCP.fullmatch(url):
        return f"{found['host'].lower()}/{_plain(found['path'])}"
    return _plain(url)


def _plain(path: str) -> str:
    return path.rstrip("/").removesuffix(".git").rstrip("/")


def built_on(checkout: Checkout, items: Iterable[Item], named: str = "") -> Built:
    """The repository whose mirror has most of a checkout, or the one of a name.

    One that was named may be reached by a URL that is not known here: then the checkout's own base
    is taken, and the pod says whether the mirror has it.

    Raises:
        UsageError: The plan has no repository of this checkout.
    """
    repositories = [item for item in items if item.type == "gitRepo" and named in {"", item.name}]
    repository = Repository(checkout.root)
    remotes = _remotes(repository)
    found = [
        candidate
        for item in repositories
        for remote in remotes.get(same_place(item.what), ())
        if (candidate := _candidate(repository, checkout, item, remote))
    ]
    if found:
        best = min(found, key=lambda each: each.ahead)
        built = replace(checkout, base=best.base, base_remote=best.item.what, unpushed=best.ahead)
        return Built(best.item.name, built)
    if named:
        return Built(named, checkout)
    raise _no_repository(checkout, repository)


def _remotes(repository: Repository) -> Mapping[str, Sequence[str]]:
    """The names of the remotes at each place."""
    found: dict[str, list[str]] = {}
    for name in repository.text("remote").splitlines():
        url = repository.text("remote", "get-url", name)
        found.setdefault(same_place(url), []).append(name)
    return found


def _candidate(
    repository: Repository, checkout: Checkout, item: Item, remote: str
) -> _Candidate | None:
    """The newest commit of a checkout that the mirror of an item has, as far as is known here."""
    branches = (item.branch,) if item.branch else _DEFAULTS
    names = [f"refs/remotes/{remote}/{branch}" for branch in branches]
    # A commit of the plan is there as well, with all that it builds on.
    for name in filter(None, (item.commit, *names)):
        base = repository.text("merge-base", checkout.commit, name)
        if base:
            ahead = repository.text("rev-list", "--count", f"{base}..{checkout.commit}")
            return _Candidate(int(ahead), item, base)
    return None


def _no_repository(checkout: Checkout, repository: Repository) -> UsageError:
    """The error for a checkout that no node has a mirror of, with the command that changes that."""
    remote, branch = _main(checkout.main, repository)
    url = without_login(repository.text("remote", "get-url", remote)) if remote else ""
    url = url or checkout.base_remote or checkout.remote
    name = "-".join(filter(None, [repo_name(url) or "NAME", branch.replace("/", "-")]))
    command = ["k8shazgpu", "cache", "add", "gitrepo", url or "URL"]
    command += [*(["--branch", branch] if branch else []), "--name", name]
    return UsageError(
        f"the CachePlan has no repository of this checkout ({readable(url) or 'it has no remote'})",
        f"an administrator adds it with `{readable(shlex.join(command))}`; or name one with"
        " --repo-name, or run the image alone with --without-changes",
    )


def _main(ref: str, repository: Repository) -> tuple[str, str]:
    """The remote of a main branch and its name there: both may have slashes."""
    remotes = repository.text("remote").splitlines()
    remote = max((each for each in remotes if ref.startswith(f"{each}/")), key=len, default="")
    return remote, ref.removeprefix(f"{remote}/") if remote else ""
