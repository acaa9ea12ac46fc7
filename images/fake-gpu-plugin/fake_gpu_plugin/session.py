"""One session with one kubelet: serve, register, and stay until it stops."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import grpc

import fake_gpu_plugin.deviceplugin_pb2 as api
import fake_gpu_plugin.deviceplugin_pb2_grpc as api_grpc
from fake_gpu_plugin.devices import RESOURCE
from fake_gpu_plugin.registration import NotRegisteredError
from fake_gpu_plugin.service import OPTIONS, DevicePlugin

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

log = logging.getLogger(__name__)

KUBELET = "kubelet.sock"
OWN = "fake-gpu-plugin.sock"
API_VERSION = "v1beta1"
PATIENCE = 10.0
"""Seconds for the kubelet to respond, and again to list the devices."""


async def session(folder: Path, names: Sequence[str]) -> None:
    """Offer the devices to the kubelet of this node until it stops.

    Args:
        folder: The kubelet's folder for plugins.
        names: The devices.

    Raises:
        NotRegisteredError: The kubelet did not accept the plugin.
    """
    service = DevicePlugin(names)
    server = grpc.aio.server()
    api_grpc.add_DevicePluginServicer_to_server(service, server)
    try:
        server.add_insecure_port(f"unix:{folder / OWN}")
    except RuntimeError as error:
        raise NotRegisteredError(f"cannot create a socket in {folder}: {error}") from error
    try:
        await server.start()
        await _register(folder)
        await asyncio.wait_for(service.watched.wait(), PATIENCE)
        log.info("registered %d simulated devices as %s", len(names), RESOURCE)
        await service.released.wait()
    except TimeoutError as error:
        raise NotRegisteredError("it does not list the devices") from error
    finally:
        service.ending.set()
        await server.stop(grace=1)


async def _register(folder: Path) -> None:
    request = api.RegisterRequest(
        version=API_VERSION, endpoint=OWN, resource_name=RESOURCE, options=OPTIONS
    )
    # A new channel each time: a failed one backs off before it reconnects.
    async with grpc.aio.insecure_channel(f"unix:{folder / KUBELET}") as channel:
        try:
            await api_grpc.RegistrationStub(channel).Register(request, timeout=PATIENCE)
        except grpc.aio.AioRpcError as error:
            away = error.code() is grpc.StatusCode.UNAVAILABLE
            reason = "it does not respond" if away else f"it refused: {error.details()}"
            raise NotRegisteredError(reason) from error
