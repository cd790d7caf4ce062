"""Trait types that check the ``range``, ``choices`` and form that a setting states in its tags.

They refuse a wrong value at the assignment, whoever assigns, and name class, trait and what is allowed.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias

from traitlets import Bool, Dict, Float, HasTraits, Int, List, TraitError, TraitType, Unicode

from jupyter_webresearch.errors import WebResearchError

__all__ = [
    "BAD_PORTS",
    "Addresses",
    "Amount",
    "Blocked",
    "Count",
    "Flag",
    "HeaderText",
    "Hosts",
    "Line",
    "Names",
    "Networks",
    "Operations",
    "Ports",
    "Table",
    "Word",
    "allowed",
    "blocked_entry",
    "parse_network",
    "source_address",
]

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
"""An IPv4 or IPv6 network without host bits."""

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

# What may stand in a header value that we compose: printable ASCII (RFC 9110, 5.5, without obs-text).
_PRINTABLE = re.compile(r"[ -~]{0,200}")
HEADER_FORM = "at most 200 printable ASCII characters"
LINE_FORM = "one line of at most 2,048 printable characters"


def allowed(trait: TraitType[Any, Any]) -> str:
    """Say which values a trait takes, e.g. ``1 to 600 s`` or ``one of allow, warn, deny``; empty for any."""
    unit = trait.metadata.get("unit", "")
    if "range" in trait.metadata:
        low, high = trait.metadata["range"]
        text = f"{low} to {high}"
        return f"each {text}" if isinstance(trait, List) else f"{text} {unit}".rstrip()
    if "choices" in trait.metadata:
        return ("each " if isinstance(trait, List) else "") + "one of " + ", ".join(trait.metadata["choices"])
    if isinstance(trait, Flag):
        return trait.form
    if isinstance(trait, Table):
        return f"{trait.form}, {unit}"
    if isinstance(trait, Line):
        return unit or LINE_FORM
    return HEADER_FORM if isinstance(trait, HeaderText) else ""


class _Plain:
    """Says of a value of another type what is due, where traitlets would name types of Python's and ours."""

    form: str
    entry_form: str = ""
    may_be_secret = False
    """Whether a wrong value may be a secret at the wrong place, which no message repeats."""

    def error(
        self, obj: HasTraits | None, value: Any, error: Exception | None = None, info: str | None = None
    ) -> NoReturn:
        """Raise TraitError for a value, or, when traitlets has found an ``error`` in it, for an entry of a list."""
        name = f"{type(obj).__name__}.{getattr(self, 'name', '')}"
        limits = allowed(self) if isinstance(self, TraitType) else ""
        form = self.form if error is None else self.entry_form
        what = "this" if self.may_be_secret else repr(value)
        raise TraitError(
            f"{name}: {what} is not {form}" + (f" (allowed: {limits})" if limits not in ("", form) else "")
        )


class Count(_Plain, Int[int, int]):
    """A whole number within its ``range`` tag."""

    form = "a whole number"

    def validate(self, obj: Any, value: Any) -> int:
        """Return the number; TraitError when it is none or outside the range."""
        if isinstance(value, bool):
            self.error(obj, value)
        return int(_within(self, obj, super().validate(obj, value)))


class Amount(_Plain, Float[float, int | float]):
    """A number within its ``range`` tag, in its ``unit``."""

    form = "a number"

    def validate(self, obj: Any, value: Any) -> float:
        """Return the number; TraitError when it is none or outside the range."""
        if isinstance(value, bool):
            self.error(obj, value)
        return float(_within(self, obj, super().validate(obj, value)))


class Flag(_Plain, Bool[bool, bool | int]):
    """True or False."""

    form = "True or False"

    def validate(self, obj: Any, value: Any) -> bool:
        """Return the flag; TraitError when it is none."""
        return bool(super().validate(obj, value))


class Word(_Plain, Unicode[str, str | bytes]):
    """One of the words in its ``choices`` tag, which run from the most to the least permissive."""

    form = "a word"

    def validate(self, obj: Any, value: Any) -> str:
        """Return the word; TraitError when it is not one of the choices."""
        word = super().validate(obj, value)
        if word not in self.metadata["choices"]:
            raise TraitError(f"{_name(self, obj)}: {word!r} is not {allowed(self)}")
        return word


class HeaderText(_Plain, Unicode[str, str | bytes]):
    """Text that goes into a request header: at most 200 printable ASCII characters, so no header can be added."""

    form = "text"

    def validate(self, obj: Any, value: Any) -> str:
        """Return the text; TraitError when it can't stand in a header."""
        text = super().validate(obj, value)
        if not _PRINTABLE.fullmatch(text):
            raise TraitError(f"{_name(self, obj)}: {text!r} is not {HEADER_FORM}")
        return text


class Line(_Plain, Unicode[str, str | bytes]):
    """One line of text, which a function of the ``entry`` tag, if there is one, brings into canonical form."""

    form = "text"
    may_be_secret = True

    def validate(self, obj: Any, value: Any) -> str:
        """Return the text; TraitError when it is longer than a line or can't be read."""
        text = super().validate(obj, value)
        if len(text) > 2048 or not text.isprintable():
            raise TraitError(f"{_name(self, obj)}: this is not {LINE_FORM}")
        canonical: Callable[[str], str] | None = self.metadata.get("entry")
        if canonical is None or not text:
            return text
        try:
            return canonical(text)
        except ValueError as error:
            raise TraitError(f"{_name(self, obj)}: this is not {self.metadata['unit']}: {error}") from error


