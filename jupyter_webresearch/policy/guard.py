"""The decision: may this URL be read, and which of the addresses of its host may be dialled.

Everything fails closed. The lists of the policy are read once, when the guard is made; its traits have brought every
entry into canonical form or stopped the start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_network

from jupyter_webresearch.config import BAD_PORTS, WebPolicy
from jupyter_webresearch.errors import Failed, Refused, WebResearchError
from jupyter_webresearch.models import Verdict
from jupyter_webresearch.policy.addresses import (
    IPAddress,
    IPNetwork,
    blocked_range,
    contains,
    is_loopback,
    is_metadata,
    parse_address,
)
from jupyter_webresearch.policy.machine import Recent, exported_ports, interface_addresses, jupyter_ports
from jupyter_webresearch.policy.opened import Opened
from jupyter_webresearch.policy.urls import CheckedURL, parse_url

__all__ = ["Guard"]

MAX_ANSWERS = 1024
"""Addresses of one host that are judged; a host with more is refused (a DNS answer over TCP can hold 4,000)."""

# Names that lead to this machine (RFC 6761, and what distributions put into /etc/hosts), each with all below it.
_THIS_MACHINE = ("localhost", "localdomain", "localhost6", "localdomain6", "ip6-localhost", "ip6-loopback")
# Names of the machine's host, cluster or cloud, and names that never name a public site (RFC 6761, RFC 7686).
_NEVER = (
    "metadata",
    "metadata.google.internal",
    "metadata.goog",
    "metadata.tencentyun.com",
    "metadata.azure.internal",
    "instance-data",
    "instance-data.ec2.internal",
    "rancher-metadata",
    "host.docker.internal",
    "gateway.docker.internal",
    "kubernetes",
    "onion",
    "invalid",
    "test",
)
# Names of private networks: refused before DNS, unless the operator allows private networks at all.
# local: RFC 6762; home.arpa: RFC 8375; internal: ICANN 2024; lan and corp: in wide use, never delegated.
_PRIVATE_SUFFIXES = ("local", "internal", "home.arpa", "lan", "corp")

# Ranges that ordinary names resolve to behind some VPNs: here the refusal says what to set.
_EXPLAINED = {"198.18.0.0/15": "the fake addresses of a VPN or proxy", "100.64.0.0/10": "a carrier or overlay network"}

_MAPPED = IPv6Network("::ffff:0:0/96")

_ALLOW_PRIVATE = "WebPolicy.allow_private_networks"
_EXTRA_BLOCKED = "WebPolicy.extra_blocked"


class Guard:
    """Decide for one policy.

    Parameters
    ----------
    policy
        Its lists are read now; later changes to it are not seen.
    interfaces
        Returns the addresses of this machine's own interfaces; by default asks the system.
    own_ports
        Returns the ports of Jupyter and of this package on this machine; by default looks for running servers. Those
        that the environment names are refused as well.
    """

    def __init__(
        self,
        policy: WebPolicy,
        *,
        interfaces: Callable[[], frozenset[IPAddress]] | None = None,
        own_ports: Callable[[], frozenset[int]] | None = None,
    ) -> None:
        # Interfaces come and go; each reading serves the fetches of a few seconds.
        self._interfaces = interfaces or Recent(interface_addresses)
        self._own_ports = own_ports or Recent(jupyter_ports)
        self._ports = frozenset(policy.allowed_ports) - BAD_PORTS
        self._opened = Opened.of(policy)
        blocked = {entry: _network_or_none(entry) for entry in policy.extra_blocked}
        self._blocked_networks = _with_ipv4(network for network in blocked.values() if network is not None)
        self._blocked_hosts = frozenset(entry for entry, network in blocked.items() if network is None)
        self._blocked_below = tuple(entry[2:] for entry in self._blocked_hosts if entry.startswith("*."))

    def check_url(self, url: str) -> CheckedURL:
        """Read a URL and decide all that can be decided without DNS.

        Raises
        ------
        BadInput
            ``invalid_url``.
        Refused
            ``unsupported_scheme``, ``blocked_port``, ``blocked_host``, or ``blocked_address`` for an IP address in the
            URL itself.
        """
        checked = parse_url(url)
        if checked.address is not None:
            # Before the port: who writes an address that is not public should read that this is why.
            self._check_host(checked.host)
            self._judge(checked, (checked.address,))
        if checked.port not in self._ports:
            raise self._port_refused(checked.port)
        if checked.address is None:
            self._check_host(checked.host)
        return checked

    def check_addresses(self, url: CheckedURL, answers: Sequence[str]) -> tuple[IPAddress, ...]:
        """Judge every address of the host, and return them without repetition, in the resolver's order.

        One bad address, or one answer that is no IP address, refuses the host: whoever answers could steer the choice.

        Parameters
        ----------
        url
            Whose host was resolved.
        answers
            Addresses as text, as the resolver gave them.

        Raises
        ------
        Refused
            ``blocked_address``.
        Failed
            ``unresolved``: there are no answers.
        """
        if not answers:
            raise Failed("unresolved", f"{url.host} has no address; is it spelt right?", setting="")
        addresses = [parse_address(answer) for answer in answers[: MAX_ANSWERS + 1]]
        known = tuple(dict.fromkeys(address for address in addresses if address is not None))
        if len(answers) > MAX_ANSWERS or None in addresses:
            raise _not_public(url, None)
        self._judge(url, known)
        return known

    def verdict(self, url: str) -> Verdict:
        """Say what :meth:`check_url` decides, as data; the code is ``ok`` when it is allowed."""
        try:
            checked = self.check_url(url)
        except WebResearchError as error:
            return Verdict(url, "refused", error.code, error.message)
        return Verdict(url, "allowed", "ok", f"{checked.origin} may be read, unless its addresses are not public")

    def _port_refused(self, port: int) -> Refused:
        if port in BAD_PORTS:
            message = f"port {port} is on the browsers' list of bad ports; no setting opens it"
            return Refused("blocked_port", message, setting="")
        allowed = ", ".join(map(str, sorted(self._ports))) or "none"
        return Refused("blocked_port", f"port {port} is not one of the allowed ports ({allowed})")

    def _check_host(self, host: str) -> None:
        if host in self._blocked_hosts or _is_within(host, self._blocked_below):
            raise Refused("blocked_host", f"{host} is blocked by a setting", setting=_EXTRA_BLOCKED)
        if _is_within(host, _THIS_MACHINE):
            raise Refused(
                "blocked_host",
                f"{host} is this machine; where {_ALLOW_PRIVATE} allows it, it is written http://127.0.0.1:PORT/",
                setting=_ALLOW_PRIVATE,
            )
        if _is_within(host, _NEVER) or f"{host}.".startswith("kubernetes.default."):
            raise Refused("blocked_host", f"{host} never names a public site", setting="")
        if not self._opened.private and "." not in host and ":" not in host:
            raise Refused("blocked_host", f"{host} is a name of a local network", setting=_ALLOW_PRIVATE)
        if not self._opened.private and _is_within(host, _PRIVATE_SUFFIXES):
            raise Refused("blocked_host", f"{host} is a name of a private network", setting=_ALLOW_PRIVATE)

    def _judge(self, url: CheckedURL, addresses: Sequence[IPAddress]) -> None:
        """Refuse unless every address may be dialled."""
        own = self._interfaces()
        bad = [address for address in addresses if not self._is_allowed(address, own)]
        if not bad:
            self._check_own_ports(url, addresses, own)
            return
        if url.address is not None and contains(self._blocked_networks, url.address):
            raise Refused("blocked_address", f"{url.host} is blocked by a setting", setting=_EXTRA_BLOCKED)
        if url.address is not None and is_metadata(url.address):
            message = f"{url.host} is an address of cloud metadata services; no setting opens it"
            raise Refused("blocked_address", message, setting="")
        ranges = {self._liftable_range(address) for address in bad}
        raise _not_public(url, ranges.pop() if len(ranges) == 1 else None)

    def _liftable_range(self, address: IPAddress) -> str:
        """Return the range that allowing would open to the address; empty when something else forbids it too."""
        row = blocked_range(address)
        if row is None or is_metadata(address) or contains((*self._opened.private, *self._blocked_networks), address):
            return ""
        return row.cidr

    def _is_allowed(self, address: IPAddress, own: frozenset[IPAddress]) -> bool:
        every = (address, *self._opened.carried(address))
        return self._opened.takes(address, own) and not any(contains(self._blocked_networks, each) for each in every)

    def _check_own_ports(self, url: CheckedURL, addresses: Iterable[IPAddress], own: frozenset[IPAddress]) -> None:
        """Refuse Jupyter's own ports on this machine, whatever is allowed there."""
        here = any(
            each in own or is_loopback(each)
            for address in addresses
            for each in (address, *self._opened.carried(address))
        )
        if here and url.port in self._own_ports() | exported_ports():
            if url.address is None:
                raise _not_public(url, None)
            raise Refused("blocked_address", f"port {url.port} of this machine is Jupyter's own", setting="")


