"""What any request costs: the smallest FastAPI application, under the gateway's own server.

usage: hello.py PORT
"""

from __future__ import annotations

import asyncio
import sys

from devctl_gateway.listening import server
from devctl_gateway.settings import Settings
from fastapi import FastAPI
from uvicorn.loops.auto import auto_loop_factory

app = FastAPI()


@app.get("/")
async def hello() -> dict[str, str]:
    """An answer without a thought."""
    return {"hello": "world"}


if __name__ == "__main__":
    settings = Settings(database="", port=int(sys.argv[1]))
    with asyncio.Runner(loop_factory=auto_loop_factory()) as runner:
        runner.run(server(app, settings).serve())
