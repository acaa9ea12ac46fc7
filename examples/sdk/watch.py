"""Tell of each change of phase of the servers of a namespace, for example to a chat.

usage: watch.py [SECONDS]
"""

from __future__ import annotations

import asyncio
import sys

from devctl import AsyncClient


async def main(seconds: float | None = None) -> None:
    """Print a line for each change, for so many seconds or until Ctrl-C."""
    phases: dict[str, str] = {}
    async with AsyncClient() as client, asyncio.timeout(seconds):
        async for snapshot in client.servers.snapshots():
            now = {server.name: str(server.phase) for server in snapshot.items}
            for name in sorted(phases.keys() | now.keys()):
                before, after = phases.get(name, "-"), now.get(name, "-")
                if before != after:
                    print(f"{name}: {before} -> {after}", flush=True)
            phases = now


if __name__ == "__main__":
    try:
        asyncio.run(main(*map(float, sys.argv[1:])))
    except (KeyboardInterrupt, TimeoutError):
        sys.exit(0)
