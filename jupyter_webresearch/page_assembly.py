"""Pages: made of an answer, filled with what was extracted, brought into bytes for the store and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from jupyter_webresearch.errors import Failed
from jupyter_webresearch.extraction.frames import answer_lines, decode_lines, encode_lines, read_extraction
from jupyter_webresearch.kinds import kind_of
from jupyter_webresearch.models import Extraction, Source, Window
from jupyter_webresearch.net.retrieve import Retrieved
from jupyter_webresearch.page import Page

__all__ = ["decoded", "encoded_extraction", "encoded_page", "filled", "is_success", "page_of", "status_error", "whole"]


def page_of(got: Retrieved) -> Page:
    """Return the Page of an answer before anything is extracted from it."""
    head = got.head
    source = Source(
        requested=got.requested,
        url=got.url,
        fetched=got.fetched.isoformat(timespec="seconds"),
        method=got.method,
        status=head.status,
        hops=got.hops,
        insecure_redirect=got.insecure_redirect,
        sha256=got.sha256,
        bytes=got.body_bytes,
        seconds=round(got.seconds, 3),
    )
    return Page(
        markdown="",
        title="",
        url=got.url,
        status=head.status,
        content_type=head.content_type,
        kind=kind_of(head.content_type) or "binary",
        source=source,
        headers=head.headers,
        truncated_body=got.truncated,
        body_bytes=got.body_bytes,
        announced_bytes=head.announced,
    )


def filled(page: Page, extraction: Extraction) -> Page:
    """Return a Page with all that was extracted; its window is still to be set.

    Parameters
    ----------
    page
        Its source, status and headers are kept.
    extraction
        What the worker made of the body.
    """
    return replace(
        page,
        markdown=extraction.markdown,
        kind=extraction.kind,
        title=extraction.title,
        metadata=dict(extraction.metadata),
        links=extraction.links,
        tables=extraction.tables,
        extractor=extraction.extractor,
        kept_share=extraction.kept_share,
        hidden=extraction.hidden,
        charset=extraction.charset,
        limits=extraction.limits,
    )


def whole(text: str) -> Window:
    """Return the window of an answer that shows all of a text."""
    size = len(text.encode())
    return Window(offset=0, end=len(text), total=len(text), shown_bytes=size, total_bytes=size)


def encoded_page(page: Page) -> bytes:
    """Return the JSON of a Page, for :func:`decoded`."""
    return json.dumps(page.to_json()).encode()


def encoded_extraction(extraction: Extraction) -> tuple[bytes, bytes]:
    """Return what is known of a text, and the text, for :func:`decoded`."""
    return encode_lines(*answer_lines(extraction)), extraction.markdown.encode()


def decoded(pieces: Sequence[bytes]) -> Page:
    """Return the filled Page of what :func:`encoded_page` and :func:`encoded_extraction` returned."""
    page, about, text = pieces
    return filled(Page.from_json(json.loads(page)), read_extraction(decode_lines(about), text))


def is_success(status: int) -> bool:
    """Whether a status is 2xx (RFC 9110, 15.3)."""
    return 200 <= status < 300


def status_error(page: Page, retry_after: float | None) -> Failed:
    """Return the error for a status that is no success; it carries the Page.

    Parameters
    ----------
    page
        What was made of the answer.
    retry_after
        Seconds that the site asks to wait, if it does.
    """
    if page.status in (429, 503) and retry_after is not None:
        message = f"{page.url[:200]} answered {page.status} and asks to wait {retry_after:g} s"
        return Failed("rate_limited", message, retry_after=retry_after, page=page)
    message = f"{page.url[:200]} answered {page.status}; with --any-status (any_status=True) its page is an answer too"
    return Failed("http_status", message, page=page)
