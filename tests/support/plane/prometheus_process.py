"""Prometheus beside a plane, which scrapes its operator, runner and observer."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

from support.plane.parts import OBSERVER_PORT, RUNNER_PORT
from support.plane.process import Process
from support.prometheus import Prometheus
from support.prometheus_programs import find_program

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

_PORT, _OPERATOR_PORT = 9090, 8443
_RULES = REPOSITORY / "config/monitoring/rules/rules.yaml"


class PrometheusProcess(Process):
    """Prometheus with the rules of config/monitoring, every second.

    Args:
        token: Of an account that may read the operator's metrics.
        folder: For its files, which exists.
    """

    def __init__(self, token: str, folder: Path) -> None:
        """Write what it reads, and start nothing yet."""
        config = folder / "prometheus.yaml"
        config.write_text(json.dumps(_config(token)))
        options = [
            f"--config.file={config}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{_PORT}",
        ]
        super().__init__([find_program("prometheus"), *options], folder / "prometheus.log")

    def start(self) -> None:
        """Start it and wait until it answers."""
        super().start()
        self.await_so(_is_ready, "it is ready")

    @property
    def api(self) -> Prometheus:
        """What it knows."""
        return Prometheus(lambda path: _get(f"api/v1/{path}"))


def _config(token: str) -> dict[str, Any]:
    return {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(_RULES)],
        "scrape_configs": [
            {"job_name": "devctl-observer", "honor_labels": True, **_at(OBSERVER_PORT)},
            {"job_name": "devctl-runner", **_at(RUNNER_PORT)},
            {
                "job_name": "devctl-operator",
                "scheme": "https",
                "tls_config": {"insecure_skip_verify": True},
                "authorization": {"credentials": token},
                **_at(_OPERATOR_PORT),
            },
        ],
    }


def _at(port: int) -> dict[str, Any]:
    return {"static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}


def _is_ready() -> bool:
    try:
        _get("-/ready")
    except (urllib.error.URLError, OSError):
        return False
    return True


def _get(path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{_PORT}/{path}", timeout=10) as answer:
        text: str = answer.read().decode()
        return text
