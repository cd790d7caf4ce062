"""Every setting: its default, unit, range and help.

The environment variable of a trait is ``JUPYTER_WEBRESEARCH_<CLASS>_<TRAIT>``, upper case. Where values come from and
how the operator's level narrows the others is in :mod:`jupyter_webresearch.config_loading`.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import Any

from traitlets import Float, Int, List, TraitError, Unicode, validate
from traitlets.config import Configurable

__all__ = ["CONFIGURABLES", "Settings", "WebDisplay", "WebExtraction", "WebFetch", "WebKernel", "WebPolicy"]

KIB = 1024
MIB = 1024 * KIB

# Chromium's kRestrictedPorts (net/base/port_util.cc) and the WHATWG Fetch "bad port" list: no setting opens them,
# because services behind them can be made to act by an HTTP request.
BAD_PORTS = frozenset(
    {
        0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
        109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526,
        530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045,
        4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
    }
)  # fmt: skip


class WebPolicy(Configurable):
    """What may be reached. An operator's level on the Jupyter config path narrows every later one."""

    allow_private_networks = List(
        Unicode(),
        help="CIDRs outside the public internet that may be read all the same, e.g. ['10.20.0.0/16']. Cloud metadata "
        "addresses and the ports of Jupyter itself stay refused under every value.",
    ).tag(config=True, unit="CIDR", narrows="networks")

    allowed_ports = List(
        Int(),
        default_value=[80, 443, 8080, 8443],
        help="TCP ports that may be connected to. Ports on the browsers' bad-port list can't be added.",
    ).tag(config=True, unit="port", narrows="intersection", range=(1, 65535))

    extra_blocked = List(
        Unicode(),
        help="CIDRs, hosts or '*.hosts' (the host and every name below it) that are refused whatever else is allowed. "
        "Every level adds to it.",
    ).tag(config=True, unit="CIDR, host or *.host", narrows="union")

    allow_nat64 = List(
        Unicode(),
        help="NAT64 prefixes (/96) of this network, e.g. ['64:ff9b::/96']: an address inside one is judged as the IPv4 "
        "address that it carries. Without it such addresses are refused.",
    ).tag(config=True, unit="CIDR", narrows="networks")

    @validate("allow_private_networks", "allow_nat64")
    def _networks(self, proposal: Any) -> Any:
        for entry in proposal["value"]:
            try:
                ipaddress.ip_network(entry, strict=True)
            except ValueError as error:
                raise TraitError(f"{proposal['trait'].name}: {entry!r} is not a CIDR ({error})") from error
        return proposal["value"]

    @validate("allowed_ports")
    def _ports(self, proposal: Any) -> Any:
        for port in proposal["value"]:
            if not 1 <= port <= 65535:
                raise TraitError(f"allowed_ports: {port} is not within 1 to 65535")
            if port in BAD_PORTS:
                raise TraitError(f"allowed_ports: {port} is on the browsers' bad-port list and can't be allowed")
        return proposal["value"]


