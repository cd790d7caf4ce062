"""The HTTP library's debugging log holds nothing that a site sends back, and goes on for others."""

from __future__ import annotations

import logging
from contextvars import Context

import httpx
import pytest

from jupyter_webresearch.errors import Failed
from tests.policy.test_credentials import SECRET, SECURE, carrying
from tests.sites import Site

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
KEY = SECRET.replace("\n", " ").encode()
ANSWERS = {
    "value": HEAD + b"Content-Length: 0\r\nX-Echo: " + KEY + b"\r\n\r\n",
    "reason": b"HTTP/1.1 200 " + KEY + b"\r\nContent-Type: text/plain\r\nContent-Length: 1\r\n\r\na",
    "no status": KEY + b"\r\n\r\n",
    "no header": HEAD + b"a b: " + KEY + b"\r\n\r\n",
    "no chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + KEY + b"\r\n",
    "no trailer": HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\na b " + KEY + b"\r\n\r\n",
    "interim": b"HTTP/1.1 103 Early\r\nX-Echo: " + KEY + b"\r\n\r\n" + HEAD + b"Content-Length: 1\r\n\r\na",
}


@pytest.mark.parametrize("raw", ANSWERS.values(), ids=ANSWERS)
async def test_an_echo_is_logged_nowhere(caplog: pytest.LogCaptureFixture, raw: bytes) -> None:
    caplog.set_level(logging.DEBUG)
    async with carrying() as net:
        try:
            await net.get(f"{SECURE}/raw?hex={raw.hex()}")
        except Failed as error:
            assert error.code == "bad_response"
        assert net.secure.seen
    assert KEY.decode() not in caplog.text
    assert "httpcore" not in caplog.text


async def test_what_others_send_is_logged_as_before(caplog: pytest.LogCaptureFixture, site: Site) -> None:
    caplog.set_level(logging.DEBUG)
    async with carrying() as net:
        await net.get(f"{SECURE}/article")
    assert Context().run(httpx.get, site.url("/article"), trust_env=False).status_code == 200
    assert "receive_response_headers.complete" in caplog.text
