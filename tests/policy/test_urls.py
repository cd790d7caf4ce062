"""One reading of a URL: what is accepted, how it is written, and what is refused rather than repaired."""

from __future__ import annotations

import contextlib
import json
import random
from urllib.parse import urlsplit

import httpx
import pytest

from jupyter_webresearch.errors import BadInput, Refused, WebResearchError
from jupyter_webresearch.policy.urls import CheckedURL, canonical_host, parse_url
from tests.growth import grows_at_most
from tests.sites.network import CASES

ACCEPTED = [line.split("\t")[0] for line in (CASES / "ok_urls.txt").read_text("utf-8").splitlines()]
HOSTILE = [line.split("\t")[0] for line in (CASES / "ssrf_urls.txt").read_text("utf-8").split("\n") if line] + [
    json.loads(line)["url"] for line in (CASES / "ssrf_urls_ctrl.jsonl").read_text("utf-8").splitlines()
]


def code(text: str) -> str:
    with pytest.raises(WebResearchError) as caught:
        parse_url(text)
    return caught.value.code


def read(text: str) -> None:
    with contextlib.suppress(WebResearchError):
        parse_url(text)


@pytest.mark.parametrize("text", ACCEPTED)
def test_accepted_urls_have_one_form(text: str) -> None:
    url = parse_url(text)
    assert url.href.isascii()
    assert "#" not in url.href
    assert parse_url(url.href) == url
    assert str(httpx.URL(url.href)) == url.href
    assert urlsplit(url.href).hostname == url.host


@pytest.mark.parametrize(
    ("text", "href"),
    [
        ("HTTP://Example.COM", "http://example.com/"),
        ("https://example.com.:443/a", "https://example.com/a"),
        ("https://example.com:0443/", "https://example.com/"),
        ("https://example.com:/", "https://example.com/"),
        ("http://example.com:8080", "http://example.com:8080/"),
        ("https://example.com?x=1", "https://example.com/?x=1"),
        ("https://example.com/?", "https://example.com/?"),
        ("https://example.com/a/./b/../c", "https://example.com/a/c"),
        ("https://example.com/a/%2E%2e/c/%2e", "https://example.com/c/"),
        ("https://example.com/../../x/..", "https://example.com/"),
        ("https://example.com/a//b", "https://example.com/a//b"),
        ("https://example.com/a b?c d", "https://example.com/a%20b?c%20d"),
        ('https://example.com/<"`{}>', "https://example.com/%3C%22%60%7B%7D%3E"),
        ("https://example.com/100%", "https://example.com/100%"),
        ("https://example.com/%zz%2F", "https://example.com/%zz%2F"),
        ("https://example.com/日本?検", "https://example.com/%E6%97%A5%E6%9C%AC?%E6%A4%9C"),
        ("https://example.com/\u202e", "https://example.com/%E2%80%AE"),
        ("https://faß.de/", "https://xn--fa-hia.de/"),
        ("https://ÖBB.at/", "https://xn--bb-eka.at/"),
        ("https://日本語.jp/", "https://xn--wgv71a119e.jp/"),
        ("https://ΑΣ.gr", "https://xn--mxa0b.gr/"),
        ("https://XN--WGV71A119E.jp/", "https://xn--wgv71a119e.jp/"),
        ("https://[2606:4700:4700:0:0:0:0:1111]:443/", "https://[2606:4700:4700::1111]/"),
        ("https://[2A00:1450:4009:81F::200E]:8443/", "https://[2a00:1450:4009:81f::200e]:8443/"),
        ("https://[::ffff:93.184.216.34]/", "https://[::ffff:5db8:d822]/"),
        ("https://my_bucket.s3.amazonaws.com/", "https://my_bucket.s3.amazonaws.com/"),
        ("https://r3---sn-4g5e6nsz.example.com/", "https://r3---sn-4g5e6nsz.example.com/"),
        ("example.com", "https://example.com/"),
        ("example.com/path?x=http://y:1/#z", "https://example.com/path?x=http://y:1/"),
        ("example.com?q", "https://example.com/?q"),
        ("Bücher.example.com.", "https://xn--bcher-kva.example.com/"),
        ("3com.com", "https://3com.com/"),
    ],
)
def test_canonical_form(text: str, href: str) -> None:
    assert parse_url(text).href == href


