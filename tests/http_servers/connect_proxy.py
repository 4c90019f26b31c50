"""A proxy that tunnels CONNECT requests and keeps what was asked."""

import asyncio
from typing import Self


class ConnectProxy:
    """Use as an async context manager; `refuse` answers with that status instead of a tunnel."""

    def __init__(self, *, refuse: int = 0) -> None:
        self.refuse = refuse
        self.requests: list[str] = []
        self.port = 0
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.requests.append(head)
        if self.refuse:
            writer.write(f"HTTP/1.1 {self.refuse} No\r\ncontent-length: 0\r\n\r\n".encode())
            writer.close()
            return
        host, _, port = head.split()[1].rpartition(":")
        there_reader, there_writer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        for pair in ((reader, there_writer), (there_reader, writer)):
            task = asyncio.get_running_loop().create_task(_pump(*pair))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()
