"""Bodies: kept to the limit, cut or refused there, and what becomes of those that break off."""

from __future__ import annotations

import asyncio
import hashlib
import threading

import pytest

from jupyter_webresearch.errors import Failed, Refused
from jupyter_webresearch.net.answer import Disposition, ResponseHead
from tests.net.retrieving import MIB, rig
from tests.own_time import in_own_time
from tests.sites.encodings import bomb

LIMIT = 64 * 1024


@pytest.mark.parametrize("chunked", [0, 1])
@pytest.mark.parametrize("size", [0, 1, LIMIT - 1, LIMIT, LIMIT + 1, 3 * LIMIT])
async def test_truncate(chunked: int, size: int) -> None:
    async with rig() as net:
        answer = await net.get(f"/big?size={size}&chunked={chunked}", limit=LIMIT)
        whole = (await net.get(f"/big?size={size}&chunked={chunked}")).body
    assert len(whole) == size
    assert answer.body == whole[:LIMIT]
    assert answer.body_bytes == min(size, LIMIT)
    assert answer.truncated == (size > LIMIT)
    assert answer.sha256 == hashlib.sha256(answer.body).hexdigest()
    assert answer.head.announced == (None if chunked else size)


@pytest.mark.parametrize("chunked", [0, 1])
@pytest.mark.parametrize("size", [LIMIT, LIMIT + 1, 100 * MIB])
async def test_error(chunked: int, size: int) -> None:
    async with rig() as net:
        if size <= LIMIT:
            answer = await net.get(f"/big?size={size}&chunked={chunked}", limit=LIMIT, overflow="error")
            assert (answer.body_bytes, answer.truncated) == (size, False)
            return
        with pytest.raises(Failed) as caught:
            await net.get(f"/big?size={size}&chunked={chunked}", limit=LIMIT, overflow="error")
        assert caught.value.code == "too_large"


async def test_ten_megabytes_close_the_connection() -> None:
    async with rig() as net:
        answer = await net.get("/big?size=2000000000")
    assert (answer.body_bytes, answer.truncated, answer.head.announced) == (10 * MIB, True, 2_000_000_000)


async def test_what_is_announced_too_large_is_not_read() -> None:
    async with rig() as net:
        for named in (None, "WebFetch.save_max"):
            with pytest.raises(Failed) as caught:
                await net.get(
                    "/announced?type=application/json",
                    accept=lambda head: Disposition(MIB, "error", setting=named),  # noqa: B023 - called at once
                )
            assert (caught.value.code, caught.value.setting) == ("too_large", named or "WebFetch.max_body")


async def test_the_decision_is_made_before_the_body_is_read() -> None:
    def refuse(head: ResponseHead) -> Disposition:
        raise Failed("unsupported_content", head.content_type)

    async with rig() as net:
        for path, kind in [
            ("/announced?type=video/mp4", "video/mp4"),
            ("/announced", "application/octet-stream"),
            ("/multipart", "multipart/x-mixed-replace"),
            ("/events", "text/event-stream"),
            ("/silence?after=0&type=image/png", "image/png"),
        ]:
            with pytest.raises(Failed) as caught:
                await net.get(path, accept=refuse)
            assert (caught.value.code, caught.value.message) == ("unsupported_content", kind)


@pytest.mark.parametrize(
    ("path", "kind", "label"),
    [
        ("/article", "text/html", "utf-8"),
        ("/json", "application/json", ""),
        ("/typed?body=<html><p>x", "text/html", ""),
        ("/typed?body={%22a%22:1}", "application/json", ""),
        ("/typed?type=application/octet-stream&body=a,b", "text/plain", ""),
        ("/typed?type=nonsense&body=<?xml version='1.0'?><a/>", "text/xml", ""),
        ("/typed?type=text/plain&body=<html>", "text/plain", ""),
        ("/typed?type=text/plain&body=%00%01", "application/octet-stream", ""),
        ("/typed?type=&body=%1f%8b%08%00", "application/gzip", ""),
        ("/attachment", "application/octet-stream", ""),
        ("/encoded?with=gzip&type=", "text/plain", ""),
    ],
)
async def test_the_type_that_the_caller_decides_on(path: str, kind: str, label: str) -> None:
    async with rig() as net:
        answer = await net.get(path)
    assert len(net.heads) == 1
    assert (answer.head.content_type, answer.head.charset_label) == (kind, label)
    assert answer.body.startswith(answer.head.prefix)
    assert len(answer.head.prefix) <= 512


async def test_headers_can_not_control_a_terminal() -> None:
    async with rig() as net:
        net.site.serve("/x", b"x", headers={"X-Evil": "a\x1b[31mb\x9b", "X-Twice": "1"})
        head = (await net.get("/x")).head
    assert head.header("x-evil") == "a [31mb "
    assert ("x-twice", "1") in head.headers


