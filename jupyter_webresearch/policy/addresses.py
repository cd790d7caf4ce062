"""Which IP addresses are public: a table of our own, and the IPv4 addresses that IPv6 addresses carry.

``ipaddress.is_global`` is not used: its answer depends on the Python version (CVE-2024-4032), and on 3.11.7 it calls 21
of the ranges below global. IPv6 counts as public inside 2000::/3 only (IANA IPv6 address space registry).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

__all__ = [
    "BLOCKED",
    "IPAddress",
    "IPNetwork",
    "Range",
    "blocked_range",
    "contains",
    "embedded_ipv4",
    "is_loopback",
    "is_metadata",
    "parse_address",
]

IPAddress = IPv4Address | IPv6Address
IPNetwork = IPv4Network | IPv6Network


@dataclass(frozen=True)
class Range:
    """One row of the table: a CIDR that is not the public internet, what it is, and what defines it."""

    cidr: str
    meaning: str
    source: str


BLOCKED: tuple[Range, ...] = (
    Range("0.0.0.0/8", "this network; connecting to 0.0.0.0 reaches loopback", "RFC 1122"),
    Range("10.0.0.0/8", "private use", "RFC 1918"),
    Range("100.64.0.0/10", "shared address space of carriers and overlay networks such as Tailscale", "RFC 6598"),
    Range("127.0.0.0/8", "loopback", "RFC 1122"),
    Range("168.63.129.16/32", "Azure's platform address, which looks public", "Microsoft Azure"),
    Range("169.254.0.0/16", "link-local, cloud metadata", "RFC 3927"),
    Range("172.16.0.0/12", "private use", "RFC 1918"),
    Range("192.0.0.0/24", "IETF protocol assignments", "RFC 6890"),
    Range("192.0.2.0/24", "documentation", "RFC 5737"),
    Range("192.31.196.0/24", "AS112 sink", "RFC 7535"),
    Range("192.52.193.0/24", "AMT relays", "RFC 7450"),
    Range("192.88.99.0/24", "6to4 relays, deprecated", "RFC 7526"),
    Range("192.168.0.0/16", "private use", "RFC 1918"),
    Range("192.175.48.0/24", "AS112 sink", "RFC 7534"),
    Range("198.18.0.0/15", "benchmarking; the fake addresses of some VPNs and proxies", "RFC 2544"),
    Range("198.51.100.0/24", "documentation", "RFC 5737"),
    Range("203.0.113.0/24", "documentation", "RFC 5737"),
    Range("224.0.0.0/4", "multicast", "RFC 5771"),
    Range("240.0.0.0/4", "reserved, limited broadcast", "RFC 1112, RFC 919"),
    # IPv6: everything outside 2000::/3 ...
    Range("::/3", "loopback, unspecified and IPv4 inside IPv6 among them; not global unicast", "RFC 4291"),
    Range("4000::/2", "not global unicast", "RFC 4291"),
    Range("8000::/1", "unique local, link-local and multicast among them; not global unicast", "RFC 4291"),
    # ... and these inside it.
    Range("2001::/23", "IETF protocol assignments, Teredo, ORCHID", "RFC 2928"),
    Range("2001:db8::/32", "documentation", "RFC 3849"),
    Range("2002::/16", "6to4", "RFC 3056"),
    Range("2620:4f:8000::/48", "AS112 sink", "RFC 7534"),
    Range("3ffe::/16", "6bone, returned", "RFC 3701"),
    Range("3fff::/20", "documentation", "RFC 9637"),
)
"""Every range that is not the public internet (IANA's special-purpose registries, and what they leave out)."""

# What a machine in a cloud is told about itself, credentials included. Whole /24s where the providers add services.
_METADATA_IPV4 = (
    "169.254.169.0/24",  # AWS, Google, Azure, Oracle, DigitalOcean, OpenStack, Hetzner; .253 is AWS's resolver
    "169.254.170.0/24",  # AWS ECS (.2) and EKS (.23) credentials
    "169.254.0.23/32",  # Tencent
    "169.254.42.42/32",  # Scaleway
    "100.100.100.200/32",  # Alibaba
    "192.0.0.192/32",  # Oracle, legacy
    "168.63.129.16/32",  # Azure WireServer
)
_METADATA_IPV6 = (
    "fd00:ec2::/32",  # AWS: ::254 metadata, ::23 EKS credentials, ::253 resolver
    "fd20:ce::254/128",  # Google
    "fd00:42::42/128",  # Scaleway
)


def parse_address(text: str) -> IPAddress | None:
    """Read one answer of a resolver; the zone id (``%eth0``) is dropped. None when it is not an IP address."""
    try:
        return ip_address(text.partition("%")[0])
    except ValueError:
        return None


def blocked_range(address: IPAddress) -> Range | None:
    """Return the row of :data:`BLOCKED` that holds the address, or None when it is public."""
    value = int(address)
    for low, high, row in _bounds(address.version):
        if low <= value <= high:
            return row
    return None


def contains(networks: Iterable[IPNetwork], address: IPAddress) -> bool:
    """Return whether one of the networks holds the address; IPv4 and IPv6 never match each other.

    Parameters
    ----------
    networks
        Where to look.
    address
        What to look for.
    """
    return any(address.version == network.version and address in network for network in networks)


def is_loopback(address: IPAddress) -> bool:
    """Return whether a connection to the address ends on this machine whatever its interfaces are."""
    return address.is_loopback or address.is_unspecified or (address.version == 4 and int(address) >> 24 == 0)


def is_metadata(address: IPAddress) -> bool:
    """Return whether this is a cloud's metadata service, in any form that carries its IPv4 address.

    For IPv6 the low 32 bits are looked at under every prefix: a NAT64 prefix of the local network can be any /96
    (RFC 6052), and OpenStack's fe80::a9fe:a9fe is built the same way.
    """
    if isinstance(address, IPv4Address):
        return contains(_networks(_METADATA_IPV4), address)
    carried = (*embedded_ipv4(address), IPv4Address(int(address) & 0xFFFFFFFF))
    return contains(_networks(_METADATA_IPV6), address) or any(is_metadata(inner) for inner in carried)


def embedded_ipv4(address: IPAddress) -> tuple[IPv4Address, ...]:
    """Return the IPv4 addresses to which a packet for this address may be turned into one.

    IPv4-mapped and -compatible (RFC 4291), SIIT (RFC 2765), NAT64 well-known (RFC 6052) and local-use at each of its
    prefix lengths (RFC 8215), 6to4 (RFC 3056), Teredo's server and client (RFC 4380), ISATAP (RFC 5214). ``::`` and
    ``::1`` carry none.
    """
    if isinstance(address, IPv4Address):
        return ()
    value = int(address)
    low = IPv4Address(value & 0xFFFFFFFF)
    high96 = value >> 32
    if high96 in (0x0, 0xFFFF, 0xFFFF_0000, 0x0064_FF9B_0000_0000_0000_0000):
        return () if value <= 1 else (low,)
    if value >> 80 == 0x0064_FF9B_0001:
        # RFC 6052 puts the IPv4 address behind the prefix and skips bits 64 to 71.
        behind_48 = (value >> 64 & 0xFFFF) << 16 | (value >> 40 & 0xFFFF)
        behind_56 = (value >> 64 & 0xFF) << 24 | (value >> 32 & 0xFFFFFF)
        behind_64 = value >> 24 & 0xFFFFFFFF
        return low, IPv4Address(behind_48), IPv4Address(behind_56), IPv4Address(behind_64)
    if value >> 112 == 0x2002:
        return (IPv4Address(value >> 80 & 0xFFFFFFFF),)
    if value >> 96 == 0x2001_0000:
        return IPv4Address(value >> 64 & 0xFFFFFFFF), IPv4Address(value & 0xFFFFFFFF ^ 0xFFFFFFFF)
    if value >> 32 & 0xFFFFFFFF in (0x0000_5EFE, 0x0200_5EFE):
        return (low,)
    return ()


@cache
def _bounds(version: int) -> tuple[tuple[int, int, Range], ...]:
    rows = [(ip_network(row.cidr), row) for row in BLOCKED]
    return tuple(
        (int(network.network_address), int(network.broadcast_address), row)
        for network, row in rows
        if network.version == version
    )


@cache
def _networks(cidrs: tuple[str, ...]) -> tuple[IPNetwork, ...]:
    return tuple(ip_network(cidr) for cidr in cidrs)
