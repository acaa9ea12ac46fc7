"""SSH without a port: how fast a session begins, scp beside `kubectl cp`, and silence.

Prints figures and asserts none. Works in a namespace of its own, which it deletes, in the cluster
of KUBECONFIG, where the operator is deployed.

usage: ssh.py IMAGE [--megabytes 100] [--rounds 3] [--silence MINUTES], with PYTHONPATH=tests
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import time

from bench.one_server import (
    DEVCTL,
    NAME,
    OneServer,
    heading,
    one_server,
    random_file,
    ssh_config,
)


def beginnings(server: OneServer, rounds: int) -> None:
    """How long one word takes, by each way."""
    ways = {
        "devctl ssh": [DEVCTL, "ssh", NAME, "--", "true"],
        "ssh": ["ssh", *ssh_config(server), f"{NAME}.devctl", "true"],
        "devctl exec": [DEVCTL, "exec", NAME, "--", "true"],
        "kubectl exec": server.kubectl("exec", f"{NAME}-0", "--", "true"),
    }
    for name, command in ways.items():
        found = [server.seconds(*command) for _ in range(rounds)]
        print(f"{name + ' … true':<22} median {statistics.median(found):6.2f} s", flush=True)


def speeds(server: OneServer, megabytes: int, rounds: int) -> None:
    """A large file by scp and by kubectl cp, one after the other in each round."""
    large = str(random_file(server.home / "large", megabytes))
    config = ssh_config(server)
    ways = {
        "scp up": ["scp", *config, large, f"{NAME}.devctl:large"],
        "kubectl cp up": server.kubectl("cp", large, f"{NAME}-0:/home/dev/large-too"),
        "scp down": ["scp", *config, f"{NAME}.devctl:large", str(server.home / "back")],
        "kubectl cp down": server.kubectl(
            "cp", f"{NAME}-0:/home/dev/large-too", str(server.home / "back-too")
        ),
    }
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, command in ways.items():
            found[name].append(megabytes / server.seconds(*command))
    for name, each in found.items():
        median = statistics.median(each)
        print(f"{name:<22} median {median:6.1f} MiB/s, min {min(each):.1f}, max {max(each):.1f}")
    for way in ("up", "down"):
        ours, theirs = (statistics.median(found[f"{by} {way}"]) for by in ("scp", "kubectl cp"))
        print(f"scp {way} is {ours / theirs:.0%} of kubectl cp", flush=True)


def silence(server: OneServer, minutes: float) -> None:
    """Whether sessions in which nothing is said for so long still answer."""
    ways = {
        "devctl ssh": [DEVCTL, "ssh", NAME, "--", "head -n 1"],
        "devctl exec": [DEVCTL, "exec", "-i", NAME, "--", "head", "-n", "1"],
    }
    sessions = {
        name: subprocess.Popen(
            command,
            env=server.variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        for name, command in ways.items()
    }
    time.sleep(minutes * 60)
    for name, session in sessions.items():
        said, _ = session.communicate(b"still here\n", timeout=60)
        words = said.decode(errors="replace").strip()
        print(f"{name} after {minutes:g} minutes of silence: code {session.returncode}, `{words}`")


def main() -> None:
    """Read the options and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("image")
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--silence", type=float, default=0, metavar="MINUTES")
    options = parser.parse_args()
    heading()
    with one_server(options.image) as server:
        beginnings(server, options.rounds)
        speeds(server, options.megabytes, options.rounds)
        if options.silence:
            silence(server, options.silence)


if __name__ == "__main__":
    main()
