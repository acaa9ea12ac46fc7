"""Create a server, run a command in it, and delete it; its home is kept.

usage: first_server.py NAME [FLAVOR]
"""

from __future__ import annotations

import sys

from devctl import Client, WaitTimeoutError


def main(name: str, *flavor: str) -> None:
    """Create it, use it, delete it."""
    with Client() as client:
        client.servers.create(name, flavor=flavor[0] if flavor else "", home_size="1Gi", ttl="1h")
        try:
            server = client.servers.wait_ready(name, seconds=300)
            print(f"{server.name} runs on {server.replicas[0].node}")
            print(client.execute(name, ["nproc"]).stdout, end="")
        except WaitTimeoutError as error:
            print(error.message, error.fix, sep="\n")
        finally:
            client.servers.delete(name)


if __name__ == "__main__":
    main(*sys.argv[1:])
