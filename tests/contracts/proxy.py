"""A wire between a client and its server that a test can cut or let swallow what it carries."""

import asyncio
import contextlib


class Proxy:
    """Forwards TCP to `host` and `port`; `deaf`: what the client sends is swallowed, `mute`: what the server sends is."""

    def __init__(self, host: str, port: int) -> None:
        self._upstream = (host, port)
        self._wires: set[asyncio.StreamWriter] = set()
        self._near: set[asyncio.StreamWriter] = set()
        self._pumps: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.port = 0
        self.deaf = False
        self.mute = False
        self.swallowed = asyncio.Event()

    async def open(self) -> None:
        """Take clients, on the port it had before if any."""
        self.deaf = self.mute = False
        self.swallowed.clear()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        """End every connection and take no new one until `open`."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for wire in tuple(self._wires):
            wire.transport.abort()
        await asyncio.gather(*self._pumps, return_exceptions=True)

    def say(self, data: bytes) -> None:
        """Send the clients something that the server did not."""
        for wire in self._near:
            wire.write(data)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection(*self._upstream)
        except OSError:
            writer.transport.abort()
            return
        self._wires |= {writer, far_writer}
        self._near.add(writer)
        for task in (
            asyncio.create_task(self._pump(reader, far_writer, lambda: self.deaf)),
            asyncio.create_task(self._pump(far_reader, writer, lambda: self.mute)),
        ):
            self._pumps.add(task)
            task.add_done_callback(self._pumps.discard)

    async def _pump(self, reader, writer, swallows) -> None:
        with contextlib.suppress(OSError):  # the other side is cut
            while data := await reader.read(65536):
                if swallows():
                    self.swallowed.set()
                    continue
                writer.write(data)
                await writer.drain()
        writer.transport.abort()
        self._wires.discard(writer)
        self._near.discard(writer)
