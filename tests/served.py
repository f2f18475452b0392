"""An application on a real port of loopback, for as long as a test needs one."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

import uvicorn
from litestar import Litestar

STREAMS_END = 1  # seconds: a stop has ended them by then


class Served:
    """Where it answers; `end` lets requests under way finish and returns when the port is closed."""

    def __init__(self, port: int, server: uvicorn.Server, serving: asyncio.Task[None]) -> None:
        self.port, self._server, self._serving = port, server, serving

    async def end(self) -> None:
        self._server.should_exit = True
        await self._serving


@asynccontextmanager
async def served(app: Litestar, http: type[asyncio.Protocol] | Literal["auto"] = "auto") -> AsyncIterator[Served]:
    """Serve `app`, by the protocol `http`; whoever connects before it listens waits in the socket's queue."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, http=http, log_config=None, lifespan="off", timeout_graceful_shutdown=STREAMS_END))
        running = Served(listener.getsockname()[1], server, asyncio.create_task(server.serve([listener])))
        try:
            yield running
        finally:
            await running.end()
