"""Answers that are slow, endless, oversized or no HTTP at all: one clear error in bounded time, nothing left open."""

from __future__ import annotations

import asyncio
import random

import httpx
import pytest

from jupyter_webresearch.errors import WebResearchError
from jupyter_webresearch.net.transport import MAX_HEADER_FIELDS, MAX_INTERIM
from tests.net.transports import Handler, Way, serving
from tests.own_time import in_own_time
from tests.sites import Site


def raw(answer: bytes) -> str:
    return f"/raw?hex={answer.hex()}"


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntext"
HINT = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"

NOT_HTTP = {
    "HTTP/0.9": b"<html>hello</html>",
    "garbage": bytes(range(256)),
    "other protocol": b"SSH-2.0-OpenSSH_9.6\r\n",
    "TLS alert": b"\x15\x03\x01\x00\x02\x02\x28",
    "no version": b"HTTP 200 OK\r\n\r\n",
    "ICY": b"ICY 200 OK\r\n\r\n",
    "two-digit status": b"HTTP/1.1 20 OK\r\n\r\n",
    "four-digit status": b"HTTP/1.1 2000 OK\r\n\r\n",
    "status 000": b"HTTP/1.1 000 OK\r\n\r\n",
    "status 099": b"HTTP/1.1 099 OK\r\n\r\n",
    "status 600": b"HTTP/1.1 600 OK\r\nContent-Length: 0\r\n\r\n",
    "status 999": b"HTTP/1.1 999 OK\r\nContent-Length: 0\r\n\r\n",
    "101": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nframes",
    "negative length": b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\ntexts",
    "length of words": b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
    "unknown transfer encoding": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
    "two transfer encodings": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
    "NUL in a header": b"HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 0\r\n\r\n",
    "space before the colon": b"HTTP/1.1 200 OK\r\nX : a\r\n\r\n",
    "header without colon": b"HTTP/1.1 200 OK\r\nX\r\n\r\n",
    "nothing": b"",
    "half a head": b"HTTP/1.1 200 OK\r\nX: a",
    "hints and nothing": HINT,
    "bad chunk size": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "negative chunk size": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-4\r\ntext\r\n",
    "chunks without end": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ntext\r\n",
    "short body": b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\ntext",
}


@pytest.mark.parametrize("name", NOT_HTTP)
async def test_what_is_not_http(name: str) -> None:
    async with Site() as site:
        error = await Way(site).fails(raw(NOT_HTTP[name]))
        assert error.code == "bad_response"


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (b"HTTP/1.1 200\r\nContent-Length: 4\r\n\r\ntext", b"text"),
        (b"HTTP/1.0 200 OK\r\n\r\ntext", b"text"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\ntext", b"text"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntext and more", b"text"),
        (b"HTTP/1.1 200 OK\nContent-Length: 4\n\ntext", b"text"),
        (b"HTTP/1.1 200 OK\r\nX: \xff\xe9\r\nContent-Length: 4\r\n\r\ntext", b"text"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ntext\r\n0\r\n\r\n", b"text"),
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\ntext", b""),
        (b"HTTP/1.1 304 Not Modified\r\n\r\ntext", b""),
        (HINT * MAX_INTERIM + OK, b"text"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, b"text"),
    ],
)
async def test_what_is_odd_but_clear(answer: bytes, body: bytes) -> None:
    async with Site() as site:
        way = Way(site)
        assert await way.read(raw(answer)) == body
        assert way.dialler.open_streams == 0


async def test_interim_answers_are_counted() -> None:
    async with Site() as site:
        assert (await Way(site).fails(raw(HINT * (MAX_INTERIM + 1) + OK))).code == "bad_response"
        assert (await Way(site).fails("/hints")).code == "bad_response"


@pytest.mark.parametrize(
    ("count", "fits"), [(MAX_HEADER_FIELDS - 5, True), (MAX_HEADER_FIELDS + 1, False), (4000, False)]
)
async def test_header_fields_are_counted(count: int, fits: bool) -> None:
    async with Site() as site:
        way = Way(site)
        if fits:
            assert await way.read(f"/headers?count={count}") == b""
        else:
            assert (await way.fails(f"/headers?count={count}")).code == "headers_too_large"


LIMIT = 64 * 1024


