"""The egress grammar: what an entry covers, what is dropped and why, and that intersections are exact."""

from __future__ import annotations

import itertools

import pytest

from jupyter_webresearch.policy.egress import UNRESTRICTED, HostEntry, HostList
from jupyter_webresearch.policy.urls import canonical_host, parse_url
from tests.policy.test_addresses import METADATA, RANGES, first_second_last

PUBLIC = "93.184.216.34"


def read(*texts: str) -> HostList:
    return HostList.read(texts)


def reason(text: str) -> str:
    hosts = read(text)
    assert hosts.entries == ()
    (dropped,) = hosts.dropped
    assert dropped.text == text
    return dropped.reason


# ---------------------------------------------------------------- what is covered


@pytest.mark.parametrize(
    ("entry", "inside", "outside"),
    [
        ("example.com", ["example.com"],
         ["www.example.com", "example.com.evil.net", "evilexample.com", "example.co", "com", "xexample.com"]),
        ("*.example.com", ["example.com", "a.example.com", "a.b.example.com", "-.example.com"],
         ["evilexample.com", "example.com.evil.net", "com", "example.community", "e.xample.com"]),
        ("localhost", ["localhost"], ["a.localhost", "localhost.example.com"]),
        (UNRESTRICTED, ["example.com", PUBLIC, "2606:4700:4700::1111", "localhost"], []),
        (PUBLIC, [PUBLIC], ["93.184.216.35", "1.93.184.216.34"]),
        ("[2606:4700:4700:0::1111]", ["2606:4700:4700::1111"], ["2606:4700:4700::1112", "[2606:4700:4700::1111]"]),
    ],
)  # fmt: skip
def test_an_entry_covers_labels_not_characters(entry: str, inside: list[str], outside: list[str]) -> None:
    hosts = read(entry)
    (only,) = hosts.entries
    for host in inside:
        assert only.covers(host)
        assert hosts.covering(host) == only
    for host in outside:
        assert not only.covers(host)
        assert hosts.covering(host) is None


def test_the_narrowest_entry_is_told() -> None:
    hosts = read(UNRESTRICTED, "*.example.com", "*.a.example.com", "b.a.example.com")
    expected = {
        "b.a.example.com": "b.a.example.com",
        "c.a.example.com": "*.a.example.com",
        "a.example.com": "*.a.example.com",
        "c.example.com": "*.example.com",
        "example.net": UNRESTRICTED,
    }
    for host, text in expected.items():
        assert hosts.covering(host) == HostEntry(text)


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("EXAMPLE.com", "example.com"),
        ("example.com.", "example.com"),
        ("*.Example.COM.", "*.example.com"),
        ("münchen.de", "xn--mnchen-3ya.de"),
        ("mu\u0308nchen.de", "xn--mnchen-3ya.de"),
        ("*.München.de", "*.xn--mnchen-3ya.de"),
        ("xn--mnchen-3ya.de", "xn--mnchen-3ya.de"),
        ("my_bucket.s3.example.com", "my_bucket.s3.example.com"),
        ("[2606:4700:4700:0:0::1111]", "[2606:4700:4700::1111]"),
        ("*.github.io", "*.github.io"),  # not a registry but a company's domain, though anyone can have a page there
        ("LOCALHOST", "localhost"),
        ("wiki", "wiki"),
    ],
)
def test_an_entry_takes_the_form_that_hosts_of_urls_have(written: str, canonical: str) -> None:
    hosts = read(written, written, canonical)
    assert hosts.texts == [canonical]
    if not written.startswith("*."):
        assert hosts.covering(canonical_host(written)) is not None
        assert hosts.covering(parse_url(f"http://{written}/").host) is not None


def test_an_entry_says_what_it_covers() -> None:
    hosts = read("a.example", "*.b.example", UNRESTRICTED)
    described = [entry.description for entry in hosts.entries]
    assert described == ["a.example only", "b.example and every name below it", "anywhere public"]


# ---------------------------------------------------------------- what is dropped


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        (" ", "host name"),
        ("*", UNRESTRICTED),
        ("*.", UNRESTRICTED),
        ("**", "wildcard"),
        ("*.*.example.com", "wildcard"),
        ("a.*.example.com", "wildcard"),
        ("example.*", "wildcard"),
        ("*example.com", "wildcard"),
        ("*.com", "anyone"),
        ("*.co.uk", "anyone"),
        ("*.COM.AU", "anyone"),
        ("*.gov.uk", "anyone"),
        ("*.公司.cn", "anyone"),
        ("*.xn--p1ai", "anyone"),
        ("*.k12.ca.us", "anyone"),
        ("*.localhost", "anyone"),
        ("*.not-a-registry-yet", "anyone"),
        (f"*.{PUBLIC}", "address"),
        ("*.[2606:4700:4700::1111]", "address"),
        ("example.com:8443", "port"),
        ("example.com:", "port"),
        (f"{PUBLIC}:80", "port"),
        ("[2606:4700:4700::1111]:443", "port"),
        ("Internet:Unrestricted", "misspelt"),
        ("internet:", "misspelt"),
        ("https://example.com", "URL"),
        ("https://example.com/path", "URL"),
        ("//example.com", "path"),
        ("example.com/", "path"),
        ("example.com/path", "path"),
        ("93.184.216.0/24", "network"),
        ("user@example.com", "user name"),
        ("2606:4700:4700::1111", "brackets"),
        ("[example.com]", "brackets"),
        ("[::1%eth0]", "brackets"),
        ("exa mple.com", "character"),
        (" example.com", "character"),
        ("example.com\n", "character"),
        ("example.com?", "character"),
        ("ex\u00adample.com", "character"),
        ("\uff45xample.com", "character"),
        ("example\u3002com", "character"),
        (".example.com", "empty part"),
        ("a..example.com", "empty part"),
        ("*..example.com", "empty part"),
        ("xn--a.com", "internationalised"),
        ("1.2.3", "four decimal numbers"),
        ("0x7f.1", "four decimal numbers"),
        ("2130706433", "four decimal numbers"),
        ("a" * 64 + ".com", "longer"),
        (".".join(["a" * 60] * 5), "longer"),
    ],
)  # fmt: skip
def test_what_can_not_be_read_is_dropped_with_its_reason(text: str, why: str) -> None:
    assert why in reason(text)
    assert read("a.example", text).texts == ["a.example", text]


