"""The device plugin's gRPC service, for devices that do not exist."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import grpc

import fake_gpu_plugin.deviceplugin_pb2 as api
from fake_gpu_plugin import devices

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

log = logging.getLogger(__name__)

OPTIONS = api.DevicePluginOptions(get_preferred_allocation_available=True)


class DevicePlugin:
    """The service DevicePlugin of deviceplugin.proto, which defines the methods' names."""

    def __init__(self, names: Sequence[str]) -> None:
        """Offer these devices."""
        self.names = names
        self.watched = asyncio.Event()
        """Set once the kubelet has the list of devices."""
        self.released = asyncio.Event()
        """Set once the kubelet no longer listens: it has stopped, or dropped us."""
        self.ending = asyncio.Event()
        """Set when the plugin stops: an interrupted call would be logged as an error."""

    async def GetDevicePluginOptions(self, _request: Any, _context: Any) -> Any:  # noqa: N802
        """Nothing needs to be done before a container starts."""
        return OPTIONS

    async def ListAndWatch(self, _request: Any, _context: Any) -> AsyncIterator[Any]:  # noqa: N802
        """The devices, once, because they never change; then the stream stays open."""
        listed = [api.Device(ID=name, health="Healthy") for name in self.names]
        try:
            yield api.ListAndWatchResponse(devices=listed)
            self.watched.set()
            await self.ending.wait()
        finally:
            self.released.set()

    async def GetPreferredAllocation(self, request: Any, _context: Any) -> Any:  # noqa: N802
        """The lowest numbers, so that users see the same ones each time."""
        chosen = [
            devices.preferred(
                each.available_deviceIDs, each.must_include_deviceIDs, each.allocation_size
            )
            for each in request.container_requests
        ]
        answers = [api.ContainerPreferredAllocationResponse(deviceIDs=ids) for ids in chosen]
        return api.PreferredAllocationResponse(container_responses=answers)

    async def Allocate(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Only variables: there are no device files."""
        answers = []
        for each in request.container_requests:
            if missing := devices.unknown(each.devices_ids, self.names):
                message = f"unknown simulated device {', '.join(missing)}"
                await context.abort(grpc.StatusCode.NOT_FOUND, message)
            environment = devices.environment_of(each.devices_ids)
            log.info("allocated the simulated devices %s", environment["DEVCTL_FAKE_GPUS"])
            answers.append(api.ContainerAllocateResponse(envs=environment))
        return api.AllocateResponse(container_responses=answers)

    async def PreStartContainer(self, _request: Any, _context: Any) -> Any:  # noqa: N802
        """Never called, but part of the service."""
        return api.PreStartContainerResponse()