def head(size: int) -> bytes:
    """A head of exactly that many bytes, and a body far longer than what is read at once."""
    start = b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\nX: "
    return start + b"v" * (size - len(start) - 4) + b"\r\n\r\n"


@pytest.mark.parametrize("size", [1000, LIMIT - 100, LIMIT])
async def test_headers_up_to_the_limit(size: int) -> None:
    async with serving(answering(head(size) + b"b" * 200_000)) as port:
        assert await Way(port).read() == b"b" * 200_000


@pytest.mark.parametrize(
    "answer",
    [
        head(LIMIT + 100),
        head(10_000_000),
        b"HTTP/1.1 200 OK\r\n" + b"X: v\r\n" * 20_000,
        b"HTTP/1.1 200 " + b"O" * 1_000_000,
        (b"HTTP/1.1 103 Hints\r\nX: " + b"v" * 30_000 + b"\r\n\r\n") * 3 + OK,
        b"HTTP/1.1 200 OK\r\nX: a\r\n" + b" folded\r\n" * 20_000,
    ],
    ids=["just over", "10 MB", "many fields", "reason", "interim", "folded"],
)
async def test_headers_over_the_limit(answer: bytes) -> None:
    async with serving(answering(answer)) as port:
        assert (await Way(port).fails()).code == "headers_too_large"


def answering(answer: bytes) -> Handler:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()

    return handle


@pytest.mark.parametrize("path", ["/chunk-extension", "/trailers"])
async def test_oversized_framing_of_a_body(path: str) -> None:
    async with Site() as site:
        assert (await Way(site).fails(path)).code in ("bad_response", "headers_too_large")


@pytest.mark.parametrize("path", ["/hang", "/silence"])
@in_own_time
async def test_silence_ends_in_a_timeout(path: str) -> None:
    async with Site() as site:
        error = await Way(site, idle_timeout=0.5).fails(path)
        assert (error.code, error.setting) == ("timeout", "WebFetch.idle_timeout")
        assert asyncio.get_running_loop().time() == pytest.approx(0.5)


@in_own_time
async def test_a_dripping_head_ends_in_a_timeout() -> None:
    async with Site() as site:
        error = await Way(site, idle_timeout=0.5, timeout=1).fails("/drip-head?interval=0.1")
        assert (error.code, error.setting) == ("timeout", "WebFetch.timeout")
        assert asyncio.get_running_loop().time() == pytest.approx(1)


@in_own_time
async def test_a_reader_that_does_not_read_is_not_waited_for() -> None:
    """A server that never reads the request: the write is bounded too."""

    async def deaf(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        await asyncio.Event().wait()

    async with serving(deaf) as port:
        error = await Way(port, idle_timeout=0.5).fails(method="POST", content=b"x" * (8 << 20))
        assert error.code == "timeout"


async def test_a_reset_is_a_broken_connection() -> None:
    async with Site() as site:
        assert (await Way(site).fails("/reset")).code == "unreachable"


async def test_an_early_answer_to_a_large_body_is_read() -> None:
    """A server may answer and close before it has read the request."""

    async def hasty(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.write_eof()
        await reader.read()

    async with serving(hasty) as port:
        response = await Way(port).open(method="POST", content=b"x" * 500_000)
        assert response.status_code == 413
        await response.aclose()


async def test_mutated_answers_end_in_a_body_or_an_error_of_ours() -> None:
    source = random.Random(3)
    seeds = [OK, HINT + OK, *NOT_HTTP.values()]
    pieces = [
        b"\r\n",
        b"\n",
        b"\0",
        b":",
        b" ",
        b"HTTP/1.1 ",
        b"Content-Length: 3\r\n",
        b"Transfer-Encoding: chunked\r\n",
    ]
    outcomes = set()
    async with Site() as site:
        way = Way(site)
        for _ in range(300):
            answer = source.choice(seeds)
            for _ in range(source.randint(1, 4)):
                place = source.randint(0, len(answer))
                answer = answer[:place] + source.choice(pieces) + answer[place + source.randint(0, 3) :]
            try:
                await way.read(raw(answer))
                outcomes.add("body")
            except WebResearchError as error:
                outcomes.add(error.code)
            except httpx.HTTPError as error:
                pytest.fail(f"{answer!r} raised {error!r}")
            assert way.dialler.open_streams == 0
    assert outcomes <= {"body", "bad_response"}
