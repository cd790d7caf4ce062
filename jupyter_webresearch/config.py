"""Every setting: its default, unit, range and help.

The environment variable of a trait is ``JUPYTER_WEBRESEARCH_<CLASS>_<TRAIT>``, upper case. Where values come from and
how the operator's level narrows the others is in :mod:`jupyter_webresearch.config_loading`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from traitlets import Int, TraitType, Unicode
from traitlets.config import Configurable

from jupyter_webresearch.config_traits import (
    BAD_PORTS,
    Amount,
    Blocked,
    Count,
    HeaderText,
    Networks,
    Ports,
    Word,
    blocked_entry,
    nat64_entry,
    network_entry,
)

__all__ = [
    "BAD_PORTS",
    "CONFIGURABLES",
    "Settings",
    "WebDisplay",
    "WebExtraction",
    "WebFetch",
    "WebKernel",
    "WebPolicy",
    "environment_name",
    "settings_of",
]

KIB = 1024
MIB = 1024 * KIB


class WebPolicy(Configurable):
    """What may be reached. An operator's level on the Jupyter config path narrows every later one."""

    allow_private_networks = Networks(
        Unicode(),
        help="CIDRs outside the public internet that may be read all the same, e.g. ['10.20.0.0/16']. Cloud metadata "
        "addresses and the ports of Jupyter itself stay refused under every value.",
    ).tag(config=True, unit="CIDR", narrows="networks", entry=network_entry)

    allowed_ports = Ports(
        Int(),
        default_value=[80, 443, 8080, 8443],
        help="TCP ports that may be connected to. Ports on the browsers' bad-port list can't be added.",
    ).tag(config=True, unit="port", narrows="intersection", range=(1, 65535))

    extra_blocked = Blocked(
        Unicode(),
        help="CIDRs, hosts or '*.hosts' (the host and every name below it) that are refused whatever else is allowed. "
        "Every level adds to it.",
    ).tag(config=True, unit="CIDR, host or *.host", narrows="union", entry=blocked_entry)

    allow_nat64 = Networks(
        Unicode(),
        help="NAT64 prefixes (/96) of this network, e.g. ['64:ff9b::/96']: an address inside one is judged as the IPv4 "
        "address that it carries. Without it such addresses are refused.",
    ).tag(config=True, unit="CIDR", narrows="networks", entry=nat64_entry)


class WebFetch(Configurable):
    """How a page is fetched: identity, time and size."""

    contact = HeaderText(
        "",
        help="How a site owner can reach whoever runs this: an e-mail address or URL, sent in the User-Agent.",
    ).tag(config=True)
    accept_language = HeaderText("en,*;q=0.5", help="Accept-Language of requests without headers of the caller's.").tag(
        config=True
    )
    timeout = Amount(30.0, help="Time for one whole operation, waiting for a worker included.").tag(
        config=True, unit="s", range=(1, 600)
    )
    idle_timeout = Amount(8.0, help="Longest silence while connecting or receiving.").tag(
        config=True, unit="s", range=(0.5, 120)
    )
    dns_timeout = Amount(5.0, help="Longest wait for name resolution.").tag(config=True, unit="s", range=(0.5, 60))
    max_redirects = Count(5, help="Redirects followed.").tag(config=True, range=(0, 10))
    max_body = Count(10 * MIB, help="Decoded body that is kept.").tag(
        config=True, unit="bytes", range=(64 * KIB, 100 * MIB)
    )
    max_headers = Count(64 * KIB, help="Header bytes of one answer.").tag(
        config=True, unit="bytes", range=(4 * KIB, 256 * KIB)
    )
    max_request_body = Count(1 * MIB, help="Request body.").tag(config=True, unit="bytes", range=(0, 16 * MIB))
    max_bytes = Count(
        48 * KIB,
        help="Text in one answer, as UTF-8; at most 40,000 characters, whatever is set. The rest is read on with an "
        "offset.",
    ).tag(config=True, unit="bytes", range=(1 * KIB, 128 * KIB))
    cache_seconds = Amount(600.0, help="How long a repeated request is answered from memory.").tag(
        config=True, unit="s", range=(0, 86400)
    )
    cache_entries = Count(64, help="Requests that one kernel remembers.").tag(config=True, range=(0, 4096))
    store_size = Count(200 * MIB, help="Disk for whole texts, per kernel; the oldest are dropped.").tag(
        config=True, unit="bytes", range=(1 * MIB, 10240 * MIB)
    )
    batch_concurrency = Count(8, help="Requests of a batch under way at once.").tag(config=True, range=(1, 32))
    batch_per_host = Count(2, help="Requests of a batch under way at once to one host.").tag(config=True, range=(1, 8))
    save_max = Count(100 * MIB, help="Largest body that --save writes.").tag(
        config=True, unit="bytes", range=(1, 10240 * MIB)
    )
    save_timeout = Amount(300.0, help="Time for one --save.").tag(config=True, unit="s", range=(1, 3600))


