"""Scenarios: pages that behave."""

from __future__ import annotations

import json

from tests.sites.site import Exchange, route

SENTENCE = "The river rises in the hills and reaches the sea after some forty miles of meadows. "
KIND = {
    "/json": ("application/json", '{"name": "example", "values": [1, 2.5, null, "\u00e9"]}'),
    "/csv": ("text/csv; charset=utf-8", 'city,people\nLyon,522250\n"Paris, centre",2102650\n'),
    "/tsv": ("text/tab-separated-values", "city\tpeople\nLyon\t522250\n"),
    "/xml": ("application/xml", '<?xml version="1.0"?>\n<list><item id="1">one</item></list>\n'),
    "/markdown": (
        "text/markdown; charset=utf-8",
        "# Heading\n\nSome *text* with a [link](https://www.example.org/).\n",
    ),
    "/plain": ("text/plain; charset=utf-8", "Plain text, two lines.\nThe second one.\n"),
    "/feed": (
        "application/rss+xml",
        '<?xml version="1.0"?>\n<rss version="2.0"><channel><title>News</title>'
        "<item><title>One</title><link>https://www.example.org/1</link></item></channel></rss>\n",
    ),
}
SAMPLES = {
    "gbk": "中文网页的内容应当正确显示。",
    "big5": "繁體中文網頁的內容應當正確顯示。",
    "shift_jis": "日本語のページは正しく表示されます。",
    "euc-jp": "日本語のページは正しく表示されます。",
    "euc-kr": "한국어 페이지가 올바르게 표시됩니다.",
    "windows-1251": "Русская страница должна читаться верно.",
    "koi8-r": "Русская страница должна читаться верно.",
    "utf-8": "Ünïcödé – 中文 – русский.",
}


def article(words: int = 600, title: str = "An article", sentence: str = SENTENCE) -> str:
    """Return an HTML article of about so many words."""
    paragraphs = max(2, words // 75)
    text = "".join(f"<p>Paragraph {n}. {sentence * 5}</p>\n" for n in range(1, paragraphs + 1))
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="author" content="A. Author"><meta property="og:site_name" content="The Site">
<meta property="article:published_time" content="2024-05-06"></head>
<body><nav><a href="/">Home</a> <a href="/news">News</a></nav>
<main><article><h1>{title}</h1>
{text}<h2>Details</h2>
<ul><li>First point of the list</li><li>Second point with <a href="/other">a link</a></li></ul>
<table><tr><th>City</th><th>People</th></tr><tr><td>Lyon</td><td>522250</td></tr></table>
<pre><code class="language-python">def f(x):
    return x + 1
</code></pre>
</article></main><footer>Imprint and cookies</footer></body></html>
"""


@route("/", "/article")
async def an_article(exchange: Exchange) -> None:
    await exchange.answer(article(exchange.number("words", 600), exchange.text("title", "An article")))


@route("/gate")
async def gate(exchange: Exchange) -> None:
    await exchange.site.opened()
    await exchange.answer(article())


@route("/echo")
async def echo(exchange: Exchange) -> None:
    request = exchange.request
    seen = {
        "method": request.method,
        "target": request.target,
        "headers": list(request.headers),
        "body": request.body.decode("latin-1"),
    }
    await exchange.answer(json.dumps(seen), "application/json")


@route(*KIND)
async def kind(exchange: Exchange) -> None:
    content_type, body = KIND[exchange.request.path]
    await exchange.answer(body, content_type)


@route("/xhtml")
async def xhtml(exchange: Exchange) -> None:
    page = article().replace(
        "<!DOCTYPE html>\n<html", '<?xml version="1.0"?>\n<html xmlns="http://www.w3.org/1999/xhtml"'
    )
    await exchange.answer(page.replace('<meta charset="utf-8">', ""), "application/xhtml+xml")


@route("/typed")
async def typed(exchange: Exchange) -> None:
    body = exchange.text("body", "Some text.").encode("latin-1")
    await exchange.answer(body, exchange.text("type"))


@route("/charset")
async def charset(exchange: Exchange) -> None:
    codec = exchange.text("codec", "gbk")
    sample = SAMPLES.get(codec, SAMPLES["utf-8"])
    page = article(300, sample, sample).replace('<meta charset="utf-8">', "")
    meta = exchange.text("meta")
    if meta:
        page = page.replace("<head>", f'<head><meta charset="{meta}">')
    header = exchange.text("header")
    await exchange.answer(page.encode(codec), "text/html" + (f"; charset={header}" if header else ""))


@route("/big")
async def big(exchange: Exchange) -> None:
    size = exchange.number("size", 11_000_000)
    chunked = bool(exchange.number("chunked", 0))
    await exchange.head(
        content_type=exchange.text("type", "text/html"),
        length=None if chunked else size,
        headers={"Transfer-Encoding": "chunked"} if chunked else None,
    )
    start = article(300).encode().removesuffix(b"</article></main><footer>Imprint and cookies</footer></body></html>\n")
    filler = f"<p>{SENTENCE * 40}</p>\n".encode()
    block = filler * 20
    left = size
    piece = start
    while left:
        piece = piece[:left]
        left -= len(piece)
        await exchange.send(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)
        piece = block
    if chunked:
        await exchange.send(b"0\r\n\r\n")


@route("/attachment")
async def attachment(exchange: Exchange) -> None:
    name = exchange.text("name", "data.bin")
    body = bytes(n % 251 for n in range(exchange.number("size", 1000)))
    disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
    await exchange.answer(body, "application/octet-stream", headers=disposition)


@route("/set-cookie")
async def set_cookie(exchange: Exchange) -> None:
    headers = {
        "Location": exchange.text("to", "/echo"),
        "Set-Cookie": "session=secret; Path=/",
        "set-cookie": "other=1; Domain=example.org",
    }
    await exchange.answer(b"", status=302, headers=headers)


@route("/refresh")
async def refresh(exchange: Exchange) -> None:
    to = exchange.text("to", "/echo")
    page = article().replace("<head>", f'<head><meta http-equiv="refresh" content="0; url={to}">')
    await exchange.answer(page, headers={"Refresh": f"0; url={to}"})
