"""What a retrieval gives back, and how its caller decides on the body."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from jupyter_webresearch.models import Hop

__all__ = ["ByteSink", "Disposition", "ResponseHead", "Retrieved"]


class ByteSink(Protocol):
    """Where a body goes instead of memory; written to by one thread at a time, never on the event loop.

    When a retrieval ends early, a write may still be under way on its thread.
    """

    def write(self, data: bytes, /) -> object:
        """Take the next decoded bytes; an OSError ends the retrieval with ``save_refused``."""
        ...


@dataclass(frozen=True)
class ResponseHead:
    """The final answer's head, known before its body is read.

    Attributes
    ----------
    url
        Final URL, after redirects.
    status
        HTTP status, 200 to 599.
    headers
        Lower-case names and values, in order, control characters replaced by spaces.
    content_type
        ``type/subtype`` in lower case. Where the site declares none, or one that says nothing, it is what the first
        bytes show; an empty string where there is no body to look at.
    charset_label
        The ``charset`` parameter as sent, unquoted, or an empty string.
    announced
        Content-Length, in bytes; None when there is none, or when it is the size of an encoded body.
    prefix
        The first decoded bytes, at most 512, when they were needed to tell the type; else empty.
    encodings
        The content encodings that are undone.
    """

    url: str
    status: int
    headers: tuple[tuple[str, str], ...]
    content_type: str
    charset_label: str = ""
    announced: int | None = None
    prefix: bytes = b""
    encodings: tuple[str, ...] = ()

    def header(self, name: str) -> str:
        """Return the first value of a header, or an empty string."""
        return next((value for key, value in self.headers if key == name.lower()), "")


@dataclass(frozen=True)
class Disposition:
    """What to do with a body, decided on its head.

    Attributes
    ----------
    limit
        Most decoded bytes that are kept.
    overflow
        At the limit: ``truncate`` keeps what came and closes the connection, ``error`` raises ``too_large``. The same
        holds for a body that ends too early: cut under ``truncate``, ``bad_response`` under ``error``.
    sink
        Takes the decoded bytes instead of memory.
    setting
        ``Class.trait`` that ``too_large`` names, when it is not ``WebFetch.max_body``.
    """

    limit: int
    overflow: Literal["truncate", "error"] = "truncate"
    sink: ByteSink | None = None
    setting: str | None = None


@dataclass(frozen=True)
class Retrieved:
    """One retrieval, redirects and the polite retry included.

    Attributes
    ----------
    head
        Of the final answer.
    requested
        The URL as the guard normalised it.
    url, method
        Of the final request.
    hops
        Every answer on the way, the last included.
    fetched
        When the final answer began, aware, in UTC.
    body
        Decoded bytes that were kept; empty with a sink.
    body_bytes
        How many were kept.
    truncated
        Whether the body went on, or broke off, beyond what was kept.
    sha256
        Of the kept bytes, hexadecimal.
    insecure_redirect
        Whether the chain went from https to http.
    seconds
        From the start of the operation to the end of the body.
    retry_after
        Seconds that a 429 or 503 asks to wait, when it says so.
    """

    head: ResponseHead
    requested: str
    url: str
    method: str
    hops: tuple[Hop, ...]
    fetched: datetime
    body: bytes
    body_bytes: int
    truncated: bool
    sha256: str
    insecure_redirect: bool
    seconds: float
    retry_after: float | None = None
