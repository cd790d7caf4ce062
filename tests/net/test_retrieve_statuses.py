"""Statuses, and answers that are hardly HTTP."""

from __future__ import annotations

import pytest

from jupyter_webresearch.errors import Failed
from tests.net.retrieving import rig


@pytest.mark.parametrize("code", [200, 201, 203, 400, 401, 403, 404, 410, 416, 418, 451, 500, 502, 599])
async def test_a_status_is_an_answer(code: int) -> None:
    async with rig() as net:
        answer = await net.get(f"/status?code={code}&body=words&type=text/plain")
    assert (answer.head.status, answer.body) == (code, b"words")
    assert [hop.status for hop in answer.hops] == [code]


@pytest.mark.parametrize("path", ["/status?code=204", "/status?code=304", "/204-with-body"])
async def test_answers_without_a_body(path: str) -> None:
    async with rig() as net:
        answer = await net.get(path)
    assert (answer.body, answer.body_bytes, answer.truncated) == (b"", 0, False)
    assert not net.heads


@pytest.mark.parametrize("path", ["/article", "/bomb?size=1048576", "/encoded?label=zstd", "/attachment"])
async def test_head(path: str) -> None:
    async with rig() as net:
        answer = await net.get(path, method="HEAD")
    assert (answer.body, answer.truncated, answer.method) == (b"", False, "HEAD")
    assert not net.heads
    assert answer.head.announced


async def test_a_part_is_no_page_unless_asked_for() -> None:
    async with rig() as net:
        with pytest.raises(Failed) as caught:
            await net.get("/status?code=206")
        assert caught.value.code == "bad_response"
        assert (await net.get("/status?code=206&body=part", headers=(("Range", "bytes=0-3"),))).body == b"part"


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n"


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"", "bad_response"),
        (b"garbage\r\n\r\n", "bad_response"),
        (b"<html>HTTP/0.9</html>", "bad_response"),
        (b"\x16\x03\x01\x00\xa5", "bad_response"),
        (b"HTTP/1.1 099 Low\r\n\r\n", "bad_response"),
        (b"HTTP/1.1 999 High\r\n\r\nx", "bad_response"),
        (b"HTTP/1.1 600 High\r\n\r\nx", "bad_response"),
        (b"HTTP/1.1 2000 Long\r\n\r\n", "bad_response"),
        (b"HTTP/1.1 OK\r\n\r\n", "bad_response"),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "bad_response"),
        (HEAD + b"Content-Length: -5\r\n\r\nx", "bad_response"),
        (HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", "bad_response"),
        (HEAD + b"Content-Length: five\r\n\r\nhello", "bad_response"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", "bad_response"),
        (HEAD + b"Transfer-Encoding: gzip\r\n\r\nx", "bad_response"),
        (HEAD + b"No colon here\r\n\r\nx", "bad_response"),
        (HEAD + b"X: a\0b\r\n\r\nx", "bad_response"),
        (HEAD + b"X: " + b"v" * 100_000 + b"\r\n\r\nx", "headers_too_large"),
    ],
)
async def test_what_is_not_http(raw: bytes, code: str) -> None:
    async with rig() as net:
        # More than fits into a URL can't be asked for by one.
        path = f"/raw?hex={raw.hex()}" if len(raw) < 900 else f"/headers?count=1&size={len(raw)}"
        with pytest.raises(Failed) as caught:
            await net.get(path)
        assert caught.value.code == code


@pytest.mark.parametrize(
    ("raw", "body"),
    [
        (b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nold", b"old"),
        (HEAD + b"\r\nuntil the end", b"until the end"),
        (HEAD + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", b"hello"),
        (HEAD + b"Content-Encoding: \r\n\r\nplain", b"plain"),
    ],
)
async def test_what_still_is(raw: bytes, body: bytes) -> None:
    async with rig() as net:
        assert (await net.get(f"/raw?hex={raw.hex()}")).body == body


@pytest.mark.parametrize("path", ["/hints", "/headers?count=4000", "/chunk-extension", "/trailers"])
async def test_floods_fail_at_once(path: str) -> None:
    async with rig() as net:
        try:
            answer = await net.get(path)
        except Failed as error:
            assert error.code in ("bad_response", "headers_too_large")
        else:
            assert answer.truncated
