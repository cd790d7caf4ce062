"""Content encodings over the wire: honest, damaged, and bombs."""

from __future__ import annotations

import pytest

from jupyter_webresearch.errors import Failed
from tests.net.retrieving import MIB, heartbeat, rig
from tests.sites.encodings import bomb, encode, sentences


@pytest.mark.parametrize("names", ["gzip", "deflate", "raw-deflate", "br", "gzip,br", "br,gzip", "gzip,gzip"])
@pytest.mark.parametrize("size", [0, 1, 5000, 3_000_000])
async def test_honest_ones_are_undone(names: str, size: int) -> None:
    async with rig() as net:
        answer = await net.get(f"/encoded?with={names}&size={size}")
    assert answer.body == sentences(size)
    assert not answer.truncated
    assert answer.head.announced is None
    assert answer.head.encodings == tuple(name.removeprefix("raw-") for name in names.split(","))


@pytest.mark.parametrize("label", ["x-gzip", "GZIP", "identity, gzip"])
async def test_other_spellings(label: str) -> None:
    async with rig() as net:
        assert (await net.get(f"/encoded?label={label.replace(' ', '%20')}")).body == sentences(5000)


@pytest.mark.parametrize(
    "path",
    [
        "/encoded?label=zstd",
        "/encoded?label=compress",
        "/encoded?label=nonsense",
        "/encoded?label=gzip,gzip,gzip",
        "/encodings",
        "/encodings?count=3",
        "/encoded?damage=flip",
        "/encoded?with=br&damage=flip",
        "/encoded?with=deflate&damage=flip",
        "/encoded?damage=plain",
        "/encoded?with=br&damage=plain",
        "/encoded?label=br",
        "/encoded?with=br&damage=garbage",
        "/encoded?with=gzip,gzip&label=gzip&type=text/html",
        "/encoded?label=identity&type=text/html",
        "/empty-blocks?count=4000000",
        "/members?count=20000",
    ],
)
@pytest.mark.parametrize("overflow", ["truncate", "error"])
async def test_refused(path: str, overflow: str) -> None:
    async with rig() as net:
        with pytest.raises(Failed) as caught:
            await net.get(path, overflow=overflow, limit=1 * MIB)
        assert caught.value.code in ("bad_encoding", "headers_too_large")


@pytest.mark.parametrize("size", [1, 2, 3, 100])
async def test_compressed_text_without_a_label_is_refused_in_crumbs_too(size: int) -> None:
    body = encode(b"some words " * 50, ("gzip",))
    chunks = [body[start : start + size] for start in range(0, len(body), size)]
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer = head + b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"
    async with rig() as net:
        with pytest.raises(Failed) as caught:
            await net.get(f"/raw?hex={answer.hex()}")
    assert caught.value.code == "bad_encoding"


@pytest.mark.parametrize("names", ["gzip", "deflate"])
async def test_trailing_garbage_is_ignored(names: str) -> None:
    async with rig() as net:
        answer = await net.get(f"/encoded?with={names}&damage=garbage")
    assert (answer.body, answer.truncated) == (sentences(5000), False)


async def test_many_members() -> None:
    async with rig() as net:
        assert (await net.get("/members?count=10000")).body == b"x" * 10_000


@pytest.mark.parametrize("names", ["gzip", "br", "deflate", "gzip,gzip", "br,br", "gzip,br", "br,gzip"])
@pytest.mark.parametrize("overflow", ["truncate", "error"])
async def test_a_bomb_ends_at_the_limit_and_stalls_nothing(names: str, overflow: str) -> None:
    async with rig() as net, heartbeat() as late:
        if overflow == "truncate":
            answer = await net.get(f"/bomb?with={names}&size={64 * MIB}")
            assert (answer.body_bytes, answer.truncated) == (10 * MIB, True)
        else:
            with pytest.raises(Failed) as caught:
                await net.get(f"/bomb?with={names}&size={64 * MIB}", overflow="error")
            assert caught.value.code == "too_large"
    assert max(late, default=0) < 0.1


@pytest.mark.parametrize("status", [404, 500, 503])
async def test_a_bomb_on_an_error_page(status: int) -> None:
    async with rig() as net:
        net.site.serve("/x", bomb(("gzip",), 64 * MIB), status=status, headers={"Content-Encoding": "gzip"})
        answer = await net.get("/x", limit=64 * 1024)
    assert (answer.head.status, answer.body_bytes, answer.truncated) == (status, 64 * 1024, True)


@pytest.mark.parametrize("path", ["/chunks?size=1&count=60000", "/empty-blocks?count=10000000", "/big?size=10000000"])
async def test_work_for_its_own_sake_stalls_nothing(path: str) -> None:
    async with rig() as net, heartbeat() as late:
        try:
            await net.get(path, limit=1 * MIB)
        except Failed as error:
            assert error.code == "bad_encoding"
    assert max(late, default=0) < 0.1
