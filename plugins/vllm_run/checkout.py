"""The checkout that a run's program starts in, and the container that makes it before."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import cache
from typing import Any

from apply.manifests import CREATE_ONLY

from devctl.api.node_cache import IN_PODS, mirror_path
from devctl.api.vllm_run import CAPSULE, CHECKOUT, WORKSPACE, capsule_file, checkout_name
from devctl.capsule.program import program

_PROGRAM, _CAPSULE = "/checkout/program", "/checkout/capsule"
"""Folders of that container."""
_KEY = "program"
_WAIT = 360
"""Seconds for which the mirror may lack the commit: its agent fetches every five minutes."""


def folder_of(spec: Mapping[str, Any]) -> str | None:
    """The checkout's folder in the pod; None if the run has none."""
    return f"{WORKSPACE}/{spec['repoName']}" if "checkout" in spec else None


def checkout_values(run: Mapping[str, Any]) -> dict[str, Any] | None:
    """The values for the container that makes the checkout; None if the run has none."""
    spec = run["spec"]
    folder = folder_of(spec)
    if folder is None:
        return None
    wanted = spec["checkout"]
    capsule = wanted.get("capsule")
    command = ["python3", "-I", f"{_PROGRAM}/{_KEY}"]
    if wanted.get("package"):
        command += ["--package", wanted["package"]]
    command += ["--commit", wanted["commit"], "--wait", str(_WAIT)]
    if capsule:
        command += [f"{_CAPSULE}/{capsule_file(capsule['digest'])}", capsule["digest"]]
    command += [f"{IN_PODS}/{mirror_path(spec['repoName'])}", folder]
    return {
        "container": CHECKOUT,
        "command": command,
        "workspace": WORKSPACE,
        "program": {"name": checkout_name(str(run["metadata"]["name"])), "folder": _PROGRAM},
        "capsule": {"volume": _volume(capsule), "folder": _CAPSULE} if capsule else None,
    }


def program_values(run: Mapping[str, Any]) -> dict[str, Any] | None:
    """The values for the ConfigMap with the program of that container."""
    if "checkout" not in run["spec"]:
        return None
    return {
        "name": checkout_name(str(run["metadata"]["name"])),
        # A later release's program is for later runs.
        "annotations": {CREATE_ONLY: "true"},
        "content": {_KEY: _encoded()},
    }


def search_path(spec: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, str]:
    """The variables by which Python finds the checkout's package before the image's.

    >>> checkout = {"commit": "1f", "package": "vllm"}
    >>> search_path({"repoName": "main", "checkout": checkout}, {"PYTHONPATH": "/mine"})
    {'PYTHONPATH': '/workspace/main:/mine'}
    """
    if not spec.get("checkout", {}).get("package"):
        return {}
    folders = [str(folder_of(spec)), given.get("PYTHONPATH", "")]
    return {"PYTHONPATH": ":".join(filter(None, folders))}


def _volume(capsule: Mapping[str, Any]) -> dict[str, Any]:
    """The volume with a capsule."""
    if "configMap" in capsule:
        item = {"key": CAPSULE, "path": capsule_file(capsule["digest"])}
        return {"name": CAPSULE, "configMap": {"name": capsule["configMap"], "items": [item]}}
    claim = {"claimName": capsule["persistentVolumeClaim"], "readOnly": True}
    return {"name": CAPSULE, "persistentVolumeClaim": claim}


@cache
def _encoded() -> str:
    return base64.b64encode(program()).decode("ascii")