@pytest.mark.parametrize("row", RANGES, ids=lambda row: row["cidr"])
def test_an_address_that_is_not_public_is_dropped(row: dict[str, str]) -> None:
    for text in first_second_last(row):
        assert "public" in reason(f"[{text}]" if ":" in text else text)


@pytest.mark.parametrize(
    "text", [*METADATA.split(), "2606:4700:0:0:0:5efe:7f00:1", "64:ff9b::1.2.3.4", "::ffff:93.184.216.34"]
)
def test_so_is_one_that_carries_another(text: str) -> None:
    assert reason(f"[{text}]" if ":" in text else text)


def test_a_list_of_which_nothing_can_be_read_is_nowhere() -> None:
    hosts = read("*", "https://example.com", "")
    assert str(hosts) == "nowhere"
    assert not any(map(hosts.covering, ["example.com", "", "evil.net"]))


@pytest.mark.parametrize("text", ["*.example.com", "*", PUBLIC, "[2606:4700:4700::1111]", UNRESTRICTED, "10.0.0.1"])
def test_only_exact_names_are_entries_for_acting(text: str) -> None:
    hosts = HostList.read_acting(["App.example.com", text])
    assert hosts.texts == ["app.example.com", text]
    assert [dropped.text for dropped in hosts.dropped] == [text]
    assert hosts.dropped[0].reason


# ---------------------------------------------------------------- lists


ENTRIES = [
    "a.example.com", "b.example.com", "example.com", "*.example.com", "*.a.example.com", "x.a.example.com",
    "example.net", UNRESTRICTED, PUBLIC, "[2606:4700:4700::1111]",
]  # fmt: skip
HOSTS = [
    "example.com", "a.example.com", "b.example.com", "c.example.com", "x.a.example.com", "y.a.example.com",
    "z.y.a.example.com", "example.net", "sub.example.net", "com", PUBLIC, "2606:4700:4700::1111", "1.1.1.1",
]  # fmt: skip


def test_an_intersection_covers_what_both_cover_and_nothing_else() -> None:
    lists = [read(*pair) for pair in itertools.combinations(ENTRIES, 2)] + [read(one) for one in ENTRIES] + [read()]
    for first, second in itertools.product(lists, lists):
        common = first.within(second)
        for host in HOSTS:
            both = first.covering(host) is not None and second.covering(host) is not None
            assert (common.covering(host) is not None) == both, (first.texts, second.texts, host)


def test_an_entry_is_enclosed_when_all_that_it_covers_is_covered() -> None:
    for outer, inner in itertools.product(ENTRIES, ENTRIES):
        inside = {host for host in HOSTS if HostEntry(inner).covers(host)}
        expected = all(HostEntry(outer).covers(host) for host in inside)
        assert read(outer).encloses(HostEntry(inner)) == expected, (outer, inner)


def test_what_another_list_leaves_of_each_entry_is_the_intersection() -> None:
    for pair, other in itertools.product(itertools.combinations(ENTRIES, 2), ENTRIES):
        hosts, bound = read(*pair), read(other)
        shares = hosts.shares(bound)
        assert list(shares) == list(hosts.entries)
        for entry, host in itertools.product(hosts.entries, HOSTS):
            left = any(part.covers(host) for part in shares[entry])
            assert left == (entry.covers(host) and bound.covering(host) is not None), (pair, other, host)


def test_what_was_dropped_from_either_list_goes_on_being_named() -> None:
    common = read("a.example", "*.com").within(read(UNRESTRICTED, "b.example:80", "*.com"))
    assert common.texts == ["a.example", "*.com", "b.example:80"]
    assert HostList.read(common.texts) == common
    assert read("*").within(read("a.example")).texts == ["*"]
    assert read("a.example").joined(read("*.b.example", "*")).texts == ["a.example", "*.b.example", "*"]


def test_reading_what_a_list_says_gives_the_same_list() -> None:
    hosts = read("*", "B.example", "[2606:4700:4700:0::1111]", "https://x.example", "*.a.example", UNRESTRICTED)
    assert HostList.read(hosts.texts) == hosts


def test_a_message_names_a_few_entries() -> None:
    many = read(*(f"h{number}.example" for number in range(50)))
    assert str(many).startswith("h0.example, h1.example, ")
    assert str(many).endswith(" more")
    assert len(str(many)) < 150


def test_every_host_that_a_url_can_have_makes_an_entry_that_covers_it() -> None:
    for url in (
        "https://example.com",
        "http://[2606:4700:4700::1111]:8080/",
        f"http://{PUBLIC}/",
        "https://münchen.de",
    ):
        host = parse_url(url).host
        entry = HostEntry.of(host)
        assert entry.covers(host)
        assert read(entry.text).entries == (entry,)
