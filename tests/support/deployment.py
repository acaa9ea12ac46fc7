"""The operator and the observer of this checkout, in the tests' cluster."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from support.commands import must

from devctl.local.deploy import PARTS
from devctl.local.paths import REPOSITORY, cache_paths
from devctl.local.status import find_kubectl

if TYPE_CHECKING:
    from devctl.local.images import Image
    from devctl.local.paths import ClusterPaths

SYSTEM = "devctl-system"


def deploy(paths: ClusterPaths, images: dict[str, Image]) -> str:
    """Run playbooks/deploy.yml; what it printed."""
    variables = {
        "deploy_operator_kubectl": str(find_kubectl(cache_paths())),
        "deploy_operator_kubeconfig": str(paths.kubeconfig),
        "deploy_operator_images": {f"devctl-{part}": images[part].reference for part in PARTS},
    }
    program = Path(sys.executable).with_name("ansible-playbook")
    return must(
        subprocess.run(
            [program, "playbooks/deploy.yml", "--extra-vars", json.dumps(variables)],
            capture_output=True,
            text=True,
            check=False,
            cwd=REPOSITORY,
            stdin=subprocess.DEVNULL,
        )
    )
