"""One reading of a URL, the same for the guard, the resolver, TLS and the request line.

What two parsers could read differently is refused, not repaired: a bypass of a guard is a second reading of the host.
The URL standard (WHATWG) is followed where it is stricter than RFC 3986 and left where it repairs.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from urllib.parse import quote

import idna

from jupyter_webresearch.errors import BadInput, Refused
from jupyter_webresearch.policy.addresses import IPAddress

__all__ = ["MAX_URL", "CheckedURL", "canonical_host", "parse_url"]

MAX_URL = 2048
"""Longest URL, in characters, as typed and in its ASCII form."""

_MAX_HOST = 253  # RFC 1035, without the trailing dot
_MAX_LABEL = 63
_DEFAULT_PORTS = {"http": 80, "https": 443}
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
# The names of DNS in use: LDH and the underscore (RFC 2181 sets no limit; sites such as my_bucket.s3.* exist).
_ASCII_LABEL = re.compile(r"[a-z0-9_-]{1,63}")
_ENDS_IN_NUMBER = re.compile(r"(?:\d+|0x[0-9a-f]*)\Z", re.ASCII)
_IPV6 = re.compile(r"[0-9A-Fa-f:.]{2,45}")
# Characters that some parser deletes, stops at or takes for a line end: C0, DEL, C1, line and paragraph separators,
# surrogates, non-characters of the BMP's end.
_FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
# URL standard, path and query percent-encode sets; "%" stays, so that what is encoded is not encoded again.
_QUERY_SAFE = "".join(chr(c) for c in range(0x21, 0x7F) if chr(c) not in '"#<>')
_PATH_SAFE = "".join(c for c in _QUERY_SAFE if c not in "?`{}")
_DOT = re.compile(r"(?:\.|%2e)\Z", re.IGNORECASE)
_DOT_DOT = re.compile(r"(?:\.|%2e){2}\Z", re.IGNORECASE)


@dataclass(frozen=True)
class CheckedURL:
    """A URL in its one canonical form.

    Attributes
    ----------
    href
        The whole URL in ASCII, without fragment.
    scheme
        ``http`` or ``https``.
    host
        ASCII (punycode), lower case, without trailing dot; an IPv6 address without brackets, compressed.
    port
        1 to 65535; the scheme's own when the URL names none.
    target
        Path and query as they stand on the request line.
    address
        The IP address that the host is, or None for a name.
    """

    href: str
    scheme: str
    host: str
    port: int
    target: str
    address: IPAddress | None

    @property
    def authority(self) -> str:
        """Host, and the port unless it is the scheme's own, as in a ``Host`` header (RFC 9110, 7.2)."""
        host = f"[{self.host}]" if isinstance(self.address, IPv6Address) else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """Scheme and authority: what two URLs share when they belong to one site (RFC 6454)."""
        return f"{self.scheme}://{self.authority}"


def parse_url(text: str) -> CheckedURL:
    """Read an absolute http(s) URL, or a bare host name with or without path, which becomes https.

    Non-ASCII in path and query is percent-encoded as UTF-8, dot segments are resolved, the fragment is dropped.

    Raises
    ------
    BadInput
        ``invalid_url``: no URL, longer than :data:`MAX_URL`, or one that parsers read differently (user information,
        backslashes, control characters, odd spellings of IPv4 addresses, zone ids, percent signs in the host ...).
    Refused
        ``unsupported_scheme``: any scheme but http and https; nothing is guessed.
    """
    if len(text) > MAX_URL:
        raise _invalid(f"the URL is longer than {MAX_URL:,} characters")
    if not text:
        raise _invalid("there is no URL")
    if _FORBIDDEN.search(text) or text != text.strip():
        raise _invalid("the URL begins or ends with a space, or holds a control character, line end or lone surrogate")
    if "\\" in text:
        raise _invalid("the URL holds a backslash; in a query it is written %5C")
    scheme, rest = _split_scheme(text)
    authority, path, query = _split(rest)
    host, port_text = _split_authority(authority)
    host, address = _host(host)
    port = _port(port_text, scheme)
    target = _path(path) + ("" if query is None else "?" + quote(query, safe=_QUERY_SAFE))
    url = CheckedURL("", scheme, host, port, target, address)
    href = url.origin + target
    if len(href) > MAX_URL:
        raise _invalid(f"the URL is longer than {MAX_URL:,} characters in its ASCII form")
    return CheckedURL(href, scheme, host, port, target, address)


def canonical_host(text: str) -> str:
    """Return a host name in the form of :attr:`CheckedURL.host`.

    Raises
    ------
    BadInput
        ``invalid_url``: when it is not a host name.
    """
    return _host(text)[0]


def _invalid(message: str) -> BadInput:
    return BadInput("invalid_url", message)


def _split_scheme(text: str) -> tuple[str, str]:
    """Return scheme and what follows ``//``."""
    match = _SCHEME.match(text)
    if match is None:
        if not _is_bare_host(_split(text)[0]):
            raise _invalid("this is not an absolute URL; write https:// in front of the host")
        return "https", text
    scheme, rest = match[0][:-1].lower(), text[match.end() :]
    if scheme not in _DEFAULT_PORTS:
        if re.match(r"\d+(?:[/?#]|\Z)", rest, re.ASCII):
            raise _invalid("a host with a port needs its scheme; write http:// or https:// in front")
        raise Refused("unsupported_scheme", f"{scheme[:20]}: is not read, only http and https are")
    if not rest.startswith("//") or rest.startswith("///"):
        raise _invalid(f"{scheme}: must be followed by two slashes and a host")
    return scheme, rest[2:]


