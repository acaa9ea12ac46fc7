"""The connection to the API server that the environment names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kubernetes import client
from kubernetes.config import ConfigException, kube_config
from yaml import YAMLError

from apply.errors import ApplyError
from devctl.api.applied import Reason


@contextmanager
def connect(environment: Mapping[str, str] = os.environ) -> Iterator[client.ApiClient]:
    """The official client for the cluster of K8S_AUTH_KUBECONFIG, or of KUBECONFIG.

    Raises:
        ApplyError: Neither is set, or the file cannot be used.
    """
    # Read now, not at import: the warm runner imports this long before.
    path = environment.get("K8S_AUTH_KUBECONFIG") or environment.get("KUBECONFIG")
    if not path:
        raise ApplyError(Reason.UNAVAILABLE, "neither K8S_AUTH_KUBECONFIG nor KUBECONFIG is set")
    configuration = client.Configuration()
    # urllib3 would sleep as long as Retry-After says, and retry without our count.
    configuration.retries = False
    try:
        _load(path, configuration)
        with client.ApiClient(configuration) as api:
            yield api
    finally:
        # It writes keys to /tmp, and removes them at exit, which Ansible's workers never reach.
        kube_config._cleanup_temp_files()  # noqa: SLF001


def _load(path: str, configuration: client.Configuration) -> None:
    try:
        kube_config.load_kube_config(path, client_configuration=configuration)
    except (ConfigException, OSError, YAMLError) as error:
        message = f"`{path}` is not a usable kubeconfig: {error}"
        raise ApplyError(Reason.UNAVAILABLE, message) from error