class Hosts(_Plain, List[str]):
    """Entries of the egress grammar as they were written, or None.

    An entry that can't be read stays in the list: it covers nothing, and is named wherever the list is shown.
    """

    form = "a list or None"
    entry_form = "text"

    def validate(self, obj: Any, value: Any) -> list[str] | None:
        """Return the entries without repeats; TraitError when it is no list of texts."""
        return None if value is None else list(dict.fromkeys(super().validate(obj, value) or []))


class Table(_Plain, Dict):
    """A dictionary that a function of the ``entry`` tag brings into canonical form."""

    form = "a dictionary"
    may_be_secret = True

    def validate(self, obj: Any, value: Any) -> dict[str, Any]:
        """Return the dictionary in canonical form; TraitError when it can't be read."""
        table = super().validate(obj, value) or {}
        canonical: Callable[[dict[str, Any]], dict[str, Any]] = self.metadata["entry"]
        try:
            return canonical(dict(table))
        except ValueError as error:
            raise TraitError(f"{_name(self, obj)}: {error}") from error


class Ports(_Plain, List[int]):
    """TCP ports within the ``range`` tag and not among :data:`BAD_PORTS`."""

    form = "a list"
    entry_form = "a whole number"

    def validate(self, obj: Any, value: Any) -> list[int]:
        """Return the ports without repeats, in order; TraitError when one can't be allowed."""
        ports = list(dict.fromkeys(super().validate(obj, value) or []))
        for port in ports:
            _within(self, obj, port)
            if port in BAD_PORTS:
                raise TraitError(
                    f"{_name(self, obj)}: {port} is on the browsers' bad-port list and can't be allowed "
                    f"({allowed(self)}, none of that list)"
                )
        return ports


class Operations(_Plain, List[str]):
    """Words of the ``choices`` tag."""

    form = "a list"
    entry_form = "a word"

    def validate(self, obj: Any, value: Any) -> list[str]:
        """Return the words without repeats; TraitError when one is not among the choices."""
        words = list(dict.fromkeys(super().validate(obj, value) or []))
        for word in words:
            if word not in self.metadata["choices"]:
                raise TraitError(f"{_name(self, obj)}: {word!r} is not {allowed(self)}")
        return words


class Addresses(_Plain, List[str]):
    """Entries that a function of the ``entry`` tag brings into canonical form."""

    form = "a list"
    entry_form = "text"

    def validate(self, obj: Any, value: Any) -> list[str]:
        """Return the entries in canonical form without repeats; TraitError when one can't be read."""
        canonical: Callable[[str], str] = self.metadata["entry"]
        entries = []
        for entry in super().validate(obj, value) or []:
            try:
                entries.append(canonical(entry))
            except ValueError as error:
                raise TraitError(f"{_name(self, obj)}: {entry!r} is not {self.metadata['unit']}: {error}") from error
        return list(dict.fromkeys(entries))


class Networks(Addresses):
    """CIDRs, such as ``10.20.0.0/16``."""


class Blocked(Addresses):
    """CIDRs, hosts or ``*.hosts``."""


class Names(Addresses):
    """Names of providers or plugins."""


def parse_network(text: str) -> Network:
    """Read a CIDR; a single address is a network of one.

    Raises
    ------
    ValueError
        When it is none, has bits set beyond the prefix, or a zone.
    """
    if "%" in text:
        raise ValueError("a zone can't be given")
    return ipaddress.ip_network(text, strict=True)


def network_entry(text: str) -> str:
    """Return a CIDR in canonical form; ValueError when it is none."""
    return str(parse_network(text))


def source_address(version: int) -> Callable[[str], str]:
    """Return a reader of addresses of one IP version, 4 or 6; it raises ValueError for what is none."""

    def canonical(text: str) -> str:
        """Return the address in canonical form."""
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            raise ValueError("it is not an IP address") from None
        if address.version != version:
            raise ValueError(f"it is an IPv{address.version} address")
        return str(address)

    return canonical


def nat64_entry(text: str) -> str:
    """Return a NAT64 prefix (RFC 6052) in canonical form; ValueError when it is not an IPv6 ``/96``."""
    network = parse_network(text)
    if network.version != 6 or network.prefixlen != 96:
        raise ValueError("only IPv6 prefixes of 96 bits are known")
    return str(network)


def blocked_entry(text: str) -> str:
    """Return a CIDR, ``host`` or ``*.host`` in canonical form.

    Hosts become what :func:`~jupyter_webresearch.policy.urls.canonical_host` makes of them, as those of URLs do.

    Raises
    ------
    ValueError
        When it is a URL, a host with a port, or a bare ``*``.
    """
    try:
        return network_entry(text)
    except ValueError:
        if "/" in text:
            raise
    from jupyter_webresearch.policy.urls import canonical_host  # its tables take time to load; few settings need them

    name = text.removeprefix("*.")
    try:
        host = canonical_host(name)
    except WebResearchError as error:
        raise ValueError(error.message) from error
    if name != text:
        return f"*.{host}"
    try:
        return network_entry(host)  # an address in some other form
    except ValueError:
        return host


def _within(trait: TraitType[Any, Any], obj: Any, value: float) -> float:
    low, high = trait.metadata.get("range", (float("-inf"), float("inf")))
    if not low <= value <= high:
        raise TraitError(f"{_name(trait, obj)}: {value!r} is out of range (allowed: {allowed(trait)})")
    return value


def _name(trait: TraitType[Any, Any], obj: Any) -> str:
    return f"{type(obj).__name__}.{trait.name}"