def test_parts() -> None:
    url = parse_url("http://[2606:4700:4700::1111]:8080/a?b#c")
    assert (url.scheme, url.host, url.port, url.target) == ("http", "2606:4700:4700::1111", 8080, "/a?b")
    assert url.origin == "http://[2606:4700:4700::1111]:8080"
    assert url.authority == "[2606:4700:4700::1111]:8080"
    assert str(url.address) == url.host
    named = parse_url("https://example.com/")
    assert (named.port, named.address, named.authority) == (443, None, "example.com")


NO_SCHEME = """
    / //example.com/ /path ?q #f http http: https:/ http:///x example localhost 127.0.0.1 127.0.0.1/x 127.0.0.1. 0x7f.1
    2130706433 [::1] ::1 10.1 example.com:8443/path example.com:80 localhost:8888 日本.jp:80/ user@example.com a@b.c/x
    . .. .com example..com ex%61mple.com １２７.0.0.1 example.com\\x
"""


@pytest.mark.parametrize("text", ["", "ex ample.com", *NO_SCHEME.split()])
def test_no_scheme_is_guessed(text: str) -> None:
    assert code(text) == "invalid_url"


SCHEMES = """
    ftp://example.com/ FILE:///etc/passwd javascript:alert(1) data:,x ws://example.com mailto:a@b.c about:blank
    view-source:http://example.com/ blob:https://example.com/x
"""


@pytest.mark.parametrize("text", [*SCHEMES.split(), "a" * 50 + ":x"])
def test_other_schemes(text: str) -> None:
    with pytest.raises(Refused) as caught:
        parse_url(text)
    assert caught.value.code == "unsupported_scheme"
    assert len(caught.value.message) < 100


@pytest.mark.parametrize("character", [*map(chr, range(0x21)), "\x7f", "\x85", "\u2028", "\u2029", "\ud800", "\ufeff"])
def test_control_characters_anywhere(character: str) -> None:
    for template in (
        "{}http://example.com/",
        "ht{}tp://example.com/",
        "http:/{}/example.com/",
        "http://exa{}mple.com/",
    ):
        assert code(template.format(character)) == "invalid_url"
    for template in ("http://example.com:8{}0/", "http://example.com{}/", "http://example.com/a{}"):
        assert code(template.format(character)) == "invalid_url"
    if character != " ":
        assert code(f"http://example.com/a{character}b?c") == "invalid_url"
        assert code(f"http://example.com/?a{character}b") == "invalid_url"
        assert code(f"http://example.com/#a{character}b") == "invalid_url"


@pytest.mark.parametrize("character", "!\"$%&'()*+,;<=>^`{|}~\\@[]")
def test_punctuation_in_a_host(character: str) -> None:
    assert code(f"http://exa{character}mple.com/") == "invalid_url"
    assert code(f"http://{character}example.com/") == "invalid_url"


@pytest.mark.parametrize(
    "template", ["{}http://a.de/", "http:{}/a.de/", "http://a.de{}", "http://a.de/x{}", "http://a.de/?x{}"]
)
def test_backslashes_anywhere(template: str) -> None:
    assert code(template.format("\\")) == "invalid_url"
    assert code(template.format("#\\@127.0.0.1")) == "invalid_url"
    assert parse_url("http://a.de/?x%5C").target == "/?x%5C"


SECOND_SPELLINGS = """
    ｅxample.com exam\u00adple.com exam\u200bple.com ex\u200dample.com example。com example．com ①.com ⓔxample.com ﬁ.com
    ℀.com ex\u0301.\u202ecom \u202eexample.com a\u2060b.com xn--a.com xn--.com xn--example-.com xn--80ak6aa92e-.com
    xn--\u00fc.com ☃.com a.\u0661 \u0301a.com
"""


@pytest.mark.parametrize("host", SECOND_SPELLINGS.split())
def test_a_name_has_one_spelling(host: str) -> None:
    assert code(f"https://{host}/") == "invalid_url"


@pytest.mark.parametrize("plane", range(17))
def test_no_character_stands_for_an_ascii_one(plane: int) -> None:
    """Whatever is accepted in a host stays a name of its own: never a second spelling of an ASCII name or number."""
    # Every character of the blocks that UTS 46 maps to ASCII; of the others one in 37, to be quick.
    for point in range(plane << 16, (plane + 1) << 16):
        if point < 0x80 or (point % 37 and not any(point in block for block in MAPPED_TO_ASCII)):
            continue
        for template in ("a{}.example.com", "127.0.0.{}"):
            try:
                url = parse_url(f"https://{template.format(chr(point))}/")
            except BadInput:
                continue
            assert "xn--" in url.host, hex(point)
            assert url.address is None