class WebExtraction(Configurable):
    """The worker processes that turn bodies into text."""

    workers = Count(0, help="Worker processes; 0: as many as cores, but no more than memory / 1 GiB.").tag(
        config=True, range=(0, 64)
    )
    wall_time = Amount(5.0, help="Time for one page, after which its worker is killed.").tag(
        config=True, unit="s", range=(0.5, 60)
    )
    address_space = Count(1024 * MIB, help="Address space of one worker.").tag(
        config=True, unit="bytes", range=(512 * MIB, 8192 * MIB)
    )
    recycle_pages = Count(500, help="Pages after which a worker is replaced.").tag(config=True, range=(1, 100000))
    recycle_memory = Count(300 * MIB, help="Resident memory above which a worker is replaced.").tag(
        config=True, unit="bytes", range=(100 * MIB, 8192 * MIB)
    )
    max_elements = Count(200_000, help="Elements of a page that are read.").tag(config=True, range=(1000, 1_000_000))
    max_depth = Count(200, help="Nesting below which a page becomes flat text.").tag(config=True, range=(50, 240))
    max_attributes = Count(500, help="Attributes of one element.").tag(config=True, range=(10, 5000))
    max_cells = Count(100_000, help="Table cells of a page, spans expanded.").tag(config=True, range=(100, 1_000_000))


class WebKernel(Configurable):
    """How kernel code finds its server."""

    local_mode = Word(
        "allow",
        help="What a kernel without a server of ours does: 'allow' runs the engine in its own process, 'warn' says so "
        "once, 'deny' refuses.",
    ).tag(config=True, choices=("allow", "warn", "deny"), narrows="strictest")


class WebDisplay(Configurable):
    """What a cell shows."""

    max_chars = Count(
        6000, help="Characters of a page that a cell shows; a Page's show() shows all that it holds."
    ).tag(config=True, unit="characters", range=(200, 40_000))
    columns = Count(100, help="Width of the plain-text form.").tag(config=True, unit="columns", range=(40, 400))


CONFIGURABLES: tuple[type[Configurable], ...] = (WebPolicy, WebFetch, WebExtraction, WebKernel, WebDisplay)


@dataclass(frozen=True)
class Settings:
    """One validated instance of every settings class."""

    policy: WebPolicy = field(default_factory=WebPolicy)
    fetch: WebFetch = field(default_factory=WebFetch)
    extraction: WebExtraction = field(default_factory=WebExtraction)
    kernel: WebKernel = field(default_factory=WebKernel)
    display: WebDisplay = field(default_factory=WebDisplay)


def settings_of(cls: type[Configurable]) -> dict[str, TraitType[Any, Any]]:
    """Return the settings of a class by name, in the order in which it defines them."""
    traits = cls.class_own_traits(config=True)
    return {name: traits[name] for name in vars(cls) if name in traits}


def environment_name(cls: type[Configurable], trait: str) -> str:
    """Return the environment variable of a trait, e.g. ``JUPYTER_WEBRESEARCH_WEBFETCH_TIMEOUT``.

    Parameters
    ----------
    cls
        The class that has the trait.
    trait
        Its name.
    """
    return f"JUPYTER_WEBRESEARCH_{cls.__name__}_{trait}".upper()
