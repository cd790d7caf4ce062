"""Decoders: right on every honest stream, bounded on every other."""

from __future__ import annotations

import gzip
import itertools
import random
import time
import zlib

import pytest

from jupyter_webresearch.errors import Failed
from jupyter_webresearch.net.decoding import MAX_MEMBERS, STEP_OUT, ContentDecoder, encodings_of
from tests.sites.encodings import bomb, empty_blocks, encode, label, sentences

ONE = [("gzip",), ("deflate",), ("raw-deflate",), ("br",)]
TWO = list(itertools.product(["gzip", "deflate", "raw-deflate", "br"], repeat=2))
TEXT = sentences(300_000)


def decoder(names: tuple[str, ...]) -> ContentDecoder:
    return ContentDecoder(encodings_of([label(names)]))


def decode(made: ContentDecoder, data: bytes, chunk: int) -> bytes:
    return b"".join(piece for start in range(0, len(data), chunk) for piece in made.feed(data[start : start + chunk]))


@pytest.mark.parametrize("names", [(), *ONE, *TWO])
@pytest.mark.parametrize("chunk", [1, 7, 4096, 1 << 20])
@pytest.mark.parametrize(
    "text", [TEXT, b"", b"a", random.Random(1).randbytes(200_000)], ids=["text", "0", "1", "random"]
)
def test_what_was_encoded_comes_back(names: tuple[str, ...], chunk: int, text: bytes) -> None:
    text = text[: 3000 * chunk]
    made = decoder(names)
    assert decode(made, encode(text, names), chunk) == text
    assert made.complete()


@pytest.mark.parametrize("names", [(), *ONE, *TWO])
def test_an_empty_body_is_complete(names: tuple[str, ...]) -> None:
    assert decoder(names).complete()


@pytest.mark.parametrize("names", [*ONE, *TWO])
@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_a_cut_stream_gives_its_beginning_and_is_not_complete(names: tuple[str, ...], share: float) -> None:
    data = encode(TEXT, names)
    made = decoder(names)
    assert TEXT.startswith(decode(made, data[: int(len(data) * share)], 4096))
    assert not made.complete()


@pytest.mark.parametrize("names", [*ONE, ("gzip", "gzip"), ("br", "br"), ("gzip", "br"), ("br", "gzip")])
def test_no_step_gives_much_or_takes_long(names: tuple[str, ...]) -> None:
    """The longest step is a small part of the whole, in processor time: of a few tries the one least disturbed."""
    data = bomb(names, 32 << 20)
    shares = []
    for _ in range(8):
        made = decoder(names)
        made.allowance = 64 << 20
        steps, before = [], time.thread_time()
        for piece in made.feed(data):
            now = time.thread_time()
            steps.append((now - before, len(piece)))
            before = now
        assert sum(size for _, size in steps) == 32 << 20
        assert max(size for _, size in steps) <= STEP_OUT
        shares.append(max(seconds for seconds, _ in steps) / sum(seconds for seconds, _ in steps))
        if shares[-1] < 0.3:
            break
    assert min(shares) < 0.3


def test_a_body_of_nothing_ends_at_the_allowance() -> None:
    made = decoder(("gzip", "gzip"))
    with pytest.raises(Failed, match="larger than all that could be kept") as caught:
        decode(made, empty_blocks(2_000_000), 65536)
    assert caught.value.code == "bad_encoding"


@pytest.mark.parametrize("chunk", [1, 5, 4096, 1 << 20])
def test_gzip_of_many_members(chunk: int) -> None:
    data = b"".join(gzip.compress(b"%d," % n) for n in range(300))
    made = decoder(("gzip",))
    assert decode(made, data, chunk) == b"".join(b"%d," % n for n in range(300))
    assert made.complete()


def test_members_are_limited() -> None:
    member = gzip.compress(b"x")
    assert decode(decoder(("gzip",)), member * MAX_MEMBERS, 65536) == b"x" * MAX_MEMBERS
    with pytest.raises(Failed, match="members"):
        decode(decoder(("gzip",)), member * (MAX_MEMBERS + 1), 65536)


@pytest.mark.parametrize("names", [("gzip",), ("deflate",), ("raw-deflate",)])
@pytest.mark.parametrize("garbage", [b"\0", b"\0" * 1000, b"garbage", b"\x1e\x8b\x08" * 10])
@pytest.mark.parametrize("chunk", [1, 4096])
def test_what_follows_the_end_is_ignored(names: tuple[str, ...], garbage: bytes, chunk: int) -> None:
    made = decoder(names)
    assert decode(made, encode(TEXT[:5000], names) + garbage, chunk) == TEXT[:5000]
    assert made.complete()


@pytest.mark.parametrize("names", [*ONE, ("gzip", "br")])
def test_damage_is_an_error_or_a_cut_but_never_an_exception_of_another_kind(names: tuple[str, ...]) -> None:
    chance = random.Random(7)
    data = encode(TEXT[:20_000], names)
    outcomes = set()
    for _ in range(300):
        damaged = bytearray(data)
        for _ in range(chance.randint(1, 5)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        made = decoder(names)
        try:
            decode(made, bytes(damaged), 4096)
            outcomes.add("decoded")
        except Failed as error:
            assert error.code == "bad_encoding"
            outcomes.add("failed")
    assert "failed" in outcomes


@pytest.mark.parametrize("names", ONE)
def test_noise(names: tuple[str, ...]) -> None:
    chance = random.Random(3)
    for size in range(200):
        made = decoder(names)
        try:
            decode(made, chance.randbytes(size), 16)
        except Failed as error:
            assert error.code == "bad_encoding"


@pytest.mark.parametrize("names", [("gzip",), ("deflate",), ("br",)])
def test_plain_text_under_a_label_is_an_error(names: tuple[str, ...]) -> None:
    with pytest.raises(Failed) as caught:
        decode(decoder(names), TEXT, 4096)
    assert caught.value.code == "bad_encoding"


def test_a_wrong_checksum_is_damage() -> None:
    data = bytearray(gzip.compress(TEXT))
    data[-6] ^= 1
    with pytest.raises(Failed):
        decode(decoder(("gzip",)), bytes(data), 4096)
    data = bytearray(zlib.compress(TEXT))
    data[-1] ^= 1
    with pytest.raises(Failed):
        decode(decoder(("deflate",)), bytes(data), 4096)


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([], ()),
        ([""], ()),
        (["identity"], ()),
        (["gzip"], ("gzip",)),
        (["GZip "], ("gzip",)),
        (["x-gzip"], ("gzip",)),
        (["br, gzip"], ("br", "gzip")),
        (["deflate", "identity"], ("deflate",)),
        ([",gzip,,"], ("gzip",)),
    ],
)
def test_encodings(values: list[str], names: tuple[str, ...]) -> None:
    assert encodings_of(values) == names


@pytest.mark.parametrize(
    "values",
    [
        *[
            ["zstd"],
            ["compress"],
            ["x-compress"],
            ["dcb"],
            ["aes128gcm"],
            ["gzip;q=1"],
            ["*"],
            ["utf-8"],
            ["x" * 10_000],
        ],
        *[["gzip, gzip, gzip"], ["gzip"] * 3, ["identity"] * 3, ["gzip," * 5000], ["br, zstd"]],
    ],
    ids=lambda values: ",".join(values)[:20],
)
def test_encodings_that_are_refused(values: list[str]) -> None:
    with pytest.raises(Failed) as caught:
        encodings_of(values)
    assert caught.value.code == "bad_encoding"
    assert len(caught.value.message) < 200
