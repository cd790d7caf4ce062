"""Which addresses are public: the table against the facts, in every form that carries an IPv4 address."""

from __future__ import annotations

import json
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest

from jupyter_webresearch.policy.addresses import (
    BLOCKED,
    blocked_range,
    embedded_ipv4,
    is_loopback,
    is_metadata,
    parse_address,
)
from tests.sites.network import CASES

RANGES = json.loads((CASES / "blocked_ranges.json").read_text())
NEIGHBOURS = """
    9.255.255.255 11.0.0.1 100.63.255.255 100.128.0.1 126.255.255.254 128.0.0.1 169.253.255.255 169.255.0.1
    172.15.255.255 172.32.0.1 192.167.255.255 192.169.0.1 198.17.255.255 198.20.0.1 203.0.114.1 223.255.255.254
    168.63.129.15 168.63.129.17 2001:200::1 2003::1 2000:: 3fff:1000:: 2620:4f:8001:: 2001:db7:: 3ffd:ffff::
"""
METADATA = """
    169.254.169.254 169.254.170.2 169.254.170.23 169.254.169.253 169.254.0.23 169.254.42.42 100.100.100.200
    192.0.0.192 168.63.129.16 fd00:ec2::254 fd00:ec2::23 fd20:ce::254 fd00:42::42 fe80::a9fe:a9fe
"""

FORMS: dict[str, Callable[[int], int]] = {
    "mapped": lambda v4: 0xFFFF << 32 | v4,
    "compatible": lambda v4: v4,
    "SIIT": lambda v4: 0xFFFF << 48 | v4,
    "NAT64": lambda v4: 0x64FF9B << 96 | v4,
    "NAT64 local /96": lambda v4: 0x64FF9B0001 << 80 | v4,
    "NAT64 local /48": lambda v4: 0x64FF9B0001 << 80 | v4 >> 16 << 64 | (v4 & 0xFFFF) << 40,
    "NAT64 local /56": lambda v4: 0x64FF9B0001 << 80 | v4 >> 24 << 64 | (v4 & 0xFFFFFF) << 32,
    "NAT64 local /64": lambda v4: 0x64FF9B0001 << 80 | v4 << 24,
    "6to4": lambda v4: 0x2002 << 112 | v4 << 80 | 1,
    "Teredo server": lambda v4: 0x20010000 << 96 | v4 << 64,
    "Teredo client": lambda v4: 0x20010000 << 96 | 0x01010101 << 64 | v4 ^ 0xFFFFFFFF,
    "ISATAP": lambda v4: 0x2A00_1450_4009_081F << 64 | 0x5EFE << 32 | v4,
    "ISATAP, global": lambda v4: 0x2A00_1450_4009_081F << 64 | 0x0200_5EFE << 32 | v4,
}


def first_second_last(row: dict[str, str]) -> list[str]:
    network = ip_network(row["cidr"])
    return sorted({str(network[0]), str(network[min(1, network.num_addresses - 1)]), str(network[-1])})


@pytest.mark.parametrize("row", RANGES, ids=lambda row: row["cidr"])
def test_every_blocked_range_at_its_edges(row: dict[str, str]) -> None:
    for text in first_second_last(row):
        assert blocked_range(ip_address(text)) is not None, text


@pytest.mark.parametrize("row", BLOCKED, ids=lambda row: row.cidr)
def test_no_row_of_ours_blocks_what_the_facts_do_not(row: object) -> None:
    """The table adds nothing of its own: what it blocks is in the facts, or outside 2000::/3."""
    network = ip_network(row.cidr)  # type: ignore[attr-defined]
    known = [ip_network(each["cidr"]) for each in RANGES]
    for address in (network[0], network[-1]):
        outside = address.version == 6 and address not in ip_network("2000::/3")
        assert outside or any(address.version == each.version and address in each for each in known)


@pytest.mark.parametrize("text", NEIGHBOURS.split())
def test_neighbours_stay_public(text: str) -> None:
    assert blocked_range(ip_address(text)) is None
    assert not is_metadata(ip_address(text))


@pytest.mark.parametrize("form", FORMS)
def test_carried_addresses_are_found(form: str) -> None:
    for text in (text for row in RANGES if row["version"] == 4 for text in first_second_last(row)):
        outer = IPv6Address(FORMS[form](int(IPv4Address(text))))
        if int(outer) > 1:  # ::0 and ::1 are the unspecified and the loopback address
            assert IPv4Address(text) in embedded_ipv4(outer), outer


@pytest.mark.parametrize("text", METADATA.split())
def test_metadata(text: str) -> None:
    assert is_metadata(ip_address(text))


@pytest.mark.parametrize("form", FORMS)
def test_metadata_in_every_form(form: str) -> None:
    for text in (text for text in METADATA.split() if ":" not in text):
        assert is_metadata(IPv6Address(FORMS[form](int(IPv4Address(text))))), text


@pytest.mark.parametrize("prefix", ["2001:67c:2b0:db32:0:1::", "fd12:3456::", "fe80::"])
def test_metadata_behind_an_unknown_nat64_prefix(prefix: str) -> None:
    assert is_metadata(IPv6Address(int(IPv6Address(prefix)) | 0xA9FEA9FE))


def test_plain_addresses_carry_none() -> None:
    for text in ("8.8.8.8", "::", "::1", "2606:4700:4700::1111", "fe80::1", "fd00::1"):
        assert embedded_ipv4(ip_address(text)) == ()


@pytest.mark.parametrize("text", ["127.0.0.1", "127.255.255.255", "0.0.0.0", "0.1.2.3", "::", "::1"])
def test_loopback(text: str) -> None:
    assert is_loopback(ip_address(text))
    assert not is_loopback(ip_address("128.0.0.1"))


def test_zone_ids_are_dropped_and_junk_is_nothing() -> None:
    assert parse_address("fe80::1%eth0") == ip_address("fe80::1")
    for junk in ("", "%eth0", "127.1", "0177.0.0.1", "2130706433", "127.0.0.1\0.example.com", "/run/socket", "१.1.1.1"):
        assert parse_address(junk) is None
