"""Kueue's own program beside a plane: its kinds, its webhooks, and its decisions about quota."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import yaml
from support.plane.namespaces import ADDRESS
from support.plane.process import Process
from support.servers import succeeds, wait_until

from devctl.local.certificates import ensure_certificate
from devctl.local.part_manifests import base_of
from devctl.local.parts import load_parts
from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from support.plane.plane import Plane

Thing = dict[str, Any]

SYSTEM, ACCOUNT = "kueue-system", "kueue-controller-manager"
_CHANGES = REPOSITORY / "config" / "kueue" / "changes"
_WEBHOOKS, _HEALTH = 9443, 9444
_CRD = "CustomResourceDefinition"
_PODS = {"Deployment", "APIService"}
"""What needs a pod: the program is a process here, and serves no places in queues."""


class KueueProcess:
    """Kueue with the configuration of config/kueue.

    Args:
        plane: Where it decides.
        programs: The folder of each group's programs.
        folder: Its own files.
    """

    def __init__(self, plane: Plane, programs: Mapping[str, Path], folder: Path) -> None:
        """Start nothing yet."""
        self._plane, self._programs, self._folder = plane, programs, folder
        self._certificate = folder / "certificate"
        self._items: list[Thing] = []
        program = programs["kueue"] / "kueue"
        options = ("--feature-gates=VisibilityOnDemand=false", f"--config={folder / 'config.yaml'}")
        # The folder of its metrics' certificate cannot be configured.
        layers = f"mount -t overlay -o lowerdir={folder / 'etc'}:/etc overlay /etc"
        place = ("unshare", "--mount", "--propagation", "private", "--")
        inside = ("sh", "-c", f'{layers} && exec "$@"', "sh")
        self._process = Process((*place, *inside, program, *options), folder / "kueue.log")

    def start(self) -> None:
        """Install its objects and start it until its webhooks answer."""
        self._certificate.mkdir(parents=True)
        made = ensure_certificate(self._certificate, [ADDRESS])
        metrics = self._folder / "etc" / "kueue" / "metrics"
        metrics.mkdir(parents=True)
        shutil.copytree(self._certificate, metrics / "certs")
        self._items = [called_here(thing, made["ca.crt"]) for thing in self._released()]
        listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": self._items})
        apply = ("apply", "--server-side", "--force-conflicts", "-f", "-")
        self._plane.kubectl(*apply, input=listed)
        kinds = [o["metadata"]["name"] for o in self._items if o["kind"] == _CRD]
        served = ("wait", "--for=condition=Established", "--timeout=60s")
        self._plane.kubectl(*served, *(f"crd/{name}" for name in kinds))
        (self._folder / "config.yaml").write_text(json.dumps(self._settings()))
        self._process.env = os.environ | {"KUBECONFIG": str(self._plane.account(ACCOUNT, SYSTEM))}
        self._process.start()
        flavor = {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "ResourceFlavor",
            "metadata": {"name": "try"},
        }
        create = ("create", "--dry-run=server", "-f", "-")
        wait_until(
            lambda: succeeds(lambda: self._plane.kubectl(*create, input=json.dumps(flavor))),
            lambda: f"its webhooks answer: {self._process.tail()}",
        )

    def stop(self) -> None:
        """End it; its objects stay."""
        self._process.stop()

    def resume(self) -> None:
        """Start it again after `stop`."""
        self._process.start()

    def remove(self) -> None:
        """Delete its objects while it can remove their finalizers, its kinds and the rest; end it.

        The API server waits up to a minute for the objects of a kind that is deleted, five kinds at
        a time: objects that are left would keep the kinds behind them waiting.
        """
        kinds = [o for o in self._items if o["kind"] == _CRD]
        names = ",".join(kind["metadata"]["name"] for kind in kinds)
        timeout = ("--ignore-not-found", "--timeout=180s")
        try:
            self._plane.kubectl("delete", names, "--all", "--all-namespaces", *timeout)
            for items in (kinds, self._items):
                listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
                self._plane.kubectl("delete", *timeout, "-f", "-", input=listed)
        finally:
            self.stop()

    def _released(self) -> list[Thing]:
        folder = self._folder / "manifests"
        folder.mkdir()
        base = base_of(load_parts()["kueue"], self._programs)
        kustomization = {
            "resources": [os.path.relpath(base.resolve(), folder.resolve())],
            "components": [os.path.relpath(_CHANGES.resolve(), folder.resolve())],
        }
        (folder / "kustomization.yaml").write_text(json.dumps(kustomization))
        text = self._plane.kubectl("kustomize", str(folder))
        return [o for o in yaml.load_all(text, yaml.CSafeLoader) if o["kind"] not in _PODS]

    def _settings(self) -> Thing:
        found: Thing = yaml.safe_load((_CHANGES / "controller_manager_config.yaml").read_text())
        here = {"host": ADDRESS, "port": _WEBHOOKS, "certDir": str(self._certificate)}
        return found | {
            "namespace": SYSTEM,
            "health": {"healthProbeBindAddress": f"127.0.0.1:{_HEALTH}"},
            "metrics": {"bindAddress": "0"},
            "webhook": here,
            "leaderElection": {"leaderElect": False},
        }


class KueueOnDemand:
    """Kueue for all tests in a row that ask for it: to install and remove it takes half a minute.

    Args:
        make: Makes one that is not installed yet.
    """

    def __init__(self, make: Callable[[], KueueProcess]) -> None:
        """Install nothing yet."""
        self._make = make
        self._installed: KueueProcess | None = None

    def get(self) -> KueueProcess:
        """The one that is there; a new one, if there is none."""
        if self._installed is None:
            self._installed = self._make()
            try:
                self._installed.start()
            except BaseException:
                self.remove()
                raise
        return self._installed

    def remove(self) -> None:
        """Remove it with all objects of its kinds, if it is there."""
        if self._installed is not None:
            installed, self._installed = self._installed, None
            installed.remove()


def called_here(thing: Thing, authority: str) -> Thing:
    """An object whose webhooks are called at the plane's address: nothing routes to services."""
    conversion = thing.get("spec", {}).get("conversion", {}).get("webhook")
    for caller in [*thing.get("webhooks", []), *([conversion] if conversion else [])]:
        path = caller["clientConfig"]["service"]["path"]
        url = f"https://{ADDRESS}:{_WEBHOOKS}{path}"
        caller["clientConfig"] = {"url": url, "caBundle": authority}
    return thing
