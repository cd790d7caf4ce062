"""Scenarios: robots.txt."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from tests.sites.site import ROUTES, Exchange, route

RULES = "User-agent: *\nDisallow: /private\n"


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


@route("/robots.txt")
async def robots_txt(exchange: Exchange) -> None:
    seen = replace(exchange.request, target=exchange.site.robots)
    if seen.target:
        await ROUTES[seen.path](replace(exchange, request=seen))
    else:
        await exchange.answer("no such page", "text/plain", status=404)


@route("/rules")
async def rules(exchange: Exchange) -> None:
    if exchange.text("gate"):
        await exchange.site.opened()
    await exchange.head(content_type=exchange.text("type", "text/plain"), headers={"Transfer-Encoding": "chunked"})
    await exchange.send(_chunk(exchange.text("text", RULES).encode("latin-1")))
    then = exchange.text("then", "end")
    if then == "hang":
        await exchange.hang()
    elif then == "reset":
        exchange.reset()
        return
    while then == "drip":
        await exchange.send(_chunk(b"#"))
        await asyncio.sleep(0.3)
    while then == "flood":
        await exchange.send(_chunk(b"# and so on\n" * 1000))
    await exchange.send(b"0\r\n\r\n")
