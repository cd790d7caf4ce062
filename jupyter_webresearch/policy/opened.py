"""Which addresses may be dialled: the public ones, and what the operator opens besides."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_network

from jupyter_webresearch.config import WebPolicy
from jupyter_webresearch.policy.addresses import (
    IPAddress,
    IPNetwork,
    blocked_range,
    contains,
    embedded_ipv4,
    is_metadata,
)

__all__ = ["ANY_NETWORK", "Opened"]


@dataclass(frozen=True)
class Opened:
    """What is open besides the public internet.

    Attributes
    ----------
    private
        ``WebPolicy.allow_private_networks``.
    nat64
        ``WebPolicy.allow_nat64``.
    """

    private: tuple[IPNetwork, ...] = ()
    nat64: tuple[IPNetwork, ...] = ()

    @staticmethod
    def of(policy: WebPolicy) -> Opened:
        """Return what a policy opens."""
        return Opened(tuple(map(ip_network, policy.allow_private_networks)), tuple(map(ip_network, policy.allow_nat64)))

    def takes(self, address: IPAddress, own: Collection[IPAddress] = ()) -> bool:
        """Whether an address may be dialled, as far as its range goes.

        Parameters
        ----------
        address
            Which.
        own
            Addresses of this machine's, public or not, which are open only as private ones are.
        """
        if is_metadata(address):
            return False
        carried = self.carried(address)
        # Inside an allowed NAT64 prefix only the IPv4 address counts; elsewhere the outer one and all that it carries.
        judged = carried if contains(self.nat64, address) else (address, *carried)
        return all(
            contains(self.private, each) or (blocked_range(each) is None and each not in own and not _is_isatap(each))
            for each in judged
        )

    def carried(self, address: IPAddress) -> tuple[IPv4Address, ...]:
        """Return the IPv4 addresses to which a packet for an address may be turned into one."""
        if contains(self.nat64, address):
            return (IPv4Address(int(address) & 0xFFFFFFFF),)
        return embedded_ipv4(address)


ANY_NETWORK = Opened((IPv4Network("0.0.0.0/0"), IPv6Network("::/0")))
"""Opens whatever a policy could."""


def _is_isatap(address: IPAddress) -> bool:
    """Whether an address that looks public tunnels to an IPv4 address of the local site (RFC 5214)."""
    return address.version == 6 and bool(embedded_ipv4(address))
