"""What a request carries: the checks on what the caller gives, and the little that we add."""

from __future__ import annotations

import re
from collections.abc import Sequence

from jupyter_webresearch import __version__
from jupyter_webresearch.config import WebFetch
from jupyter_webresearch.errors import BadInput
from jupyter_webresearch.models import READS, FetchRequest
from jupyter_webresearch.net.decoding import ACCEPT_ENCODING

__all__ = ["ACCEPT", "check_request", "outgoing_headers", "user_agent"]

ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,text/*;q=0.8,application/json;q=0.8,*/*;q=0.5"
"""What is asked for when the caller does not say: pages first, then whatever else can be shown as text."""

MAX_HEADER_BYTES = 16 * 1024
"""Names and values of all the caller's headers; common servers take 8 to 16 KiB."""

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_OTHER = re.compile(r"[^0-9a-z]")
_REFUSED = frozenset(
    {
        "host",
        "content-length",
        "expect",
        # Hop-by-hop: RFC 9110, 7.6.1, and RFC 2616, 13.5.1
        "connection",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "http2-settings",
    }
)
# Proxies' own, and what cloud metadata services take as the proof that a request is meant for them.
_REFUSED_PREFIXES = ("proxy-", "metadata", "x-aws-ec2-metadata-")
# Servers that take the method from here would change something at what was let out as a read.
_METHODS_INSTEAD = frozenset({"x-http-method", "x-http-method-override", "x-method-override", "http-method-override"})
_DECODABLE = {"gzip", "x-gzip", "deflate", "br", "identity"}


def check_request(request: FetchRequest, max_body: int) -> None:
    """Refuse a method, header or body that is not sent, before any packet.

    Parameters
    ----------
    request
        As the caller wrote it.
    max_body
        Most bytes of the request's body.

    Raises
    ------
    BadInput
        ``blocked_method``, ``blocked_header`` (naming the header) or ``request_too_large``.
    """
    if not _TOKEN.fullmatch(request.method) or request.method.upper() in ("CONNECT", "TRACE"):
        raise BadInput("blocked_method", f"the method {request.method[:40]!r} is not sent")
    for name, value in request.headers:
        _check_header(name, value)
        if request.method.upper() in READS and _plain(name) in _METHODS_INSTEAD:
            raise BadInput("blocked_header", f"the header {name[:80]} is not sent with {request.method.upper()}")
    size = sum(len(name) + len(_encode(value)) for name, value in request.headers)
    if size > MAX_HEADER_BYTES:
        raise BadInput("blocked_header", f"the headers are {size:,} bytes; at most {MAX_HEADER_BYTES:,} are sent")
    if request.body is not None and len(request.body) > max_body:
        raise BadInput(
            "request_too_large", f"the request body is {len(request.body):,} bytes; at most {max_body:,} are sent"
        )


def _check_header(name: str, value: str) -> None:
    if not _TOKEN.fullmatch(name):
        raise BadInput("blocked_header", f"{name[:40]!r} is not the name of a header")
    lower, plain = name.lower(), _plain(name)
    if plain in _REFUSED or plain.startswith(_REFUSED_PREFIXES):
        raise BadInput("blocked_header", f"the header {name[:80]} is not sent for a caller")
    if _CONTROL.search(value):
        raise BadInput("blocked_header", f"the value of the header {name[:80]} holds a control character")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise BadInput("blocked_header", f"the value of the header {name[:80]} is not text") from error
    if lower == "accept-encoding":
        tokens = {token.partition(";")[0].strip().lower() for token in value.split(",")}
        if not tokens <= _DECODABLE:
            raise BadInput(
                "blocked_header", f"Accept-Encoding may name {', '.join(sorted(_DECODABLE))}: no other is decoded here"
            )


def outgoing_headers(
    settings: WebFetch,
    caller: Sequence[tuple[str, str]],
    body: bytes | None,
    added: Sequence[tuple[str, str]] = (),
) -> list[tuple[bytes, bytes]]:
    """Return the headers of a request, without Host and Content-Length, which the connection adds.

    Parameters
    ----------
    settings
        Identity and language.
    caller
        The caller's headers that still go along; they replace ours of the same name.
    body
        Its Content-Type is given when the caller gives none.
    added
        What the admission adds, e.g. a credential: it replaces the caller's of the same name, in whatever spelling.

    Returns
    -------
    list of (bytes, bytes)
        Ours first, then the caller's in their order, then what is added; non-ASCII values as UTF-8.
    """
    ours = [
        ("User-Agent", user_agent(settings)),
        ("Accept", ACCEPT),
        ("Accept-Language", settings.accept_language),
        ("Accept-Encoding", ACCEPT_ENCODING),
    ]
    if body:
        ours.append(("Content-Type", _content_type(body)))
    fixed = {_plain(name) for name, _ in added}
    theirs = [(name, value) for name, value in caller if _plain(name) not in fixed]
    given = {name.lower() for name, _ in (*theirs, *added)}
    kept = [(name, value) for name, value in ours if name.lower() not in given and value]
    return [(name.encode("ascii"), _encode(value)) for name, value in (*kept, *theirs, *added)]


def user_agent(settings: WebFetch) -> str:
    """Return the honest User-Agent: token and version, the page about us, and the operator's contact if one is set."""
    product = f"{settings.agent}/{__version__}"
    parts = [f"+{settings.agent_url}" if settings.agent_url else "", settings.contact]
    comment = re.sub(r"[()\\]", "", "; ".join(filter(None, parts)))  # they would end it (RFC 9110, 5.6.5)
    return f"{product} ({comment})" if comment else product


def _plain(name: str) -> str:
    """Return the name as servers compare it; gateways take any other character for ``_``, as for ``-`` (RFC 3875)."""
    return _OTHER.sub("-", name.lower())


def _content_type(body: bytes) -> str:
    text = body.strip(b" \t\r\n")
    if (text[:1], text[-1:]) in ((b"{", b"}"), (b"[", b"]")):
        return "application/json"
    try:
        body.decode()
    except UnicodeDecodeError:
        return "application/octet-stream"
    return "text/plain; charset=utf-8"


def _encode(value: str) -> bytes:
    return value.strip(" \t").encode()
