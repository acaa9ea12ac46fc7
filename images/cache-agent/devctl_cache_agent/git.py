"""Git's commands, so that neither a repository nor its server can have anything run. Pure.

Nothing of the system's or a user's settings applies; no hooks, no helpers, no submodules, no
templates; only the protocols that are allowed; objects are checked before they are taken; and a
server cannot send git on to another one.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_LOCKED_DOWN = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.askPass=false",
    "core.alternateRefsCommand=false",
    "credential.helper=",
    "protocol.allow=never",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "fetch.writeCommitGraph=false",
    # As one checked pack, however small.
    "fetch.unpackLimit=1",
    "transfer.fsckObjects=true",
    "transfer.credentialsInUrl=die",
    "transfer.bundleURI=false",
    # Old commits of well-known projects have these; no program minds them.
    "fetch.fsck.zeroPaddedFilemode=ignore",
    "fetch.fsck.badTimezone=ignore",
    "fetch.fsck.missingSpaceBeforeDate=ignore",
    "http.followRedirects=false",
    "http.lowSpeedLimit=1000",
    "http.lowSpeedTime=60",
    # Nodes have other work.
    "pack.threads=2",
    # Pods read the mirror meanwhile.
    "gc.auto=0",
    "maintenance.auto=false",
    "safe.directory=*",
)
_KEPT = (
    "PATH",
    "https_proxy",
    "HTTPS_PROXY",
    "http_proxy",
    "no_proxy",
    "NO_PROXY",
    "GIT_SSL_CAINFO",
)
PROTOCOLS = frozenset({"https", "ssh", "http", "git", "file"})
"""Those that a setting may allow; `https` and `ssh` by default. `file` is for tests."""
_UNREACHED = "fatal: Could not read from remote repository."
_PERCENT = re.compile(rb"(Receiving objects|Resolving deltas):\s+(\d{1,3})%")
_SYMREF = re.compile(r"ref: refs/heads/([A-Za-z0-9_][A-Za-z0-9._/+@#-]{0,254})\tHEAD")
COMMITS = "refs/devctl/commits"
"""Commits that the plan names, so that they are kept."""


class Ssh(NamedTuple):
    """How private repositories are reached."""

    key: str
    known_hosts: str
    """A file with the hosts that are believed; others are not."""


def environment(
    base: Mapping[str, str], home: str, protocols: Sequence[str], ssh: Ssh | None
) -> dict[str, str]:
    """The whole environment of a git command."""
    return {name: base[name] for name in _KEPT if name in base} | {
        "HOME": home,
        "LC_ALL": "C",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": ":".join(protocols),
        "GIT_PROTOCOL_FROM_USER": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_SSH_VARIANT": "ssh",
        # Git hands it to a shell: every word of it is the agent's own.
        "GIT_SSH_COMMAND": shlex.join(_ssh(ssh)) if ssh else "false",
    }


def _ssh(ssh: Ssh) -> list[str]:
    options = {
        "BatchMode": "yes",
        "ConnectTimeout": "20",
        "ForwardAgent": "no",
        "GlobalKnownHostsFile": "/dev/null",
        "IdentitiesOnly": "yes",
        "IdentityAgent": "none",
        "IdentityFile": ssh.key,
        "PermitLocalCommand": "no",
        "ProxyCommand": "none",
        "ServerAliveInterval": "30",
        "StrictHostKeyChecking": "yes",
        "UserKnownHostsFile": ssh.known_hosts,
    }
    return ["ssh", "-F", "/dev/null", *(f"-o{name}={value}" for name, value in options.items())]


def command(folder: Path, *arguments: str, most_bytes: int | None = None) -> list[str]:
    """A git command on a bare repository; no file that it writes is larger than so many bytes."""
    settings = [word for setting in _LOCKED_DOWN for word in ("-c", setting)]
    # The allow list of the environment takes precedence over protocol.allow.
    git = ["git", "--no-pager", *settings, f"--git-dir={folder}", *arguments]
    return git if most_bytes is None else ["prlimit", f"--fsize={most_bytes}", *git]


def init(folder: Path) -> list[str]:
    """Make an empty repository, without the hooks of a template."""
    return command(folder, "init", "--quiet", "--bare", "--template=", "--initial-branch=main")


def fetch(folder: Path, url: str, refspecs: Sequence[str], most_bytes: int) -> list[str]:
    """Fetch these refs, and nothing that follows from them."""
    narrow = ("--no-tags", "--no-recurse-submodules", "--no-write-fetch-head")
    options = (*narrow, "--no-auto-maintenance", "--force", "--progress")
    return command(folder, "fetch", *options, "--", url, *refspecs, most_bytes=most_bytes)


def ask_default(folder: Path, url: str) -> list[str]:
    """Ask which branch is the repository's default."""
    return command(folder, "ls-remote", "--symref", "--", url, "HEAD")


def default_branch(answer: str) -> str | None:
    r"""The branch that a server calls its default.

    >>> default_branch("ref: refs/heads/main\tHEAD\n0123\tHEAD\n")
    'main'
    """
    return next(
        (found[1] for line in answer.splitlines() if (found := _SYMREF.fullmatch(line))), None
    )


def percent(said: bytes) -> int | None:
    r"""How far a fetch is, by what it said last; the deltas are the last tenth.

    >>> percent(b"Receiving objects:  50% (1/2)\rReceiving objects: 100% (2/2)\r")
    90
    """
    found = _PERCENT.findall(said)
    if not found:
        return None
    what, number = found[-1]
    done = min(100, int(number))
    return done * 9 // 10 if what == b"Receiving objects" else 90 + done // 10


def reason(said: bytes) -> str:
    r"""Why git failed, without the progress; of ssh, its last word before git's.

    >>> reason(b"Receiving: 1%\rfatal: bad object\n")
    'bad object'
    >>> reason(b"Host key verification failed.\nfatal: Could not read from remote repository.\n")
    'Host key verification failed.'
    """
    split = re.split(r"[\r\n]+", said.decode("utf-8", "replace"))
    lines = [line for each in split if (line := each.strip())]
    if _UNREACHED in lines[1:]:
        return lines[lines.index(_UNREACHED) - 1]
    told = [each for each in lines if each.startswith(("fatal: ", "error: ", "remote: error"))]
    found = (told or lines or ["it said nothing"])[0]
    return found.removeprefix("fatal: ").removeprefix("error: ")


def is_ssh(url: str) -> bool:
    """Whether git reaches a URL by ssh.

    >>> is_ssh("git@github.com:a/b.git"), is_ssh("https://github.com/a/b")
    (True, False)
    """
    return url.startswith("ssh://") or ("://" not in url and "::" not in url)


def rewritten(url: str, mirrors: Mapping[str, str]) -> str:
    """Where to fetch from instead, by the longest prefix.

    >>> rewritten("https://github.com/a/b", {"https://github.com/": "http://git.local/"})
    'http://git.local/a/b'
    """
    prefix = max((each for each in mirrors if url.startswith(each)), key=len, default=None)
    return url if prefix is None else mirrors[prefix] + url[len(prefix) :]
