"""Train a script of this machine on a server, show what it prints, and fetch the result.

usage: train.py SERVER SCRIPT RESULT [ARGUMENTS...]

RESULT is a file that the script writes into its working directory.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

from devctl import Client, Ended, Lost, Printed


def main(server: str, script: str, result: str, *arguments: str) -> int:
    """Run it, follow it, and return its exit code."""
    unfinished = defaultdict[int, bytes](bytes)
    with Client() as client:
        run = client.runs.launch(server, script, arguments)
        code = 0
        with client.runs.follow(run, end_others=True) as events:
            for event in events:
                if isinstance(event, Printed):
                    # Output arrives in any pieces.
                    text = unfinished[event.replica] + event.data
                    *lines, unfinished[event.replica] = text.split(b"\n")
                    for line in lines:
                        print(f"[{event.replica}] {line.decode(errors='replace')}")
                elif isinstance(event, Lost):
                    print(f"replica {event.replica} is gone: {event.why}")
                    code = code or 1
                elif isinstance(event, Ended):
                    code = code or event.code
        for replica, rest in sorted(unfinished.items()):
            if rest:
                print(f"[{replica}] {rest.decode(errors='replace')}")
        if not code:
            client.files.copy(f"{server}:{run.folder}/{result}", Path(result).name)
        return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
