"""Run a job for each learning rate, all at once, print how each ended, and delete them.

usage: sweep.py IMAGE RATE...
"""

from __future__ import annotations

import asyncio
import sys

from devctl import AsyncClient, Job

COMMAND = "echo training with {rate} && sleep 1"


async def train(client: AsyncClient, image: str, rate: str) -> Job:
    """One job from its creation to its end."""
    name = f"rate-{rate.replace('.', '-')}"
    command = ["/bin/sh", "-c", COMMAND.format(rate=rate)]
    await client.jobs.create(name, image=image, command=command, gpu=0, pvc_size="10Mi", ttl=600)
    return await client.jobs.wait(name)


async def main(image: str, *rates: str) -> None:
    """Run all of them at once."""
    async with AsyncClient() as client:
        done = await asyncio.gather(*(train(client, image, rate) for rate in rates))
        for job in done:
            print(job.name, job.phase, job.reason)
            await client.jobs.delete(job)  # its volume, with all that it wrote, is kept


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
