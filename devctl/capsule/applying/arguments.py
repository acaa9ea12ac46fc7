"""What the program is asked for."""

from __future__ import annotations

from typing import NamedTuple

USAGE = """usage: python3 -I PROGRAM [OPTIONS] CAPSULE SHA256 REPOSITORY TARGET
       python3 -I PROGRAM [OPTIONS] --commit COMMIT REPOSITORY TARGET
options: --package NAME, --commit COMMIT, --wait SECONDS"""


class Asked(NamedTuple):
    """A capsule with its digest, and perhaps the commit that it is to build on; or a commit."""

    repository: str
    target: str
    capsule: str = ""
    digest: str = ""
    commit: str = ""
    package: str = ""
    wait: int = 0
    """Seconds until the repository has to have the commit."""


def read(arguments: list[str]) -> Asked | None:
    """The arguments, as USAGE has them; None if they are others.

    >>> asked = read(["--commit", "1f", "/mirror", "/tree"])
    >>> asked.commit, asked.repository, asked.target
    ('1f', '/mirror', '/tree')
    """
    options = {"--package": "", "--commit": "", "--wait": "0"}
    words = list(arguments)
    while len(words) > 1 and words[0] in options:
        options[words[0]] = words[1]
        words = words[2:]
    package, commit, wait = options.values()
    is_name = package.isascii() and package.isidentifier()
    if (package and not is_name) or not (wait.isascii() and wait.isdigit()):
        return None
    if commit and len(words) == 2:  # noqa: PLR2004
        repository, target = words
        return Asked(repository, target, "", "", commit, package, int(wait))
    if len(words) == 4:  # noqa: PLR2004
        capsule, digest, repository, target = words
        return Asked(repository, target, capsule, digest, commit, package, int(wait))
    return None
