"""Every setting: its default, unit, range and help.

The environment variable of a trait is ``JUPYTER_WEBRESEARCH_<CLASS>_<TRAIT>``, upper case. Where values come from and
how the operator's level narrows the others is in :mod:`jupyter_webresearch.config_loading`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from traitlets import Int, TraitType, Unicode
from traitlets.config import Configurable

from jupyter_webresearch.config_entries import (
    agent_token,
    credentials_table,
    endpoint,
    price_table,
    proxy_address,
    secret_source,
    storage_address,
)
from jupyter_webresearch.config_search import WebSearch
from jupyter_webresearch.config_traits import (
    BAD_PORTS,
    Amount,
    Blocked,
    Count,
    Flag,
    HeaderText,
    Hosts,
    Line,
    Networks,
    Operations,
    Ports,
    Table,
    Word,
    blocked_entry,
    nat64_entry,
    network_entry,
    source_address,
)

__all__ = [
    "BAD_PORTS",
    "CONFIGURABLES",
    "OPERATIONS",
    "Settings",
    "WebBudgets",
    "WebClassifier",
    "WebDisplay",
    "WebExtraction",
    "WebFetch",
    "WebJournal",
    "WebKernel",
    "WebPolicy",
    "WebSearch",
    "environment_name",
    "settings_of",
]

KIB = 1024
MIB = 1024 * KIB


OPERATIONS = ("fetch", "search", "image", "browser")
"""What can be switched off: each reads the web in its own way. Which of them there are yet, ``surfaces.py`` says."""

BOT_PAGE = "https://jupyter-webresearch.readthedocs.io/bot.html"


class WebPolicy(Configurable):
    """What may be reached. An operator's level on the Jupyter config path narrows every later one."""

    enabled = Flag(True, help="Whether the web is read at all. False switches every operation off.").tag(
        config=True, narrows="all"
    )

    disabled_operations = Operations(
        Unicode(),
        help="Operations that are switched off: they are refused, and offered nowhere. Those that this version has not "
        "can be named beforehand. Every level adds to it.",
    ).tag(config=True, narrows="union", choices=OPERATIONS)

    ceiling = Hosts(
        Unicode(),
        default_value=None,
        allow_none=True,
        help="The hosts that may be read at all: 'example.com' (that host), '*.example.com' (the host and every name "
        "below it), 'internet:unrestricted' (anywhere public). None, when nothing is set, is internet:unrestricted; [] "
        "is nowhere. It opens no address that is not public. Entries that can't be read cover nothing and are named.",
    ).tag(config=True, unit="host, *.host or internet:unrestricted", narrows="hosts")

    ask = Word(
        "open",
        help="What a session may read that has asked for no hosts: 'open' is the whole ceiling, 'prompt' asks a person "
        "host by host, 'listed' is nowhere.",
    ).tag(config=True, choices=("open", "prompt", "listed"), narrows="strictest")

    acting_ceiling = Hosts(
        Unicode(),
        default_value=None,
        allow_none=True,
        help="The exact hosts on which a person may let a session act: send or change something. None, when nothing is "
        "set, is whatever the person asks, and nowhere on a JupyterHub.",
    ).tag(config=True, unit="host", narrows="acting hosts")

    write_methods = Word(
        "reading",
        help="Which list a host has to be on for methods other than GET and HEAD from a notebook: 'reading' or "
        "'acting'. What an agent asks for always needs 'acting'.",
    ).tag(config=True, choices=("reading", "acting"), narrows="strictest")

    robots = Word(
        "named",
        help="How robots.txt (RFC 9309) is obeyed: 'full' as a crawler does, 'named' only what names our agent token, "
        "'off' not at all.",
    ).tag(config=True, choices=("off", "named", "full"), narrows="strictest")

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

    credentials = Table(
        help="Secrets for sites that need one: {'api.example.com': {'name': 'example', 'source': 'env:EXAMPLE_KEY'}}. "
        "source is env:NAME, file:/path or keyring:SERVICE/USER; header is Authorization and prefix 'Bearer ' unless "
        "given. Sent to that exact host, over https on port 443, never after a redirect; what a notebook sees of it is "
        "credential:NAME.",
    ).tag(config=True, unit="host to credential", narrows="operator", entry=credentials_table)

    source_ipv4 = Line("", help="This machine's IPv4 address that outgoing connections come from.").tag(
        config=True, unit="IPv4 address", narrows="operator", entry=source_address(4)
    )
    source_ipv6 = Line("", help="This machine's IPv6 address that outgoing connections come from.").tag(
        config=True, unit="IPv6 address", narrows="operator", entry=source_address(6)
    )

    upstream_proxy = Line(
        "",
        help="A proxy, http://HOST:PORT, through which everything goes out. It is asked by CONNECT for the address "
        "that was checked.",
    ).tag(config=True, unit="http://HOST:PORT", narrows="operator", entry=proxy_address)
    upstream_proxy_credentials = Line(
        "", help="Where 'user:password' for the upstream proxy is kept: env:NAME, file:/path or keyring:SERVICE/USER."
    ).tag(config=True, unit="source of a secret", narrows="operator", entry=secret_source)
    upstream_proxy_resolves = Flag(
        False,
        help="Ask the upstream proxy for names instead of addresses, where this machine has no DNS for the internet. "
        "Then the proxy, not we, decides which address a name leads to: the guard's checks of addresses do not hold.",
    ).tag(config=True, narrows="operator")
    trust_env_proxy = Flag(
        False,
        help="Take the upstream proxy from HTTPS_PROXY or HTTP_PROXY when none is set; otherwise they are ignored.",
    ).tag(config=True, narrows="operator")
    ca_bundle = Line(
        "",
        help="A PEM file of authorities that are trusted besides this machine's, e.g. that of a proxy which opens TLS.",
    ).tag(config=True, unit="path", narrows="operator")


