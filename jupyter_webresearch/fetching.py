"""One fetch from the request to the Page: memory, policy, network, extraction, the part that is shown."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace

import anyio

from jupyter_webresearch.caller import Caller
from jupyter_webresearch.clock import Clock
from jupyter_webresearch.config import WebFetch
from jupyter_webresearch.errors import CODES, BadInput, Failed, WebResearchError
from jupyter_webresearch.extraction.pool import ExtractionPool
from jupyter_webresearch.kinds import kind_of, overflow_of
from jupyter_webresearch.models import READS, Extraction, FetchRequest, OnPhase, Saved, Source
from jupyter_webresearch.net.answer import ByteSink, Disposition, ResponseHead
from jupyter_webresearch.net.body import not_written
from jupyter_webresearch.net.file_name import offered_name
from jupyter_webresearch.net.retrieve import Retriever
from jupyter_webresearch.operations import Operation, Operations
from jupyter_webresearch.page import Page
from jupyter_webresearch.page_assembly import (
    decoded,
    encoded_extraction,
    encoded_page,
    filled,
    is_success,
    page_of,
    status_error,
    whole,
)
from jupyter_webresearch.policy.urls import parse_url
from jupyter_webresearch.reading import check_window, window
from jupyter_webresearch.session import Record, Session
from jupyter_webresearch.store import Spool

__all__ = ["Fetcher"]

ERROR_BODY = 64 * 1024  # of an error answer that is no text: read and thrown away, to learn nothing more from it
BODILESS = (204, 205)

_log = logging.getLogger(__name__)


class Fetcher:
    """Reads URLs for sessions. Used on the engine's loop only.

    Parameters
    ----------
    settings
        Limits and budgets.
    operations, retriever, pool
        Policy and journal, network, extraction.
    clock
        Ages and times of record.
    """

    def __init__(
        self, settings: WebFetch, operations: Operations, retriever: Retriever, pool: ExtractionPool, clock: Clock
    ) -> None:
        self._settings = settings
        self._operations = operations
        self._retriever = retriever
        self._pool = pool
        self._clock = clock

    async def fetch(self, session: Session, request: FetchRequest, on_phase: OnPhase, caller: Caller) -> Page:
        """Read one URL; see :meth:`jupyter_webresearch.engine.Engine.fetch`."""
        if session.closed:
            raise Failed("cancelled", "the session has ended")
        opened = self._operations.open(
            "fetch",
            session,
            caller,
            arguments=vars(request),
            method=request.method.upper(),
            url=request.url,
        )
        with session.running():
            async with opened as operation:
                page = await self._in_time(operation, session, request, on_phase)
                operation.complete(page)
        return replace(page, notes=(*page.notes, *self._operations.journal_note(session)))

    async def _in_time(self, operation: Operation, session: Session, request: FetchRequest, on_phase: OnPhase) -> Page:
        seconds = self._settings.save_timeout if request.save else self._settings.timeout
        deadline = operation.gate.deadline = self._clock.monotonic() + seconds
        try:
            with anyio.fail_after(seconds):
                return await self._fetch(operation, session, request, on_phase, deadline)
        except TimeoutError:
            raise Failed("timeout", f"{request.url[:200]} was not read within {seconds:g} s") from None

    async def fetch_many(
        self,
        session: Session,
        requests: Sequence[FetchRequest],
        on_event: Callable[[int, str], None],
        on_result: Callable[[int, Page | WebResearchError], Awaitable[object] | None] | None,
        caller: Caller,
    ) -> list[Page | WebResearchError]:
        """Read many URLs; see :meth:`jupyter_webresearch.engine.Engine.fetch_many`."""
        limit = asyncio.Semaphore(self._settings.batch_concurrency)
        per_host: defaultdict[str, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(self._settings.batch_per_host)
        )

        async def _outcome(index: int, request: FetchRequest, turn: AsyncExitStack) -> Page | WebResearchError:
            try:
                host = _host(request.url)
                # The host's turn first: who waits for it must not hold a place that another host could use.
                await turn.enter_async_context(per_host[host])
                await turn.enter_async_context(limit)
                return await self.fetch(session, request, lambda phase: on_event(index, phase), caller)
            except WebResearchError as error:
                return error
            except Exception:  # a fault of ours must not take the other outcomes along
                _log.exception("a fault while reading one URL of a batch")
                return WebResearchError("internal", CODES["internal"].meaning)

        outcomes: dict[int, Page | WebResearchError] = {}
        deliver: Callable[[int, Page | WebResearchError], Awaitable[object] | None] = on_result or outcomes.__setitem__

        async def _deliver(index: int, request: FetchRequest) -> None:
            async with AsyncExitStack() as turn:
                outcome = await _outcome(index, request, turn)
                # Still in its turn: for a caller who takes them slowly no more are made than the batch reads at once.
                taken = deliver(index, outcome)
                if taken is not None:
                    await taken

        for index in range(len(requests)):
            on_event(index, "queued")
        tasks = [asyncio.ensure_future(_deliver(index, request)) for index, request in enumerate(requests)]
        try:
            await asyncio.gather(*tasks)
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)  # their connections are closed then
            raise
        return [outcomes[index] for index in sorted(outcomes)]

    # ------------------------------------------------------------------ from memory or from the network

    async def _fetch(
        self, operation: Operation, session: Session, request: FetchRequest, on_phase: OnPhase, deadline: float
    ) -> Page:
        check_window(request.offset, request.max_bytes)
        if request.record:
            record = self._stored(session, request.record)
            operation.gate.check_url(record.url)
            return await self._answer(session, record, request, on_phase)
        method = request.method.upper()
        request = replace(request, url=operation.gate.check_url(request.url, method).href, method=method)
        if request.save:
            async with session.place(on_phase):
                return await self._save(operation, session, request, on_phase, deadline)
        # Hashing a body of megabytes would hold up the loop.
        key = await asyncio.to_thread(_key, request) if request.body else _key(request)
        if request.method in READS and not request.fresh:
            async with session.turn(key, on_phase):
                return await self._read(operation, session, request, key, on_phase, deadline)
        return await self._read(operation, session, request, key, on_phase, deadline)

    def _stored(self, session: Session, record_id: str) -> Record:
        record = session.by_id(record_id)
        if record is not None:
            return record
        if session.was_dropped(record_id):
            raise _dropped()
        raise Failed("not_found", "this session has no stored text of that name")

    async def _read(
        self,
        operation: Operation,
        session: Session,
        request: FetchRequest,
        key: str,
        on_phase: OnPhase,
        deadline: float,
    ) -> Page:
        record, page = self._remembered(session, request, key), None
        if record is not None:
            operation.gate.check_url(record.url)  # a redirect may have led where the session may not read any more
            try:
                page = await self._answer(session, record, request, on_phase)
            except Failed as error:
                if error.code != "body_dropped" or request.offset:
                    raise
        if record is None or page is None:
            async with session.place(on_phase):
                record, bare, body = await self._retrieve(operation, session, request, key, on_phase, deadline)
                page = await self._answer(session, record, request, on_phase, (bare, body))
        if _is_shown(page, request):
            return page
        raise status_error(page, record.retry_after)

    def _remembered(self, session: Session, request: FetchRequest, key: str) -> Record | None:
        """Return the record that answers without the network, if there is one."""
        if request.fresh:
            return None
        if request.offset:  # reading on, whatever the age and the method: nothing is sent again unasked
            if session.newest_was_dropped(key):
                raise _dropped()
            return session.newest(key)
        if request.method not in READS:
            return None
        return session.recent(key, self._clock.monotonic())

    async def _retrieve(
        self,
        operation: Operation,
        session: Session,
        request: FetchRequest,
        key: str,
        on_phase: OnPhase,
        deadline: float,
    ) -> tuple[Record, Page, bytes]:
        await operation.start()
        got = await self._retriever.retrieve(
            request, admission=operation.gate, on_phase=on_phase, deadline=deadline, accept=self._accept
        )
        page = page_of(got)
        record = Record(got.head.charset_label, self._clock.monotonic(), got.url, retry_after=got.retry_after)
        await session.put(record, {"page": encoded_page(page), "body": got.body}, new=True)
        answer_again = is_success(page.status) and request.method in READS
        session.remember(key, record, shown=_is_shown(page, request), answer_again=answer_again)
        return record, page, got.body

    def _accept(self, head: ResponseHead) -> Disposition:
        """Decide from the head of an answer what to do with its body."""
        kind = kind_of(head.content_type)
        if kind is not None:
            overflow = overflow_of(kind) if is_success(head.status) else "truncate"
            return Disposition(self._settings.max_body, overflow, None)
        if not is_success(head.status):
            return Disposition(ERROR_BODY, "truncate", None)
        raise Failed(
            "unsupported_content",
            f"{head.url[:200]} is {head.content_type}, which is not shown as text; "
            "to keep the file, fetch it with --save PATH",
        )

    # ------------------------------------------------------------------ the Page of a record

    async def _answer(
        self,
        session: Session,
        record: Record,
        request: FetchRequest,
        on_phase: OnPhase,
        held: tuple[Page, bytes] | None = None,
    ) -> Page:
        """Make the Page of a record: extract for this mode unless that was done before, and cut the asked part.

        ``held`` is the bare Page and the body of a record that was just read.
        """
        mode = "raw" if request.raw else "auto"
        if mode in record.modes:
            page = await self._recalled(session, record, mode)
        else:
            page = await self._extracted(session, record, mode, on_phase, held)
        most = self._settings.max_bytes if request.max_bytes is None else request.max_bytes
        part, shown = await asyncio.to_thread(window, page.markdown, request.offset, most)
        age = None if held is not None else self._clock.monotonic() - record.read
        return replace(page, markdown=part, window=shown, cached_seconds=age, record=record.id)

    async def _recalled(self, session: Session, record: Record, mode: str) -> Page:
        pieces = await session.get(record, "page", f"{mode}.about", mode)
        if pieces is None:
            raise _dropped()
        return await asyncio.to_thread(decoded, pieces)

    async def _extracted(
        self, session: Session, record: Record, mode: str, on_phase: OnPhase, held: tuple[Page, bytes] | None
    ) -> Page:
        """Extract a record's body in one mode and store what comes of it."""
        if held is None:
            pieces = await session.get(record, "page", "body")
            if pieces is None:
                raise _dropped()
            held = Page.from_json(json.loads(pieces[0])), pieces[1]
        page, body = held
        try:
            extraction = await self._extraction_of(page, body, record.charset_label, mode, on_phase)
        except WebResearchError as error:
            if is_success(page.status):
                error.page = page
                raise
            # An error page that can't be read is still an answer: its status is what counts.
            extraction = Extraction(kind="text", markdown="", extractor="none", limits=(error.message,))
        about, text = await asyncio.to_thread(encoded_extraction, extraction)
        await session.put(record, {f"{mode}.about": about, mode: text})
        record.modes.add(mode)
        return filled(page, extraction)

    async def _extraction_of(
        self, page: Page, body: bytes, charset_label: str, mode: str, on_phase: OnPhase
    ) -> Extraction:
        if not body:
            if page.source.method == "GET" and is_success(page.status) and page.status not in BODILESS:
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

    # ------------------------------------------------------------------ saving

    async def _save(
        self, operation: Operation, session: Session, request: FetchRequest, on_phase: OnPhase, deadline: float
    ) -> Page:
        await operation.start()
        spool = session.spool()
        try:
            return await self._spooled(operation, session, spool, request, on_phase, deadline)
        except BaseException:
            session.abandon_spool(spool)
            raise

    async def _spooled(
        self,
        operation: Operation,
        session: Session,
        spool: Spool,
        request: FetchRequest,
        on_phase: OnPhase,
        deadline: float,
    ) -> Page:
        got = await self._retriever.retrieve(
            request,
            admission=operation.gate,
            on_phase=on_phase,
            deadline=deadline,
            accept=lambda head: self._accept_saving(head, spool),
        )
        page = page_of(got)
        if not is_success(page.status) and not request.any_status:
            raise status_error(page, got.retry_after)
        try:
            key = await session.keep_spool(spool, got.body_bytes)
        except OSError as error:
            raise not_written(error) from error
        name = offered_name(got.head.header("content-disposition"), got.url)
        saved = Saved(name, got.body_bytes, got.sha256, got.head.content_type, key=key)
        return replace(page, kind="saved", saved=saved)

    def _accept_saving(self, head: ResponseHead, sink: ByteSink) -> Disposition:
        limit = self._settings.save_max
        if head.announced is not None and head.announced > limit:
            raise Failed(
                "too_large",
                f"{head.url[:200]} announces {head.announced:,} bytes; at most {limit:,} are saved",
                setting="WebFetch.save_max",
            )
        return Disposition(limit, "error", sink, setting="WebFetch.save_max")

    # ------------------------------------------------------------------ offline

    async def extract(
        self,
        session: Session,
        data: bytes,
        *,
        url: str,
        content_type: str,
        charset_label: str,
        on_phase: OnPhase,
        caller: Caller,
    ) -> Page:
        """Make a Page of bytes that the caller has; see :meth:`jupyter_webresearch.engine.Engine.extract`."""
        arguments = {"data": data, "url": url, "content_type": content_type}
        async with self._operations.open("extract", session, caller, arguments=arguments, url=url) as operation:
            await operation.start()
            page = await self._extract(data, url, content_type, charset_label, on_phase)
            operation.complete(page)
        return replace(page, notes=(*page.notes, *self._operations.journal_note(session)))

    async def _extract(self, data: bytes, url: str, content_type: str, charset_label: str, on_phase: OnPhase) -> Page:
        url = _absolute(url)
        kind = kind_of(content_type)
        if kind is None:
            raise Failed("unsupported_content", f"{content_type or 'this content'} is not shown as text")
        limit = self._settings.max_body
        if len(data) > limit and overflow_of(kind) == "error":
            raise Failed("too_large", f"{len(data):,} bytes of {content_type} are more than {limit:,}")
        kept = data[:limit]
        seconds = self._settings.timeout
        try:
            with anyio.fail_after(seconds):
                extraction = await self._pool.extract(
                    kept, url=url, content_type=content_type, charset_label=charset_label, on_phase=on_phase
                )
        except TimeoutError:
            raise Failed("timeout", f"no worker was free to read the text within {seconds:g} s") from None
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
        return replace(filled(page, extraction), window=await asyncio.to_thread(whole, extraction.markdown))


def _host(url: str) -> str:
    """Return the host whose turn a URL takes; one that can't be read is refused when its turn comes."""
    try:
        return parse_url(url).host
    except WebResearchError:
        return ""


def _absolute(url: str) -> str:
    """Return the canonical form of an absolute http(s) URL; which hosts it names does not matter here."""
    if not re.match("https?:", url, re.IGNORECASE):
        raise BadInput("invalid_url", f"{url[:200]!r} is not an absolute http(s) URL")
    return parse_url(url).href


def _is_shown(page: Page, request: FetchRequest) -> bool:
    """Whether an answer is returned as a Page, and not raised as an error that carries it."""
    return is_success(page.status) or request.any_status or request.method not in READS


def _dropped() -> Failed:
    return Failed("body_dropped", "the stored text was dropped to make room; read it again with --fresh")


def _key(request: FetchRequest) -> str:
    """Return the digest of all that makes two requests one: method, URL without fragment, caller's headers, body."""
    headers = [(name.lower(), value) for name, value in request.headers]
    digest = hashlib.sha256(repr((request.method, request.url, headers, request.body is None)).encode())
    digest.update(request.body or b"")
    return digest.hexdigest()
