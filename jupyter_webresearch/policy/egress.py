"""The egress grammar: which hosts a list covers.

An entry is ``example.com`` (that host), ``*.example.com`` (the host and every name below it) or
``internet:unrestricted`` (anywhere). An entry that can't be read is dropped, never widened or repaired: it covers
nothing, and goes on being named. No entry opens an address that is not public: one that the operator has opened can be
named, and whether it is dialled stays the guard's decision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, TypeVar

from jupyter_webresearch.errors import WebResearchError
from jupyter_webresearch.policy.addresses import IPAddress, parse_address
from jupyter_webresearch.policy.opened import ANY_NETWORK, Opened

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

__all__ = ["UNRESTRICTED", "Dropped", "HostEntry", "HostList"]

T = TypeVar("T")

UNRESTRICTED = "internet:unrestricted"
"""The entry that covers every host."""

PUBLIC_ONLY = Opened()

_NAMED = 8  # entries of a list that a message names
_NOT_PUBLIC = "it is not a public address, and WebPolicy.allow_private_networks does not open it"


@dataclass(frozen=True)
class HostEntry:
    """One entry that could be read.

    Attributes
    ----------
    text
        In canonical form: hosts as :attr:`jupyter_webresearch.policy.urls.CheckedURL.host` has them, IPv6 addresses in
        brackets.
    """

    text: str

    @staticmethod
    def of(host: str) -> HostEntry:
        """Return the entry that covers a host in canonical form and no other."""
        return HostEntry(f"[{host}]" if ":" in host else host)

    def covers(self, host: str) -> bool:
        """Whether it covers a host, given in canonical form."""
        return self.text in _entries_over(host)

    @property
    def description(self) -> str:
        """What it covers, for people."""
        if self.text == UNRESTRICTED:
            return "anywhere public"
        if self.text.startswith("*."):
            return f"{self.text[2:]} and every name below it"
        return f"{self.text} only"


@dataclass(frozen=True)
class Dropped:
    """What covers nothing: the entry as it was written, and why."""

    text: str
    reason: str


@dataclass(frozen=True)
class HostList:
    """Hosts that are covered, and entries that were dropped. Without entries it is nowhere.

    Attributes
    ----------
    entries
        Without repeats.
    dropped
        Entries that cover nothing, to be named.
    """

    entries: tuple[HostEntry, ...] = ()
    dropped: tuple[Dropped, ...] = ()

    @staticmethod
    def read(texts: Iterable[str], opened: Opened = PUBLIC_ONLY) -> HostList:
        """Read a list of hosts that may be read.

        Parameters
        ----------
        texts
            Entries as they were written.
        opened
            Addresses that are not public and can be named all the same.
        """
        return _read(texts, partial(_canonical, opened=opened))

    @staticmethod
    def read_acting(texts: Iterable[str]) -> HostList:
        """Read a list of hosts on which a session may act: exact names and nothing else."""
        return _read(texts, _canonical_acting)

    def covering(self, host: str) -> HostEntry | None:
        """Return the narrowest entry that covers a host in canonical form, or None."""
        return next((HostEntry(text) for text in _entries_over(host) if text in self._texts), None)

    def within(self, other: HostList) -> HostList:
        """Return what both lists cover, and the entries that were dropped from either.

        Two entries are nested or disjoint, so that the entries of each list inside one of the other's are the whole
        intersection.
        """
        inside = [entry for entry in self.entries if other.encloses(entry)]
        inside += [entry for entry in other.entries if self.encloses(entry)]
        return HostList(_unique(inside), _unique((*self.dropped, *other.dropped)))

    def joined(self, other: HostList) -> HostList:
        """Return what either list covers, and the entries that were dropped from either."""
        return HostList(_unique((*self.entries, *other.entries)), _unique((*self.dropped, *other.dropped)))

    def opened_by(self, opened: Opened) -> HostList:
        """Return the list without the addresses that are neither public nor opened, which are dropped and named."""
        closed = {entry for entry, address in self._addresses if not opened.takes(address)}
        if not closed:
            return self
        named = tuple(Dropped(entry.text, _NOT_PUBLIC) for entry in self.entries if entry in closed)
        return HostList(tuple(entry for entry in self.entries if entry not in closed), (*self.dropped, *named))

    def encloses(self, entry: HostEntry) -> bool:
        """Whether one entry of this list covers all that another entry covers."""
        return not self._texts.isdisjoint(_enclosing(entry))

    def shares(self, other: HostList) -> dict[HostEntry, list[HostEntry]]:
        """Return for each entry what another list leaves of it."""
        shares: dict[HostEntry, list[HostEntry]] = {entry: [] for entry in self.entries}
        for common in self.within(other).entries:
            for entry in map(HostEntry, _enclosing(common)):
                if entry in shares:
                    shares[entry].append(common)
        return shares

    @property
    def texts(self) -> list[str]:
        """The entries, and those dropped as they were written: reading them gives the same list."""
        return [entry.text for entry in self.entries] + [entry.text for entry in self.dropped]

    def __str__(self) -> str:
        """Return the entries for a message, or ``nowhere``."""
        named = ", ".join(entry.text for entry in self.entries[:_NAMED])
        more = len(self.entries) - _NAMED
        return (f"{named} and {more} more" if more > 0 else named) or "nowhere"

    @cached_property
    def _addresses(self) -> tuple[tuple[HostEntry, IPAddress], ...]:
        found = ((entry, parse_address(entry.text.strip("[]"))) for entry in self.entries)
        return tuple((entry, address) for entry, address in found if address is not None)

    @cached_property
    def _texts(self) -> frozenset[str]:
        return frozenset(entry.text for entry in self.entries)


def _read(texts: Iterable[str], canonical: Callable[[str], str]) -> HostList:
    entries: list[HostEntry] = []
    dropped: list[Dropped] = []
    for text in texts:
        try:
            entries.append(HostEntry(canonical(text)))
        except ValueError as error:
            dropped.append(Dropped(text, str(error)))
    return HostList(_unique(entries), _unique(dropped))


def _entries_over(host: str) -> Iterator[str]:
    """Yield the canonical form of every entry that covers a host, the narrowest first."""
    yield HostEntry.of(host).text
    labels = host.split(".")
    for first in range(len(labels)):
        yield "*." + ".".join(labels[first:])
    yield UNRESTRICTED


def _enclosing(entry: HostEntry) -> list[str]:
    """Return the canonical form of every entry that covers all that this one covers."""
    if entry.text == UNRESTRICTED:
        return [UNRESTRICTED]
    over = list(_entries_over(entry.text.removeprefix("*.").strip("[]")))
    return over[1:] if entry.text.startswith("*.") else over  # a host alone does not cover what is below it


def _unique(found: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(found))


def _canonical_acting(text: str) -> str:
    """Return an exact host name in canonical form; ValueError when it is something else."""
    entry = _canonical(text, ANY_NETWORK)  # no address is taken, whichever it is
    if entry == UNRESTRICTED or entry.startswith("*."):
        raise ValueError("a host where something may be changed is named exactly")
    if _is_address(entry):
        raise ValueError("a host where something may be changed is named, an address is not")
    return entry


def _canonical(text: str, opened: Opened) -> str:
    """Return an entry in canonical form; ValueError says why it can't be read."""
    if text == UNRESTRICTED:
        return text
    _check_form(text)
    from jupyter_webresearch.policy.urls import canonical_host  # its tables take time to load; most have no lists

    name = text.removeprefix("*.")
    try:
        host = canonical_host(name)
    except WebResearchError as error:
        raise ValueError(error.message) from None
    address = parse_address(host)
    if name == text:
        if address is None:
            return host
        if not opened.takes(address):
            raise ValueError(_NOT_PUBLIC)
        return f"[{host}]" if address.version == 6 else host
    if address is not None:
        raise ValueError("a wildcard can't stand before an address")
    if _suffixes().is_public(host):
        raise ValueError(f"anyone can have a name below {host}; name hosts or domains there")
    return f"*.{host}"


def _check_form(text: str) -> None:
    """Name the slips that the reader of hosts would call by another name."""
    name = text.removeprefix("*.")
    if not text:
        raise ValueError("it is empty")
    if "://" in text:
        raise ValueError("it is a URL; write the host alone")
    if text in ("*", "*."):
        raise ValueError(f"a wildcard needs a domain, as in *.example.com; anywhere is written {UNRESTRICTED}")
    if "*" in name:
        raise ValueError("a wildcard stands only once and in front, as in *.example.com")
    if "/" in text:
        raise ValueError("it has a path or is a network; write the host alone")
    if "@" in text:
        raise ValueError("it holds a user name; write the host alone")
    if name.count(":") > 1 and not name.startswith("["):
        raise ValueError("an IPv6 address is written in brackets")
    if ":" in name.rpartition("]")[2]:
        raise ValueError(f"it holds a port, or is a misspelt {UNRESTRICTED}; write the host alone")


def _is_address(entry: str) -> bool:
    return parse_address(entry.strip("[]")) is not None


@cache
def _suffixes() -> PublicSuffixList:
    """Return the registries' part of the Public Suffix List; a hosting company's domain may stand after ``*.``."""
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList(only_icann=True)