class WebFetch(Configurable):
    """How a page is fetched: identity, time and size."""

    agent = Line(
        "JupyterWebResearch",
        help="Our product token: what the User-Agent begins with, and what robots.txt calls us.",
    ).tag(config=True, unit="a product token", narrows="operator", entry=agent_token)
    agent_url = HeaderText(BOT_PAGE, help="The page that tells site owners who we are, sent in the User-Agent.").tag(
        config=True, narrows="operator"
    )
    send_request_id = Flag(
        True,
        help="Send each operation's id as X-Request-ID, so that a site owner's complaint finds the cell that made it.",
    ).tag(config=True, narrows="operator")

    contact = HeaderText(
        "",
        help="How a site owner can reach whoever runs this: an e-mail address or URL, sent in the User-Agent.",
    ).tag(config=True, narrows="operator")
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
        "once, 'deny' refuses. 'deny' also refuses `jupyter webresearch fetch URL` where a kernel starts it, as by `!` "
        "in a cell, which the environment that Jupyter gives to kernels tells; code that changes it is not stopped.",
    ).tag(config=True, choices=("allow", "warn", "deny"), narrows="strictest")


class WebBudgets(Configurable):
    """How much may be asked. Windows slide; 0 is no limit. An operator's number is the most that others can set."""

    kernel_total = Count(500, help="Operations of one kernel, all told.").tag(
        config=True, unit="operations", range=(0, 1_000_000), narrows="least"
    )
    kernel_per_minute = Count(60, help="Operations of one kernel in a minute.").tag(
        config=True, unit="operations", range=(0, 100_000), narrows="least"
    )
    server_per_minute = Count(120, help="Operations of all kernels in a minute.").tag(
        config=True, unit="operations", range=(0, 100_000), narrows="least"
    )
    server_per_day = Count(0, help="Operations of all kernels in 24 hours.").tag(
        config=True, unit="operations", range=(0, 100_000), narrows="least"
    )
    site_per_minute = Count(
        60, help="Requests to one site in a minute, those of all kernels together, redirects included."
    ).tag(config=True, unit="requests", range=(0, 100_000), narrows="least")
    search_per_minute = Count(30, help="Searches of all kernels in a minute (operation search).").tag(
        config=True, unit="searches", range=(0, 100_000), narrows="least"
    )
    browser_per_minute = Count(60, help="Pages that all kernels open in a minute (operation browser).").tag(
        config=True, unit="pages", range=(0, 100_000), narrows="least"
    )
    session_dollars = Amount(0.0, help="What one kernel may spend, all told.").tag(
        config=True, unit="dollars", range=(0, 1_000_000), narrows="least"
    )
    price_per_request = Amount(0.0, help="What one operation costs that is not a search.").tag(
        config=True, unit="dollars", range=(0, 1000), narrows="operator"
    )
    price_per_search = Table(help="What one search costs, by provider: {'brave': 0.005}.").tag(
        config=True, unit="dollars by provider", narrows="operator", entry=price_table
    )
    storage = Line(
        "memory://",
        help="Where budgets are counted: memory:// within one server (engines without a server share a file of their "
        "user's), or redis://HOST:PORT/DB for several servers together.",
    ).tag(
        config=True,
        unit="memory:// or a redis:// URL",
        narrows="operator",
        entry=storage_address,
        shown="without password",
    )
    when_unavailable = Word(
        "refuse",
        help="What happens when that storage does not answer: 'refuse' reads nothing, 'local' counts in this process, "
        "with the same limits.",
    ).tag(config=True, choices=("local", "refuse"), narrows="strictest")