MAPPED_TO_ASCII = (range(0x3400), range(0xFB00, 0xFB10), range(0xFE00, 0x10000), range(0x1D400, 0x1D800))


@pytest.mark.parametrize("size", [2047, 2048])
def test_the_longest_url(size: int) -> None:
    text = "https://example.com/" + "a" * (size - 20)
    assert len(text) == size
    assert parse_url(text).href == text


@pytest.mark.parametrize("size", [2049, 10_000_000])
@pytest.mark.parametrize("character", ["a", "\u0660", "ü", ".", "%", "[", "@", ":", "\0"])
@pytest.mark.parametrize("start", ["https://example.com/", "https://", ""])
def test_a_longer_url_is_refused_at_once(size: int, character: str, start: str) -> None:
    text = start + character * (size - len(start))
    assert code(text) == "invalid_url"
    assert grows_at_most(2, read, text[:2049], text, floor=0.0005)  # its length is looked at, not the text


@pytest.mark.parametrize(
    "piece", ["\u0660", "ü", "a.", "1.", "xn--", "xn--a.", "..", "\u0301", "[", "a-", "%61", "@", ":"]
)
def test_no_shape_takes_long(piece: str) -> None:
    for start in ("https://", "", "https://example.com/"):
        text = (start + piece * 2048)[:2048]
        assert grows_at_most(8, read, text[:512], text, floor=0.0001)


def test_the_ascii_form_counts_too() -> None:
    assert code("https://example.com/" + "ü" * 400) == "invalid_url"
    assert len(parse_url("https://example.com/" + "ü" * 300).href) < 2048


@pytest.mark.parametrize("port", ["1", "65535", "00000000080", "0"])
def test_ports(port: str) -> None:
    """0 is a number; the guard refuses it like every port that is not allowed."""
    assert parse_url(f"http://example.com:{port}/").port == int(port)


NO_PORTS = "65536 99999 4294967376 1000080 -80 +80 8_0 ８０ 0x50 http 80:22 80. 8e1"


@pytest.mark.parametrize("port", [*NO_PORTS.split(), " 80", "9" * 500, "0" * 500 + "x"])
def test_what_is_no_port(port: str) -> None:
    assert code(f"http://example.com:{port}/") == "invalid_url"


def test_labels_and_names_at_their_limits() -> None:
    assert parse_url(f"https://{'a' * 63}.com/").host == "a" * 63 + ".com"
    assert code(f"https://{'a' * 64}.com/") == "invalid_url"
    longest = ".".join(["a" * 63, "b" * 63, "c" * 63, "d" * 61])
    assert parse_url(f"https://{longest}./").host == longest
    assert code(f"https://{longest}d/") == "invalid_url"
    assert code(f"https://{'ü' * 60}.com/") == "invalid_url"


def test_hosts_of_settings_are_read_alike() -> None:
    assert canonical_host("Bücher.Example.") == "xn--bcher-kva.example"
    with pytest.raises(BadInput):
        canonical_host("*.example.com")


def test_no_other_parser_reads_another_host() -> None:
    """Mutations of the case files: what is accepted is read alike by httpx and urllib, and stays what it is."""
    source = random.Random(7)
    seeds = ACCEPTED + HOSTILE
    alphabet = [*"/\\:@?#[]%.-_ 0127ax\t\n\r\0", "%2e", "%40", "xn--", "//", "ü", "。", "\u00ad", "①", "０"]
    accepted = 0
    for _ in range(20_000):
        text = source.choice(seeds)[:200]
        for _ in range(source.randint(1, 3)):
            place = source.randint(0, min(len(text), 40))
            text = text[:place] + source.choice(alphabet) + text[place + source.randint(0, 2) :]
        try:
            url = parse_url(text)
        except WebResearchError:
            continue
        accepted += 1
        assert_read_alike(text, url)
    assert accepted > 1000


def assert_read_alike(text: str, url: CheckedURL) -> None:
    assert parse_url(url.href) == url
    assert urlsplit(url.href).hostname == url.host
    theirs = httpx.URL(url.href)
    assert theirs.raw_host.decode() == url.host
    assert (theirs.port if theirs.port is not None else {"http": 80, "https": 443}[theirs.scheme]) == url.port
    assert theirs.raw_path.decode() == url.target
    try:
        typed = httpx.URL(text if "://" in text else f"https://{text}")
    except httpx.InvalidURL:
        return  # Where it can't read what was typed, it never sees it: only href goes on.
    host = typed.raw_host.decode().removesuffix(".").lower()
    assert url.address is not None or host == url.host, text