def _not_public(url: CheckedURL, cidr: str | None) -> Refused:
    """Word the refusal: the same for every range, except the two that VPNs put ordinary names into."""
    if cidr in _EXPLAINED:
        return Refused(
            "blocked_address",
            f"{url.host} is not public: it lies in {cidr}, {_EXPLAINED[cidr]}; if that is right, "
            f"--{_ALLOW_PRIVATE}=['{cidr}'] allows it",
        )
    what = "is not a public address" if url.address is not None else "does not resolve to public addresses only"
    return Refused("blocked_address", f"{url.host} {what}")


def _is_within(host: str, names: Iterable[str]) -> bool:
    """Whether the host is one of the names or below one, compared by labels."""
    return any(host == name or host.endswith("." + name) for name in names)


def _with_ipv4(networks: Iterable[IPNetwork]) -> tuple[IPNetwork, ...]:
    """Return the networks, and the IPv4 networks of those written in IPv4-mapped form (RFC 4291, 2.5.5.2)."""
    found: list[IPNetwork] = []
    for network in networks:
        found.append(network)
        if network.version == 6 and network.subnet_of(_MAPPED):
            low = int(network.network_address) & 0xFFFFFFFF
            found.append(IPv4Network((low, network.prefixlen - _MAPPED.prefixlen)))
    return tuple(found)


def _network_or_none(entry: str) -> IPNetwork | None:
    try:
        return ip_network(entry)
    except ValueError:
        return None