class Sink:
    def __init__(self, error: OSError | None = None) -> None:
        self.data = bytearray()
        self.threads: set[int] = set()
        self.error = error

    def write(self, data: bytes) -> None:
        self.threads.add(threading.get_ident())
        if self.error:
            raise self.error
        self.data += data


async def test_a_sink_takes_all_off_the_loop() -> None:
    sink = Sink()
    async with rig() as net:
        answer = await net.get("/big?size=5000001&type=application/zip", sink=sink, limit=6 * MIB, overflow="error")
    assert (len(sink.data), answer.body_bytes, answer.body) == (5_000_001, 5_000_001, b"")
    assert answer.sha256 == hashlib.sha256(sink.data).hexdigest()
    assert threading.get_ident() not in sink.threads


async def test_a_full_disk() -> None:
    async with rig() as net:
        with pytest.raises(Refused, match="No space left") as caught:
            await net.get("/big?size=3000000", sink=Sink(OSError(28, "No space left on device")))
        assert caught.value.code == "save_refused"


BROKEN = ["/length?announced=9000&sent=1000", "/reset?after=1000", "/encoded?damage=truncate&type=text/html"]


@pytest.mark.parametrize("path", BROKEN)
async def test_a_body_that_breaks_off_is_cut(path: str) -> None:
    async with rig() as net:
        answer = await net.get(path)
    assert answer.truncated
    assert 0 < answer.body_bytes < 5000
    assert answer.body_bytes == len(answer.body)


@pytest.mark.parametrize("path", BROKEN)
async def test_or_an_error_where_it_can_not_be_cut(path: str) -> None:
    async with rig() as net:
        with pytest.raises(Failed) as caught:
            await net.get(path, overflow="error")
        assert caught.value.code in ("bad_response", "unreachable", "bad_encoding")


@pytest.mark.parametrize("path", ["/length?announced=9000&sent=0", "/encoded?label=gzip&damage=empty", "/close"])
async def test_nothing_came(path: str) -> None:
    async with rig() as net:
        if "empty" in path:
            answer = await net.get(path)
            assert (answer.body, answer.truncated) == (b"", False)
            return
        with pytest.raises(Failed) as caught:
            await net.get(path)
        assert caught.value.code == "bad_response"


async def test_more_than_announced_is_not_read() -> None:
    async with rig() as net:
        answer = await net.get("/length?announced=100&sent=5000")
    assert (answer.body_bytes, answer.truncated) == (100, False)


@pytest.mark.parametrize("path", ["/hang", "/silence", "/silence?type=application/octet-stream", "/announced"])
@in_own_time
async def test_silence_ends_at_the_idle_timeout(path: str) -> None:
    async with rig(idle_timeout=5) as net:
        with pytest.raises(Failed) as caught:
            await net.get(path, seconds=60)
        assert (caught.value.code, caught.value.setting) == ("timeout", "WebFetch.idle_timeout")
        assert asyncio.get_running_loop().time() == pytest.approx(5)


@pytest.mark.parametrize(
    "path", ["/drip-body?interval=0.05", "/drip-head?interval=0.05", "/drip-bomb?interval=0.2", "/hang", "/events"]
)
@in_own_time
async def test_slowness_ends_at_the_deadline(path: str) -> None:
    bomb(("gzip",), 64 * MIB)  # made now, for the site would make it on a thread
    async with rig() as net:
        with pytest.raises(Failed) as caught:
            await net.get(path, seconds=0.6)
        assert caught.value.code == "timeout"
        assert asyncio.get_running_loop().time() == pytest.approx(0.6, abs=0.1)


async def test_a_deadline_that_has_passed() -> None:
    async with rig() as net:
        with pytest.raises(Failed) as caught:
            await net.get("/echo", seconds=-1)
        assert caught.value.code == "timeout"


@pytest.mark.parametrize("path", ["/hang", "/silence", "/chunks", "/drip-head"])
async def test_cancelling_closes_the_connection(path: str) -> None:
    async with rig() as net:
        task = asyncio.create_task(net.get(path))
        await net.site.arrived(path)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


@pytest.mark.parametrize("size", [16, 100, 100_000])
async def test_endless_chunks_end_at_the_limit(size: int) -> None:
    async with rig() as net:
        answer = await net.get(f"/chunks?size={size}", limit=LIMIT)
    assert (answer.body_bytes, answer.truncated) == (LIMIT, True)


@pytest.mark.parametrize("size", [1, 15])
async def test_endless_crumbs_end_sooner(size: int) -> None:
    async with rig() as net:
        answer = await net.get(f"/chunks?size={size}")
        assert (answer.body_bytes, answer.truncated) == (pytest.approx(20_000 * size, rel=0.001), True)
        with pytest.raises(Failed) as caught:
            await net.get(f"/chunks?size={size}", overflow="error")
        assert caught.value.code == "bad_response"


@pytest.mark.parametrize("path", ["/cl-te", "/chunks?size=10&count=3", "/hints?count=5"])
async def test_odd_but_readable(path: str) -> None:
    async with rig() as net:
        assert (await net.get(path)).body
