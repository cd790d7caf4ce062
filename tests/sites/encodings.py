"""Scenarios: content encodings, honest, damaged and explosive."""

from __future__ import annotations

import asyncio
import functools
import gzip
import zlib

import brotli

from tests.sites.pages import SENTENCE
from tests.sites.site import Exchange, route


def encode(data: bytes, names: tuple[str, ...]) -> bytes:
    """Apply encodings in order: gzip, deflate (zlib), raw-deflate, br."""
    for name in names:
        if name == "gzip":
            data = gzip.compress(data, 6, mtime=0)
        elif name == "br":
            data = brotli.compress(data, quality=5)
        else:
            compressor = zlib.compressobj(6, zlib.DEFLATED, -15 if name == "raw-deflate" else 15)
            data = compressor.compress(data) + compressor.flush()
    return data


def label(names: tuple[str, ...]) -> str:
    """Return the Content-Encoding of these encodings."""
    return ", ".join(name.removeprefix("raw-") for name in names)


def sentences(size: int) -> bytes:
    """Return text of exactly that many bytes, every sentence another."""
    count = size // len(SENTENCE) + 1
    return "".join(f"{n}. {SENTENCE}\n" for n in range(count)).encode()[:size]


@functools.cache
def bomb(names: tuple[str, ...], size: int) -> bytes:
    """Return zeros under encodings; cached, for 256 MiB take a second to make."""
    first, *rest = names
    if first == "br":
        data = brotli.compress(bytes(size), quality=3)
    else:
        compressor = zlib.compressobj(9, zlib.DEFLATED, {"gzip": 31, "deflate": 15, "raw-deflate": -15}[first])
        block = bytes(1 << 20)
        parts = [compressor.compress(block) for _ in range(size >> 20)]
        data = b"".join(parts) + compressor.flush()
    return encode(data, tuple(rest))


@functools.cache
def empty_blocks(count: int) -> bytes:
    """Return gzip within gzip: the inner one is so many empty stored blocks (RFC 1951, 3.2.4), the text is empty."""
    header = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"
    compressor = zlib.compressobj(9, zlib.DEFLATED, 31)
    parts = [compressor.compress(header)]
    blocks = b"\x00\x00\x00\xff\xff" * 100_000
    parts += [compressor.compress(blocks) for _ in range(count // 100_000)]
    parts.append(compressor.compress(b"\x01\x00\x00\xff\xff" + bytes(8)))
    return b"".join(parts) + compressor.flush()


def _names(exchange: Exchange) -> tuple[str, ...]:
    return tuple(exchange.text("with", "gzip").split(","))


@route("/encoded")
async def encoded(exchange: Exchange) -> None:
    names = _names(exchange)
    text = sentences(exchange.number("size", 5000))
    data = encode(text, names)
    damage = exchange.text("damage")
    if damage == "truncate":
        data = data[: len(data) * 2 // 3]
    elif damage == "flip":
        middle = len(data) // 2
        data = data[:middle] + bytes(byte ^ 0x55 for byte in data[middle : middle + 64]) + data[middle + 64 :]
    elif damage == "garbage":
        data += b"\x00\x00garbage" * 10
    elif damage == "plain":
        data = text
    elif damage == "empty":
        data = b""
    headers = {"Content-Encoding": exchange.text("label") or label(names)}
    await exchange.answer(data, exchange.text("type", "text/plain; charset=utf-8"), headers=headers)


@route("/bomb")
async def a_bomb(exchange: Exchange) -> None:
    names = _names(exchange)
    assert len(names) <= 4
    size = exchange.number("size", 256 << 20)
    data = await asyncio.to_thread(bomb, names, size)
    await exchange.answer(data, exchange.text("type", "text/html"), headers={"Content-Encoding": label(names)})


@route("/members")
async def members(exchange: Exchange) -> None:
    member = gzip.compress(b"x" * exchange.number("size", 1), mtime=0)
    data = member * exchange.number("count", 10_000)
    await exchange.answer(data, "text/plain", headers={"Content-Encoding": "gzip"})


@route("/empty-blocks")
async def a_lot_of_nothing(exchange: Exchange) -> None:
    data = await asyncio.to_thread(empty_blocks, exchange.number("count", 20_000_000))
    await exchange.answer(data, "text/html", headers={"Content-Encoding": "gzip, gzip"})


@route("/encodings")
async def encodings(exchange: Exchange) -> None:
    names = ("gzip",) * exchange.number("count", 5000)
    await exchange.answer(encode(b"text", names[:3]), "text/html", headers={"Content-Encoding": label(names)})


@route("/drip-bomb")
async def drip_bomb(exchange: Exchange) -> None:
    names = _names(exchange)
    data = await asyncio.to_thread(bomb, names, 64 << 20)
    headers = {"Content-Encoding": label(names)}
    await exchange.head(content_type="text/html", headers=headers, length=len(data))
    for start in range(0, len(data), 1024):
        await exchange.send(data[start : start + 1024])
        await asyncio.sleep(exchange.number("interval", 0.05))
