"""The sites are what their docstring says."""

from __future__ import annotations

import asyncio
import json
import ssl
import urllib.request

import pytest

import tests.sites
from tests.sites import Authority, Site
from tests.sites.site import ROUTES


def test_every_scenario_is_in_the_docstring() -> None:
    Site()
    described = set(tests.sites.__doc__.replace("?", " ").split())
    assert not {path for path in ROUTES if path not in described}


def get(url: str, context: ssl.SSLContext | None = None) -> bytes:
    with urllib.request.urlopen(url, context=context, timeout=60) as answer:
        return answer.read()


@pytest.mark.parametrize("tls", [False, True])
def test_a_site_on_a_thread_of_its_own(tls: bool) -> None:
    authority = Authority()
    with Site(tls=authority.server("127.0.0.1") if tls else None) as site:
        echo = json.loads(get(site.url("/echo?a=b"), authority.client if tls else None))
        assert echo["target"] == "/echo?a=b"
        site.serve("/own", "mine", "text/plain")
        assert get(site.url("/own"), authority.client if tls else None) == b"mine"
    assert site.paths() == ["/echo?a=b", "/own"]
    assert site.connections == 2


async def test_the_gate_opens_when_released() -> None:
    async with Site() as site:
        reading = asyncio.create_task(asyncio.to_thread(get, site.url("/gate")))
        await site.arrived("/gate")
        assert not reading.done()
        site.release()
        assert b"Paragraph 1" in await reading


async def test_closing_ends_what_hangs() -> None:
    async with Site() as site:
        _, writer = await asyncio.open_connection("127.0.0.1", site.port)
        writer.write(b"GET /hang HTTP/1.1\r\n\r\n")
        await site.arrived("/hang")
    writer.close()
