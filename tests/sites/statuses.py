"""Scenarios: statuses, redirects, requests to wait."""

from __future__ import annotations

from tests.sites.encodings import bomb
from tests.sites.pages import article
from tests.sites.site import Exchange, route


@route("/status")
async def status(exchange: Exchange) -> None:
    code = exchange.number("code", 404)
    if code in (204, 304):
        await exchange.head(code)
        return
    body = exchange.text("body", f"<h1>Status {code}</h1><p>The site says so.</p>")
    await exchange.answer(body, exchange.text("type", "text/html"), status=code)


@route("/redirect")
async def redirect(exchange: Exchange) -> None:
    code = exchange.number("code", 302)
    locations = exchange.request.query.get("to", ["/echo"])
    fields = "".join(f"Location: {to}\r\n" for to in locations)
    head = f"HTTP/1.1 {code} Elsewhere\r\nConnection: close\r\nContent-Length: 0\r\n{fields}\r\n"
    await exchange.send(head.encode("latin-1"))


@route("/chain")
async def chain(exchange: Exchange) -> None:
    left = exchange.number("n", 3)
    if not left:
        await exchange.answer(article())
        return
    code = exchange.number("code", 302)
    await exchange.answer(b"", status=code, headers={"Location": f"/chain?n={left - 1}&code={code}"})


@route("/loop")
async def loop(exchange: Exchange) -> None:
    await exchange.answer(b"", status=exchange.number("code", 302), headers={"Location": exchange.request.target})


@route("/grow")
async def grow(exchange: Exchange) -> None:
    longer = exchange.text("q") + "x" * 10
    await exchange.answer(b"", status=302, headers={"Location": f"/grow?q={longer}"})


@route("/redirect-bomb")
async def redirect_bomb(exchange: Exchange) -> None:
    headers = {"Location": exchange.text("to", "/echo"), "Content-Encoding": "gzip"}
    await exchange.answer(bomb(("gzip",), 64 << 20), status=302, headers=headers)


@route("/retry")
async def retry(exchange: Exchange) -> None:
    key = "retry " + exchange.text("key")
    count = exchange.site.counts[key] = exchange.site.counts.get(key, 0) + 1
    if count > exchange.number("times", 1):
        await exchange.answer(article())
        return
    after = exchange.text("after", "1")
    headers = {"Retry-After": after} if after else None
    await exchange.answer("Please wait.", "text/plain", status=exchange.number("code", 429), headers=headers)
