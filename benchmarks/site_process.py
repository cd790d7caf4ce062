"""A web server for benchmarks: pages from memory, in a process of its own, so that what is measured keeps its core."""

from __future__ import annotations

import asyncio
import gzip
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path


@contextmanager
def serve(folder: Path) -> Iterator[tuple[int, list[str]]]:
    """Serve every ``*.html.gz`` of a folder, decompressed, and yield the port and the paths."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_run, args=(folder, theirs), daemon=True)
    process.start()
    try:
        port, names = ours.recv()
        yield port, names
    finally:
        process.terminate()
        process.join()


def _run(folder: Path, pipe: Connection) -> None:
    pages = {f"/{path.name}": gzip.decompress(path.read_bytes()) for path in sorted(folder.glob("*.html.gz"))}

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        body = pages[request.split(b" ", 2)[1].decode()]
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=256)
        pipe.send((server.sockets[0].getsockname()[1], list(pages)))
        await server.serve_forever()

    asyncio.run(main())