class WebFetch(Configurable):
    """How a page is fetched: identity, time and size."""

    contact = Unicode(
        "",
        help="How a site owner can reach whoever runs this: an e-mail address or URL, sent in the User-Agent.",
    ).tag(config=True)
    accept_language = Unicode("en,*;q=0.5", help="Accept-Language of requests without headers of the caller's.").tag(
        config=True
    )
    timeout = Float(30.0, help="Time for one whole operation, waiting for a worker included.").tag(
        config=True, unit="s", range=(1, 600)
    )
    idle_timeout = Float(8.0, help="Longest silence while connecting or receiving.").tag(
        config=True, unit="s", range=(0.5, 120)
    )
    dns_timeout = Float(5.0, help="Longest wait for name resolution.").tag(config=True, unit="s", range=(0.5, 60))
    max_redirects = Int(5, help="Redirects followed.").tag(config=True, range=(0, 10))
    max_body = Int(10 * MIB, help="Decoded body that is kept.").tag(
        config=True, unit="bytes", range=(64 * KIB, 100 * MIB)
    )
    max_headers = Int(64 * KIB, help="Header bytes of one answer.").tag(
        config=True, unit="bytes", range=(4 * KIB, 256 * KIB)
    )
    max_request_body = Int(1 * MIB, help="Request body.").tag(config=True, unit="bytes", range=(0, 16 * MIB))
    max_bytes = Int(48 * KIB, help="Text in one answer, as UTF-8; at most 128 KiB.").tag(
        config=True, unit="bytes", range=(1 * KIB, 128 * KIB)
    )
    cache_seconds = Float(600.0, help="How long a repeated request is answered from memory.").tag(
        config=True, unit="s", range=(0, 86400)
    )
    cache_entries = Int(64, help="Requests that one kernel remembers.").tag(config=True, range=(0, 4096))
    store_size = Int(200 * MIB, help="Disk for whole texts, per kernel; the oldest are dropped.").tag(
        config=True, unit="bytes", range=(1 * MIB, 10240 * MIB)
    )
    batch_concurrency = Int(8, help="Requests of a batch under way at once.").tag(config=True, range=(1, 32))
    batch_per_host = Int(2, help="Requests of a batch under way at once to one host.").tag(config=True, range=(1, 8))
    save_max = Int(100 * MIB, help="Largest body that --save writes.").tag(
        config=True, unit="bytes", range=(1, 10240 * MIB)
    )
    save_timeout = Float(300.0, help="Time for one --save.").tag(config=True, unit="s", range=(1, 3600))


class WebExtraction(Configurable):
    """The worker processes that turn bodies into text."""

    workers = Int(0, help="Worker processes; 0: as many as cores, but no more than memory / 1 GiB.").tag(
        config=True, range=(0, 64)
    )
    wall_time = Float(5.0, help="Time for one page, after which its worker is killed.").tag(
        config=True, unit="s", range=(0.5, 60)
    )
    address_space = Int(1024 * MIB, help="Address space of one worker.").tag(
        config=True, unit="bytes", range=(512 * MIB, 8192 * MIB)
    )
    recycle_pages = Int(500, help="Pages after which a worker is replaced.").tag(config=True, range=(1, 100000))
    recycle_memory = Int(300 * MIB, help="Resident memory above which a worker is replaced.").tag(
        config=True, unit="bytes", range=(100 * MIB, 8192 * MIB)
    )
    max_elements = Int(200_000, help="Elements of a page that are read.").tag(config=True, range=(1000, 1_000_000))
    max_depth = Int(200, help="Nesting below which a page becomes flat text.").tag(config=True, range=(50, 240))
    max_attributes = Int(500, help="Attributes of one element.").tag(config=True, range=(10, 5000))
    max_cells = Int(100_000, help="Table cells of a page, spans expanded.").tag(config=True, range=(100, 1_000_000))


class WebKernel(Configurable):
    """How kernel code finds its server."""

    local_mode = Unicode(
        "allow",
        help="What a kernel without a server of ours does: 'allow' runs the engine in its own process, 'warn' says so "
        "once, 'deny' refuses.",
    ).tag(config=True, choices=("allow", "warn", "deny"), narrows="strictest")


class WebDisplay(Configurable):
    """What a cell shows."""

    max_chars = Int(6000, help="Characters of a page that a cell shows; page.show() shows all that is held.").tag(
        config=True, unit="characters", range=(200, 40_000)
    )
    columns = Int(100, help="Width of the plain-text form.").tag(config=True, unit="columns", range=(40, 400))


CONFIGURABLES: tuple[type[Configurable], ...] = (WebPolicy, WebFetch, WebExtraction, WebKernel, WebDisplay)


@dataclass(frozen=True)
class Settings:
    """One validated instance of every settings class."""

    policy: WebPolicy = field(default_factory=WebPolicy)
    fetch: WebFetch = field(default_factory=WebFetch)
    extraction: WebExtraction = field(default_factory=WebExtraction)
    kernel: WebKernel = field(default_factory=WebKernel)
    display: WebDisplay = field(default_factory=WebDisplay)


def environment_name(cls: type[Configurable], trait: str) -> str:
    """Return the environment variable of a trait, e.g. ``JUPYTER_WEBRESEARCH_WEBFETCH_TIMEOUT``."""
    return f"JUPYTER_WEBRESEARCH_{cls.__name__}_{trait}".upper()