class WebJournal(Configurable):
    """The record of every operation, in webresearch/journal.sqlite below Jupyter's data directory."""

    required = Flag(False, help="Refuse operations while the journal can't be written, instead of warning once.").tag(
        config=True, narrows="any"
    )
    max_size = Count(64 * MIB, help="Size at which a new file is begun.").tag(
        config=True, unit="bytes", range=(64 * KIB, 4096 * MIB), narrows="operator"
    )
    files = Count(4, help="Files that are kept, the one being written included.").tag(
        config=True, range=(1, 100), narrows="operator"
    )


class WebClassifier(Configurable):
    """A model that judges each request against the session's task. Off while no URL is set."""

    url = Line("", help="Base URL of an OpenAI-compatible API, e.g. http://127.0.0.1:8000/v1.").tag(
        config=True, unit="URL", narrows="operator", entry=endpoint
    )
    model = Line("", help="The model's name.").tag(config=True, narrows="operator")
    key = Line("", help="Where the API's key is kept: env:NAME, file:/path or keyring:SERVICE/USER.").tag(
        config=True, unit="source of a secret", narrows="operator", entry=secret_source
    )
    threshold = Amount(0.8, help="Score from which a request is refused, whatever the model's verdict.").tag(
        config=True, range=(0, 1), narrows="lowest"
    )
    timeout = Amount(10.0, help="Longest wait for a verdict.").tag(
        config=True, unit="s", range=(0.1, 60), narrows="operator"
    )


class WebDisplay(Configurable):
    """What a cell shows."""

    max_chars = Count(
        6000, help="Characters of a page that a cell shows; a Page's show() shows all that it holds."
    ).tag(config=True, unit="characters", range=(200, 40_000))
    columns = Count(100, help="Width of the plain-text form.").tag(config=True, unit="columns", range=(40, 400))


CONFIGURABLES: tuple[type[Configurable], ...] = (
    WebPolicy,
    WebBudgets,
    WebJournal,
    WebClassifier,
    WebSearch,
    WebFetch,
    WebExtraction,
    WebKernel,
    WebDisplay,
)


@dataclass(frozen=True)
class Settings:
    """One validated instance of every settings class."""

    policy: WebPolicy = field(default_factory=WebPolicy)
    fetch: WebFetch = field(default_factory=WebFetch)
    extraction: WebExtraction = field(default_factory=WebExtraction)
    kernel: WebKernel = field(default_factory=WebKernel)
    display: WebDisplay = field(default_factory=WebDisplay)
    budgets: WebBudgets = field(default_factory=WebBudgets)
    journal: WebJournal = field(default_factory=WebJournal)
    classifier: WebClassifier = field(default_factory=WebClassifier)
    search: WebSearch = field(default_factory=WebSearch)


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
