"""Report who has which servers and flavors, and what is free; for one namespace or for all.

usage: report.py [--all]
"""

from __future__ import annotations

import sys
from collections import Counter

from devctl import EVERYWHERE, Client, DeniedError


def main(*options: str) -> None:
    """Print two tables."""
    with Client() as client:
        namespace = EVERYWHERE if "--all" in options else None
        try:
            servers = list(client.servers.list(namespace))
        except DeniedError as error:
            sys.exit(f"{error.message}\n{error.fix}")
        owned = Counter((server.owner, server.flavor, str(server.phase)) for server in servers)
        for (owner, flavor, phase), count in sorted(owned.items()):
            print(f"{owner:<40} {flavor:<20} {phase:<12} {count}")
        for each in client.flavors.list():
            print(f"{each.name:<40} {each.free} of {each.total} free")


if __name__ == "__main__":
    main(*sys.argv[1:])
