"""What an engine is made of: policy, network, extraction and journal, put together from the settings."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from jupyter_webresearch.clock import Clock, SystemClock
from jupyter_webresearch.config import Settings
from jupyter_webresearch.extraction.pool import ExtractionPool
from jupyter_webresearch.fetching import Fetcher
from jupyter_webresearch.journal.event import Event
from jupyter_webresearch.journal.journal import Journal
from jupyter_webresearch.journal.private import journal_folder
from jupyter_webresearch.net.dialler import Dialler, SocketDialler
from jupyter_webresearch.net.endpoint import Endpoint, endpoint_settings
from jupyter_webresearch.net.hosts_file import HostsFile, hosts_path
from jupyter_webresearch.net.resolver import Resolver, SystemResolver
from jupyter_webresearch.net.retrieve import Retriever
from jupyter_webresearch.net.transport import GuardedTransport
from jupyter_webresearch.net.upstream_proxy import UpstreamProxy
from jupyter_webresearch.operations import Operations
from jupyter_webresearch.policy.addresses import IPAddress
from jupyter_webresearch.policy.budgets.budgets import Budgets
from jupyter_webresearch.policy.classifier import Classifier
from jupyter_webresearch.policy.credentials import Credentials
from jupyter_webresearch.policy.gate import Policy
from jupyter_webresearch.policy.guard import Guard
from jupyter_webresearch.policy.lists import Lists, on_hub
from jupyter_webresearch.policy.robots import Robots
from jupyter_webresearch.policy.switch import Switch
from jupyter_webresearch.search.question import Kind
from jupyter_webresearch.search.registry import Registry
from jupyter_webresearch.search.searching import Searcher, Searching
from jupyter_webresearch.search.serving import Serving
from jupyter_webresearch.secrets_source import read_secret
from jupyter_webresearch.start_checks import check_start

__all__ = ["Parts", "Seams", "assemble"]


@dataclass(frozen=True)
class Seams:
    """What stands for the world around an engine; the real one unless given.

    Attributes
    ----------
    resolver, dialler, ssl_context
        DNS, the way to an address, and the trusted authorities.
    clock
        Time.
    interfaces, own_ports
        This machine's own addresses, and Jupyter's own ports.
    data_folder
        Where the journal lies.
    budget_file
        The file in which engines without a server count together; None counts in memory, as one server does.
    on_event
        Told every event of the journal, on one of its threads.
    environ
        Where secrets and proxies may be named.
    search_environ
        Where search providers' variables are; see :class:`~jupyter_webresearch.search.registry.Registry`.
    """

    resolver: Resolver | None = None
    dialler: Dialler | None = None
    ssl_context: ssl.SSLContext | None = None
    clock: Clock = field(default_factory=SystemClock)
    interfaces: Callable[[], frozenset[IPAddress]] | None = None
    own_ports: Callable[[], frozenset[int]] | None = None
    data_folder: Path = field(default_factory=journal_folder)
    budget_file: Path | None = None
    on_event: Callable[[Event], None] | None = None
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    search_environ: MutableMapping[str, str] | None = None


@dataclass(frozen=True)
class Parts:
    """The parts, each made once."""

    policy: Policy
    journal: Journal
    operations: Operations
    pool: ExtractionPool
    fetcher: Fetcher
    registry: Registry
    searcher: Searcher


def assemble(settings: Settings, seams: Seams) -> Parts:
    """Put an engine's parts together.

    Parameters
    ----------
    settings
        Validated settings.
    seams
        What stands for the world around.

    Raises
    ------
    Failed
        ``config`` for a source address that this machine has not, a bundle of authorities that can't be read, and
        whatever else of the settings can't be used here.
    """
    check_start(settings, seams.environ)
    clock = seams.clock
    dialler = seams.dialler or SocketDialler(settings.policy.source_ipv4, settings.policy.source_ipv6)
    transport = GuardedTransport(
        settings.fetch,
        resolver=seams.resolver or _resolver(settings),
        dialler=dialler,
        ssl_context=seams.ssl_context,
        proxy=UpstreamProxy.of(settings.policy, settings.fetch, dialler=dialler, environ=seams.environ),
        ca_bundle=settings.policy.ca_bundle,
    )
    retriever = Retriever(transport, settings.fetch, clock)
    policy = Policy(
        guard=Guard(settings.policy, interfaces=seams.interfaces, own_ports=seams.own_ports),
        switch=Switch(settings.policy),
        lists=Lists(settings.policy, on_hub=on_hub(seams.environ)),
        robots=Robots(retriever, settings.fetch, settings.policy.robots, clock),
        classifier=_classifier(settings, clock, dialler, seams.environ),
        budgets=Budgets.of(settings.budgets, shared_file=seams.budget_file, clock=clock),
        credentials=Credentials(settings.policy.credentials, seams.environ),
        send_request_id=settings.fetch.send_request_id,
    )
    journal = Journal(seams.data_folder, settings.journal, clock, on_event=seams.on_event)
    operations = Operations(policy, journal, clock)
    pool = ExtractionPool(settings.extraction)
    fetcher = Fetcher(settings.fetch, operations, retriever, pool, clock)
    registry = Registry(settings.search, environ=seams.search_environ, data_folder=seams.data_folder.parent)
    serving = _serving(settings, seams, transport, dialler)
    searcher = Searcher(settings.search, operations, partial(_searching, registry), serving, clock)
    return Parts(policy, journal, operations, pool, fetcher, registry, searcher)


def _searching(registry: Registry, names: Sequence[str], kind: Kind) -> Sequence[Searching]:
    return registry.choose(names, need="search", kind=kind)


def _serving(settings: Settings, seams: Seams, transport: GuardedTransport, dialler: Dialler) -> Serving:
    """Return what asks providers: public ones as the web is asked, an operator's own by the machine's names."""
    slowest = max(settings.search.timeout, *settings.search.provider_timeouts.values())
    service = endpoint_settings(settings.fetch, slowest)
    resolver = seams.resolver or SystemResolver(service.dns_timeout, absolute=False)
    own = GuardedTransport(
        service,
        resolver=resolver,
        dialler=dialler,
        ssl_context=seams.ssl_context,
        ca_bundle=settings.policy.ca_bundle,
    )
    return Serving(Retriever(transport, service, seams.clock), Retriever(own, service, seams.clock), seams.clock)


def _resolver(settings: Settings) -> Resolver:
    """Return the system's resolver, with the machine's own names where the operator lets private networks be read."""
    hosts_file = HostsFile(hosts_path()) if settings.policy.allow_private_networks else None
    return SystemResolver(settings.fetch.dns_timeout, hosts_file=hosts_file)


def _classifier(settings: Settings, clock: Clock, dialler: Dialler, environ: Mapping[str, str]) -> Classifier:
    """Return the classifier, with the endpoint that it asks if one is set, by whatever name the operator has for it."""
    chosen = settings.classifier
    if not chosen.url:
        return Classifier(chosen, None, clock)
    fetch = endpoint_settings(settings.fetch, chosen.timeout)
    resolver = SystemResolver(fetch.dns_timeout, absolute=False)
    key = partial(read_secret, chosen.key, environ) if chosen.key else ""
    transport = GuardedTransport(fetch, resolver=resolver, dialler=dialler, ca_bundle=settings.policy.ca_bundle)
    return Classifier(chosen, Endpoint(transport, fetch, clock, chosen.url, key=key), clock)
