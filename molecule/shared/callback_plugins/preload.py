"""Imports the Kubernetes client once: each task is a fork, and would import it for itself."""

from __future__ import annotations

from ansible.plugins.callback import CallbackBase
from ansible_collections.kubernetes.core.plugins.module_utils.k8s import client  # noqa: F401

DOCUMENTATION = """
name: preload
type: aggregate
short_description: Import the Kubernetes client before the first task
"""


class CallbackModule(CallbackBase):
    """Tells nothing: to be loaded is all that it is for."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "preload"
