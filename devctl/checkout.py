"""devctl's repository, where this devctl runs from one: the local cluster is built from it."""

from __future__ import annotations

import os.path

from devctl.errors import HostError

# Not a Path: every command imports this module, and none pathlib.
REPOSITORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
"""The folder above this package; a wheel's is site-packages."""

_HAS = ("playbooks", "tools")
_NEEDED = ("ansible", "supervisor")
"""What `make` installs for the local cluster, and a wheel does not."""


def has_local_cluster() -> bool:
    """Whether `devctl local` can be here: its playbooks, tools and images are in no wheel."""
    return all(os.path.isdir(os.path.join(REPOSITORY, name)) for name in _HAS)  # noqa: PTH112, PTH118


def require_local_cluster() -> None:
    """Refuse what only a checkout has.

    Raises:
        HostError: This is an installed package, or a checkout without the packages that it needs.
    """
    from importlib.util import find_spec  # noqa: PLC0415 - as above

    if not has_local_cluster():
        raise HostError(
            "this devctl was installed as a package, which does not include the local cluster",
            "run `make up` in a clone of devctl's repository",
        )
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise HostError(
            f"the local cluster needs Python packages that are not installed: {', '.join(missing)}",
            f"run `make up` in {REPOSITORY}",
        )
