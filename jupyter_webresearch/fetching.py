"""One fetch from the request to the Page: memory, policy, network, extraction, the part that is shown."""

from __future__ import annotations

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from email.message import Message
from pathlib import PurePosixPath
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

import anyio

from jupyter_webresearch.clock import Clock
from jupyter_webresearch.config import WebFetch
from jupyter_webresearch.errors import BadInput, Failed, WebResearchError
from jupyter_webresearch.extract.pool import ExtractionPool
from jupyter_webresearch.kinds import kind_of, overflow_of
from jupyter_webresearch.models import Extraction, FetchRequest, OnPhase, Page, Saved, Source
from jupyter_webresearch.net.retrieve import Disposition, ResponseHead, Retrieved, Retriever
from jupyter_webresearch.policy.guard import Guard
from jupyter_webresearch.reading import window
from jupyter_webresearch.session import Record, RequestKey, Session

__all__ = ["Fetcher"]

SAFE = ("GET", "HEAD")  # RFC 9110 section 9.2.1; OPTIONS and TRACE are not reads of a page
ERROR_BODY = 64 * 1024  # of an error answer that is no text: read and thrown away, to learn nothing more from it


class Fetcher:
    """Reads URLs for sessions. Used on the engine's loop only.

    Parameters
    ----------
    settings
        Limits and budgets.
    guard, retriever, pool
        Policy, network and extraction.
    clock
        Ages and times of record.
    """

    def __init__(
        self, settings: WebFetch, guard: Guard, retriever: Retriever, pool: ExtractionPool, clock: Clock
    ) -> None:
        self._settings = settings
        self._guard = guard
        self._retriever = retriever
        self._pool = pool
        self._clock = clock

    async def fetch(self, session: Session, request: FetchRequest, on_phase: OnPhase) -> Page:
        """Read one URL; see :meth:`jupyter_webresearch.engine.Engine.fetch`."""
        if session.closed:
            raise Failed("cancelled", "the session has ended")
        seconds = self._settings.save_timeout if request.save else self._settings.timeout
        with session.running():
            try:
                with anyio.fail_after(seconds):
                    return await self._fetch(session, request, on_phase, self._clock.monotonic() + seconds)
            except TimeoutError:
                raise Failed("timeout", f"{request.url[:200]} was not read within {seconds:g} s") from None

    async def fetch_many(
        self,
        session: Session,
        requests: Sequence[FetchRequest],
        on_event: Callable[[int, str], None],
        on_result: Callable[[int, Page | WebResearchError], None],
    ) -> list[Page | WebResearchError]:
        """Read many URLs; see :meth:`jupyter_webresearch.engine.Engine.fetch_many`."""
        limit = asyncio.Semaphore(self._settings.batch_concurrency)
        per_host: defaultdict[str, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(self._settings.batch_per_host)
        )

        async def _outcome(index: int, request: FetchRequest) -> Page | WebResearchError:
            try:
                host = self._guard.check_url(request.url).host
                # The host's turn first: who waits for it must not hold a place that another host could use.
                async with per_host[host], limit:
                    return await self.fetch(session, request, lambda phase: on_event(index, phase))
            except WebResearchError as error:
                return error

        async def _delivered(index: int, request: FetchRequest) -> Page | WebResearchError:
            outcome = await _outcome(index, request)
            on_result(index, outcome)
            return outcome

        for index in range(len(requests)):
            on_event(index, "queued")
        tasks = [asyncio.ensure_future(_delivered(index, request)) for index, request in enumerate(requests)]
        try:
            return list(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()

    # ------------------------------------------------------------------ from memory or from the network

    async def _fetch(self, session: Session, request: FetchRequest, on_phase: OnPhase, deadline: float) -> Page:
        if request.record:
            return await self._answer(session, self._stored(session, request.record), request, on_phase)
        request = replace(request, url=self._guard.check_url(request.url).href, method=request.method.upper())
        if request.save:
            return await self._save(session, request, on_phase, deadline)
        key = _key(request)
        async with session.lock(key):
            record = self._remembered(session, request, key)
            if record is None:
                record = await self._retrieve(session, request, key, on_phase, deadline)
            page = await self._answer(session, record, request, on_phase)
        return _judged(page, record, request)

    def _stored(self, session: Session, record_id: str) -> Record:
        record = session.by_id(record_id)
        if record is not None:
            return record
        if session.was_dropped(record_id):
            raise _dropped()
        raise Failed("not_found", "this session has no stored text of that name")

    def _remembered(self, session: Session, request: FetchRequest, key: RequestKey) -> Record | None:
        """Return the record that answers without the network, if there is one."""
        if request.fresh:
            return None
        if request.offset:  # reading on, whatever the age and the method: nothing is sent again unasked
            if session.dropped(key):
                raise _dropped()
            return session.stored(key)
        if request.method not in SAFE:
            return None
        return session.recent(key, self._clock.monotonic())

    async def _retrieve(
        self, session: Session, request: FetchRequest, key: RequestKey, on_phase: OnPhase, deadline: float
    ) -> Record:
        got = await self._retriever.retrieve(request, on_phase=on_phase, deadline=deadline, accept=self._accept)
        record = Record(page=_skeleton(got), charset_label=got.head.charset_label, read=self._clock.monotonic())
        record.retry_after = got.retry_after
        await session.put(record, "body", got.body)
        session.remember(key, record, answer_again=_is_success(got.head.status) and request.method in SAFE)
        return record

    def _accept(self, head: ResponseHead) -> Disposition:
        """Decide from the head of an answer what to do with its body."""
        kind = kind_of(head.content_type)
        if kind is not None:
            overflow = overflow_of(kind) if _is_success(head.status) else "truncate"
            return Disposition(self._settings.max_body, overflow, None)
        if not _is_success(head.status):
            return Disposition(ERROR_BODY, "truncate", None)
        raise Failed(
            "unsupported_content",
            f"{head.url[:200]} is {head.content_type}, which is not shown as text; "
            "to keep the file, use %webfetch URL --save PATH",
        )

    # ------------------------------------------------------------------ the Page of a record

    async def _answer(self, session: Session, record: Record, request: FetchRequest, on_phase: OnPhase) -> Page:
        """Make the Page of a record: extract for this mode unless that was done before, and cut the asked part."""
        mode = "raw" if request.raw else "auto"
        text = None
        if mode in record.extractions:
            stored = await session.get(record, mode)
            text = None if stored is None else await asyncio.to_thread(stored.decode)
        else:
            text = await self._extract(session, record, mode, on_phase)
        if text is None:
            raise _dropped()
        part, shown = await asyncio.to_thread(
            window, text, request.offset, request.max_bytes or self._settings.max_bytes
        )
        page = filled(record.page, record.extractions[mode], part)
        age = self._clock.monotonic() - record.read if record.answers else None
        record.answers += 1
        return replace(page, window=shown, cached_seconds=age, record=record.id)

    async def _extract(self, session: Session, record: Record, mode: str, on_phase: OnPhase) -> str | None:
        """Extract a record's body in one mode, store the text and return it; None when the body is gone."""
        body = await session.get(record, "body")
        if body is None:
            return None
        page = record.page
        try:
            extraction = await self._extraction_of(page, body, record.charset_label, mode, on_phase)
        except WebResearchError as error:
            if _is_success(page.status):
                error.page = page
                raise
            # An error page that can't be read is still an answer: its status is what counts.
            extraction = Extraction(kind="text", markdown="", extractor="none", limits=(error.message,))
        text = extraction.markdown
        await session.put(record, mode, await asyncio.to_thread(text.encode))
        record.extractions[mode] = replace(extraction, markdown="")
        return text

    async def _extraction_of(
        self, page: Page, body: bytes, charset_label: str, mode: str, on_phase: OnPhase
    ) -> Extraction:
        if not body:
            if page.source.method == "GET" and page.status == 200:
                raise Failed("no_text", f"{page.url[:200]} answered with an empty body")
            return Extraction(kind="text", markdown="", extractor="none")
        if kind_of(page.content_type) is None:
            note = f"a body of type {page.content_type} is not shown"
            return Extraction(kind="text", markdown="", extractor="none", limits=(note,))
        return await self._pool.extract(
            body,
            url=page.url,
            content_type=page.content_type,
            charset_label=charset_label,
            mode="raw" if mode == "raw" else "auto",
            on_phase=on_phase,
        )

    # ------------------------------------------------------------------ saving and offline extraction

    async def _save(self, session: Session, request: FetchRequest, on_phase: OnPhase, deadline: float) -> Page:
        key, path = await asyncio.to_thread(session.new_spool)
        try:
            with await asyncio.to_thread(path.open, "wb") as sink:
                got = await self._retriever.retrieve(
                    request,
                    on_phase=on_phase,
                    deadline=deadline,
                    accept=lambda head: self._accept_saving(head, sink),
                )
        except BaseException:
            session.discard_spool(key)
            raise
        page = _skeleton(got)
        if not _is_success(page.status) and not request.any_status:
            session.discard_spool(key)
            raise _status_error(page, got.retry_after)
        saved = Saved(_name_of(got), got.body_bytes, got.sha256, got.head.content_type, key=key)
        return replace(page, kind="saved", saved=saved)

    def _accept_saving(self, head: ResponseHead, sink: BinaryIO) -> Disposition:
        limit = self._settings.save_max
        if head.announced is not None and head.announced > limit:
            raise Failed(
                "too_large",
                f"{head.url[:200]} announces {head.announced:,} bytes; at most {limit:,} are saved",
                setting="WebFetch.save_max",
            )
        return Disposition(limit, "error", sink, setting="WebFetch.save_max")

    async def extract(self, data: bytes, *, url: str, content_type: str, charset_label: str, on_phase: OnPhase) -> Page:
        """Make a Page of bytes that the caller has; see :meth:`jupyter_webresearch.engine.Engine.extract`."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise BadInput("invalid_url", f"{url[:200]!r} is not an absolute http(s) URL")
        kind = kind_of(content_type)
        if kind is None:
            raise Failed("unsupported_content", f"{content_type or 'this content'} is not shown as text")
        limit = self._settings.max_body
        if len(data) > limit and overflow_of(kind) == "error":
            raise Failed("too_large", f"{len(data):,} bytes of {content_type} are more than {limit:,}")
        kept = data[:limit]
        extraction = await self._pool.extract(
            kept, url=url, content_type=content_type, charset_label=charset_label, on_phase=on_phase
        )
        source = Source(
            requested=url,
            url=url,
            fetched=self._clock.now().isoformat(timespec="seconds"),
            method="",
            status=0,
            sha256=await asyncio.to_thread(lambda: hashlib.sha256(kept).hexdigest()),
            bytes=len(kept),
        )
        page = Page(
            markdown="",
            title="",
            url=url,
            status=0,
            content_type=content_type,
            kind=extraction.kind,
            source=source,
            truncated_body=len(kept) < len(data),
            body_bytes=len(kept),
            announced_bytes=len(data),
        )
        return filled(page, extraction, extraction.markdown)


def filled(page: Page, extraction: Extraction, text: str) -> Page:
    """Return a page with what was extracted and the whole of a text as its window."""
    size = len(text.encode())
    return replace(
        page,
        markdown=text,
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
        window=replace(page.window, offset=0, end=len(text), total=len(text), shown_bytes=size, total_bytes=size),
    )


def _skeleton(got: Retrieved) -> Page:
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


def _judged(page: Page, record: Record, request: FetchRequest) -> Page:
    """Return a Page whose status is success or was asked for, and raise the others."""
    if _is_success(page.status) or request.any_status or request.method not in SAFE:
        return page
    raise _status_error(page, record.retry_after)


def _status_error(page: Page, retry_after: float | None) -> Failed:
    if page.status in (429, 503) and retry_after is not None:
        message = f"{page.url[:200]} answered {page.status} and asks to wait {retry_after:g} s"
        return Failed("rate_limited", message, retry_after=retry_after, page=page)
    return Failed("http_status", f"{page.url[:200]} answered {page.status}", page=page)


def _dropped() -> Failed:
    return Failed("body_dropped", "the stored text was dropped to make room; read it again with --fresh")


def _is_success(status: int) -> bool:
    return 200 <= status < 300


def _key(request: FetchRequest) -> RequestKey:
    headers = tuple((name.lower(), value) for name, value in request.headers)
    digest = hashlib.sha256(request.body).hexdigest() if request.body is not None else ""
    return request.method, request.url, headers, digest


def _name_of(got: Retrieved) -> str:
    """Return the name that the site gave, or the last segment of the path: to offer, not yet to trust."""
    disposition = Message()
    disposition["Content-Disposition"] = got.head.header("content-disposition")
    given = disposition.get_filename()  # RFC 6266 with RFC 2231 extended values
    return given or PurePosixPath(unquote(urlsplit(got.url).path)).name