def _is_bare_host(authority: str) -> bool:
    """Whether this can only be a name with a dot in it: nothing that could be a scheme, a port or an IP address."""
    labels = authority.removesuffix(".").split(".")
    return len(labels) > 1 and ":" not in authority and not _ENDS_IN_NUMBER.match(labels[-1])


def _split(rest: str) -> tuple[str, str, str | None]:
    """Return authority, path and query (None when there is no ``?``); the fragment is dropped."""
    rest = rest.partition("#")[0]
    before, mark, query = rest.partition("?")
    authority, slash, path = before.partition("/")
    return authority, slash + path, query if mark else None


def _split_authority(authority: str) -> tuple[str, str]:
    """Return host and the text of the port."""
    if "@" in authority:
        raise _invalid("the URL holds a user name or password before the host; send credentials as a header")
    if authority.startswith("["):
        host, bracket, port = authority.partition("]")
        if not bracket or (port and not port.startswith(":")):
            raise _invalid("the brackets around the IPv6 address are not closed, or something else follows them")
        return host + bracket, port[1:]
    host, _, port = authority.partition(":")
    return host, port


def _port(text: str, scheme: str) -> int:
    if not text:
        return _DEFAULT_PORTS[scheme]
    if not re.fullmatch(r"[0-9]+", text) or int(text[-6:]) > 65535 or text[:-6].strip("0"):
        raise _invalid("the port is not a number from 0 to 65535")
    return int(text[-6:])


def _host(text: str) -> tuple[str, IPAddress | None]:
    if text.startswith("["):
        return _ipv6(text[1:-1])
    name = text.removesuffix(".")
    if not name:
        raise _invalid("the URL names no host")
    # Before IDNA, whose time grows with the square of the length.
    if len(name) > _MAX_HOST or any(len(label) > _MAX_LABEL for label in name.split(".")):
        raise _invalid("the host name is longer than DNS allows: 253 characters, 63 between dots")
    name = _mapped(name)
    labels = [_label(label) for label in name.split(".")]
    host = ".".join(labels)
    if len(host) > _MAX_HOST:
        raise _invalid("the host name is longer than the 253 characters that DNS allows")
    if not _ENDS_IN_NUMBER.match(labels[-1]):
        return host, None
    # URL standard: a host that ends in a number is an IPv4 address. Only a.b.c.d in decimal is read alike everywhere.
    try:
        address = IPv4Address(text)
    except AddressValueError:
        raise _invalid("the host looks like an IPv4 address but is not written as four decimal numbers") from None
    return str(address), address


def _ipv6(text: str) -> tuple[str, IPAddress]:
    if _IPV6.fullmatch(text):
        try:
            address = IPv6Address(text)
        except AddressValueError:
            pass
        else:
            return _ipv6_text(address), address
    raise _invalid("what stands in brackets is not an IPv6 address; zone ids are not read")


def _ipv6_text(address: IPv6Address) -> str:
    # Not str(): Python 3.13 began to write IPv4-mapped addresses in dotted form.
    mapped = address.ipv4_mapped
    return f"::ffff:{int(mapped) >> 16:x}:{int(mapped) & 0xFFFF:x}" if mapped is not None else str(address)


def _mapped(name: str) -> str:
    """Lower the case, and make sure that UTS 46 would do no more: no wide forms, no ignored characters."""
    if name.isascii():
        return name.lower()
    try:
        mapped = idna.uts46_remap(name, std3_rules=False)
    except UnicodeError:
        raise _invalid("the host name holds a character that no host name may hold") from None
    # Letter by letter: str.lower() turns a sigma at the end of a word into its final form.
    lower = [character.lower() for character in name]
    second = any(character.isascii() != small.isascii() for character, small in zip(name, lower, strict=True))  # U+212A
    if second or mapped != unicodedata.normalize("NFC", "".join(lower)):
        raise _invalid("the host name holds a character that stands for another one; write the plain character")
    return mapped


def _label(label: str) -> str:
    """Return one label in ASCII; an ``xn--`` label must be the one spelling of what it stands for (RFC 5891)."""
    if not label:
        raise _invalid("the host name has an empty part between its dots")
    if label.isascii() and not label.startswith("xn--"):
        if not _ASCII_LABEL.fullmatch(label):
            raise _invalid("the host name holds a character other than letters, digits, hyphen and underscore")
        return label
    try:
        encoded = idna.alabel(label).decode("ascii")
        idna.ulabel(encoded)
    except UnicodeError:
        raise _invalid("the host name is not a valid internationalised name (IDNA 2008)") from None
    if label.isascii() and encoded != label:
        raise _invalid("the host name is not a valid internationalised name (IDNA 2008)")
    return encoded


def _path(path: str) -> str:
    """Percent-encode, and resolve ``.`` and ``..`` as the URL standard does, in their encoded forms too."""
    kept: list[str] = []
    segments = path.split("/")[1:] or [""]
    for number, segment in enumerate(segments, 1):
        last = number == len(segments)
        if _DOT_DOT.match(segment):
            if kept:
                kept.pop()
        elif not _DOT.match(segment):
            kept.append(segment)
            continue
        if last:
            kept.append("")
    return "/" + quote("/".join(kept), safe=_PATH_SAFE)
