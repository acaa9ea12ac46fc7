"""The files that client and daemon share, and settings. Imports next to nothing."""

import os

MESSAGE_BYTES = 1 << 18
"""The longest message; most of it is the client's environment."""

ACCEPTED = b"accepted"
"""The daemon has accepted a run; its final reply follows."""


def folder() -> str:
    """The folder of the daemon's socket, private to the operator's user."""
    return os.environ.get("DEVCTL_RUNNER_DIR", "/tmp/devctl-runner")  # noqa: S108 - 0700, see daemon


def socket_path() -> str:
    """Where the daemon accepts runs."""
    return f"{folder()}/socket"


def lock_path() -> str:
    """Locked by the daemon as long as it lives."""
    return f"{folder()}/lock"


def fallbacks_path() -> str:
    """One line for each run that went to the stock runner: the reason."""
    return f"{folder()}/fallbacks"


def enabled() -> bool:
    """Whether runs go to the daemon at all."""
    return max_runs() > 0


def max_runs() -> int:
    """Maximum number of concurrent runs of all kinds; 0 leaves them all to the stock runner."""
    return int(os.environ.get("DEVCTL_RUNNER_MAX_RUNS") or 4)


def timeout() -> float:
    """Seconds after which a run is killed."""
    return float(os.environ.get("DEVCTL_RUNNER_TIMEOUT") or 300)


def metrics_port() -> int:
    """The port of the metrics; 0 for none."""
    return int(os.environ.get("DEVCTL_RUNNER_METRICS_PORT") or 8082)


def watches() -> str:
    """The operator's watches.yaml, which names the roles to warm up."""
    return os.environ.get("DEVCTL_RUNNER_WATCHES", "watches.yaml")
