"""Scenarios: what is broken, slow or endless on the wire."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable

from tests.sites.pages import article
from tests.sites.site import Exchange, route

TEXT = article(20_000).encode()


def _counted(exchange: Exchange) -> Iterable[int]:
    count = exchange.number("count")
    return itertools.count() if count is None else range(count)


@route("/drip-body")
async def drip_body(exchange: Exchange) -> None:
    await exchange.head(content_type=exchange.text("type", "text/html"))
    for n in _counted(exchange):
        await exchange.send(TEXT[n % len(TEXT)].to_bytes(1, "big"))
        await asyncio.sleep(exchange.number("interval", 0.3))


@route("/drip-head")
async def drip_head(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while True:
        await exchange.send(b"a")
        await asyncio.sleep(exchange.number("interval", 0.3))


@route("/hints")
async def hints(exchange: Exchange) -> None:
    for _ in _counted(exchange):
        await exchange.send(b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n")
    await exchange.answer("after the hints", "text/plain")


@route("/headers")
async def headers(exchange: Exchange) -> None:
    size = exchange.number("size", 10)
    await exchange.answer(headers={f"X-{n}": "v" * size for n in range(exchange.number("count", 4000))})


@route("/chunks")
async def chunks(exchange: Exchange) -> None:
    size = exchange.number("size", 1)
    kind = exchange.text("type", "text/html")
    await exchange.head(content_type=kind, headers={"Transfer-Encoding": "chunked"})
    piece = b"%x\r\n%s\r\n" % (size, (TEXT * (size // len(TEXT) + 1))[:size])
    batch = max(1, 65536 // len(piece))
    count = exchange.number("count")
    while count is None or count > 0:
        now = batch if count is None else min(batch, count)
        await exchange.send(piece * now)
        count = None if count is None else count - now
    await exchange.send(b"0\r\n\r\n")


@route("/chunk-extension")
async def chunk_extension(exchange: Exchange) -> None:
    await exchange.head(content_type="text/html", headers={"Transfer-Encoding": "chunked"})
    await exchange.send(b"4;" + b"e" * exchange.number("size", 300_000) + b"\r\ntext\r\n0\r\n\r\n")


@route("/trailers")
async def trailers(exchange: Exchange) -> None:
    await exchange.head(content_type="text/html", headers={"Transfer-Encoding": "chunked"})
    fields = b"".join(b"X-T%d: v\r\n" % n for n in range(exchange.number("count", 20_000)))
    await exchange.send(b"4\r\ntext\r\n0\r\n" + fields + b"\r\n")


@route("/length")
async def length(exchange: Exchange) -> None:
    announced, sent = exchange.number("announced", 1000), exchange.number("sent", 100)
    await exchange.head(content_type=exchange.text("type", "text/html"), length=announced)
    await exchange.send((TEXT * (sent // len(TEXT) + 1))[:sent])


@route("/lengths")
async def lengths(exchange: Exchange) -> None:
    fields = "".join(f"Content-Length: {value}\r\n" for value in exchange.request.query.get("value", ["5", "6"]))
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n{fields}\r\nsome text"
    await exchange.send(head.encode("latin-1"))


@route("/cl-te")
async def cl_te(exchange: Exchange) -> None:
    await exchange.head(content_type="text/plain", length=5, headers={"Transfer-Encoding": "chunked"})
    await exchange.send(b"9\r\nsome text\r\n0\r\n\r\n")


@route("/raw")
async def raw(exchange: Exchange) -> None:
    await exchange.send(bytes.fromhex(exchange.text("hex")))


@route("/reset")
async def reset(exchange: Exchange) -> None:
    after = exchange.number("after", 1000)
    await exchange.head(content_type=exchange.text("type", "text/html"), length=after * 10)
    await exchange.send(TEXT[:after])
    exchange.reset()


@route("/hang")
async def hang(exchange: Exchange) -> None:
    await exchange.hang()


@route("/close")
async def close(exchange: Exchange) -> None:
    """Return without an answer; the server then closes."""


@route("/silence")
async def silence(exchange: Exchange) -> None:
    after = exchange.number("after", 100)
    await exchange.head(content_type=exchange.text("type", "text/html"), length=after + 1000)
    await exchange.send(TEXT[:after])
    await exchange.hang()


@route("/announced")
async def announced(exchange: Exchange) -> None:
    size = exchange.number("size", 10 << 30)
    await exchange.head(content_type=exchange.text("type", "application/octet-stream"), length=size)
    await exchange.send(bytes(range(256)) * 16)
    await exchange.hang()


@route("/multipart")
async def multipart(exchange: Exchange) -> None:
    await exchange.head(content_type="multipart/x-mixed-replace; boundary=frame")
    while True:
        await exchange.send(b"--frame\r\nContent-Type: text/html\r\n\r\n<p>again</p>\r\n")
        await asyncio.sleep(0.05)


@route("/events")
async def events(exchange: Exchange) -> None:
    await exchange.head(content_type="text/event-stream")
    while True:
        await exchange.send(b"data: tick\n\n")
        await asyncio.sleep(0.05)


@route("/204-with-body")
async def no_content_with_body(exchange: Exchange) -> None:
    await exchange.head(204, content_type="text/plain", length=9)
    await exchange.send(b"some text")
