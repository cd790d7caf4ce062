"""The pool of extraction workers: bodies in, extractions out, within a time and a memory that no page can exceed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar

from jupyter_webresearch.config import WebExtraction
from jupyter_webresearch.errors import Failed
from jupyter_webresearch.extraction.capacity import available_cores, available_memory, worker_count
from jupyter_webresearch.extraction.process import StageFailed, WorkerProcess, worker_command
from jupyter_webresearch.models import Extraction, OnPhase
from jupyter_webresearch.threads import Threads

__all__ = ["ExtractionPool"]

# What is tried, in this order, until something other than plain text succeeds. Plain text comes before the whole page,
# which reads better but can fail; of a large page it comes first, so that it is there whatever becomes of the rest.
_STAGES = ("article", "text", "page")
_STAGES_OF_LARGE = ("text", "article", "page")
_LARGE = 2 * 1024 * 1024
_STAGE_NAMES = {"article": "the article", "page": "the whole page"}

# Share of the time that is left which the article may take.
_ARTICLE_SHARE = 0.65

# A stage that takes longer than this share of its time may well cost its worker: the next one warms up meanwhile.
_STANDBY_AFTER = 0.4

_START_SECONDS = 30.0

# An answer is longer than its page by escapes, resolved links and expanded spans, but not without end.
_ANSWER_FACTOR = 8
_ANSWER_MINIMUM = 4 * 1024 * 1024


_F = TypeVar("_F", bound=asyncio.Future[Any])


class _Slot:
    """One place of the pool: its worker, and the next one if that is on its way."""

    def __init__(self) -> None:
        self.worker: WorkerProcess | None = None
        self.standby: asyncio.Task[WorkerProcess] | None = None


class ExtractionPool:
    """Killable worker processes, kept warm.

    Parameters
    ----------
    settings
        How many, for how long, with how much.
    command
        What a worker runs; for tests.

    Notes
    -----
    It lives on the event loop that first uses it. On Linux the workers die with that loop's thread, so the thread
    should last as long as the pool.
    """

    def __init__(self, settings: WebExtraction, *, command: Sequence[str] | None = None) -> None:
        self._settings = settings
        self._command = tuple(command or worker_command())
        self._parsing = threading.Lock()
        self._size = settings.workers or worker_count(available_cores(), available_memory())
        # At once for a slot: one page, one worker warming up, two that are being buried.
        self._threads = Threads(4 * self._size, "webresearch-extract")
        self._free: asyncio.Queue[_Slot | None] = asyncio.Queue()
        self._slots: list[_Slot] = []
        self._workers: set[WorkerProcess] = set()
        self._background: set[asyncio.Future[Any]] = set()
        self._closed = False

    @property
    def size(self) -> int:
        """Pages that are extracted at once."""
        return self._size

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of the workers that run now."""
        return tuple(worker.pid for worker in self._workers if worker.alive)

    async def start(self) -> tuple[str, ...]:
        """Warm every worker up.

        Returns
        -------
        tuple[str, ...]
            Names of the fences that stand around a worker on this machine.

        Raises
        ------
        Failed
            ``extraction_failed`` when workers can't be started here.
        """
        self._open()
        warming = [self._prepare(slot) for slot in self._slots if slot.worker is None]
        await asyncio.gather(*warming, return_exceptions=True)
        slot = await self._take(_silent)
        try:
            worker = await self._warm(slot, _START_SECONDS)
        except StageFailed as failure:
            raise _error([failure], self._settings.wall_time) from failure
        finally:
            self._give_back(slot)
        return worker.fences

    async def close(self) -> None:
        """Kill every worker and fail what is still waiting; the pool can't be used again."""
        if self._closed:
            return
        self._closed = True
        self._free.put_nowait(None)
        for worker in tuple(self._workers):
            self._discard(worker)
        while self._background:
            await asyncio.wait(set(self._background))
        self._threads.shutdown()  # all they did has ended

    async def extract(
        self,
        data: bytes,
        *,
        url: str,
        content_type: str,
        charset_label: str = "",
        mode: Literal["auto", "raw"] = "auto",
        on_phase: OnPhase | None = None,
    ) -> Extraction:
        """Turn a body into text.

        The article if there is one, else the whole page, else plain text: all within ``WebExtraction.wall_time`` from
        the moment a worker takes the page. A cancelled call kills the worker that runs for it.

        Parameters
        ----------
        data
            Decoded body.
        url
            Final URL, against which links are resolved.
        content_type
            Essence of the media type, lower case.
        charset_label
            ``charset`` parameter of the Content-Type as the site wrote it.
        mode
            ``raw`` gives the decoded source instead.
        on_phase
            Told ``queued`` when no worker is free, and ``extracting`` when one takes the page.

        Raises
        ------
        Failed
            ``no_text`` when the page holds no words; ``too_complex`` when not even plain text could be had in time and
            memory; ``extraction_failed`` when workers ended without an answer or can't be started; ``cancelled`` when
            the pool is closed.
        """
        self._open()
        tell = on_phase or _silent
        header = {
            "url": url,
            "content_type": content_type,
            "charset_label": charset_label,
            "limits": {
                name: getattr(self._settings, name)
                for name in ("max_elements", "max_depth", "max_attributes", "max_cells")
            },
            "max_answer": max(_ANSWER_MINIMUM, _ANSWER_FACTOR * len(data)),
        }
        slot = await self._take(tell)
        try:
            await self._warm(slot, _START_SECONDS)
            tell("extracting")
            return await self._stages(slot, header, data, _stages_of(mode, len(data)))
        except StageFailed as failure:
            raise _error([failure], self._settings.wall_time) from failure
        finally:
            self._give_back(slot)

    async def _stages(self, slot: _Slot, header: dict[str, Any], data: bytes, stages: Sequence[str]) -> Extraction:
        """Try one stage after the other within the page's time, and return the best that gave words."""
        wall = self._settings.wall_time
        loop = asyncio.get_running_loop()
        end = loop.time() + wall
        text: Extraction | None = None
        failures: list[StageFailed] = []
        notes: list[str] = []
        for stage in stages:
            now = loop.time()
            deadline = now + (end - now) * _ARTICLE_SHARE if stage == "article" else end
            try:
                extraction = await self._stage(slot, header | {"stage": stage}, data, deadline)
            except StageFailed as failure:
                failures.append(failure)
                if failure.reason in ("protocol", "start", "closed"):
                    break
                if failure.reason == "large":
                    notes.append("limits: too large to look for the article in it")
                if failure.reason in ("time", "memory", "size") and stage in _STAGE_NAMES:
                    notes.append(f"limits: {failure.reason} for {_STAGE_NAMES[stage]}")
            else:
                if stage != "text":
                    return _noted(extraction, notes)
                text = extraction
        if text is not None:
            return _noted(text, notes)
        raise _error(failures, wall) from failures[-1]

    async def _stage(self, slot: _Slot, header: dict[str, Any], data: bytes, deadline: float) -> Extraction:
        """Have the slot's worker do one stage; when it can't by the deadline, or the caller gives up, it is killed."""
        loop = asyncio.get_running_loop()
        worker = await self._warm(slot, deadline - loop.time())
        request = header | {"seconds": max(0.1, deadline - loop.time())}
        is_last = worker.pages + 1 >= self._settings.recycle_pages
        work = self._in_thread(worker.exchange, request, data)
        try:
            if not is_last:
                await asyncio.wait({work}, timeout=_STANDBY_AFTER * (deadline - loop.time()))
            if not work.done():
                self._prepare(slot)
                await asyncio.wait({work}, timeout=max(0.0, deadline - loop.time()))
            if not work.done():
                raise StageFailed("time")
            try:
                return work.result()  # type: ignore[no-any-return]  # exchange returns an Extraction
            except StageFailed as failure:
                if failure.reason not in ("error", "size", "empty", "large"):
                    self._drop_worker(slot)
                raise
        finally:
            if not work.done():
                self._drop_worker(slot)

    # --- places and workers

    def _open(self) -> None:
        if self._closed:
            raise Failed("cancelled", "The extraction workers have been shut down.")
        if self._slots:
            return
        self._slots = [_Slot() for _ in range(self._size)]
        for slot in self._slots:
            self._renew(slot)

    async def _take(self, tell: OnPhase) -> _Slot:
        if self._free.empty():
            tell("queued")
        slot = await self._free.get()
        if slot is None:
            # The mark of a closed pool, for whoever else is waiting too.
            self._free.put_nowait(None)
            raise Failed("cancelled", "The extraction workers have been shut down.")
        return slot

    def _give_back(self, slot: _Slot) -> None:
        """Free the slot: now, if its worker is fit for another page, else as soon as the next one is warm."""
        if self._closed:
            return
        worker, limits = slot.worker, self._settings
        if (
            slot.standby is None
            and worker is not None
            and worker.pages < limits.recycle_pages
            and worker.memory <= limits.recycle_memory
        ):
            self._free.put_nowait(slot)
        else:
            self._renew(slot)

    def _renew(self, slot: _Slot) -> None:
        self._drop_worker(slot)
        standby = self._prepare(slot)

        def free(_: asyncio.Task[WorkerProcess]) -> None:
            # Also when it failed: whoever takes the slot tries again and tells the caller why not.
            if not self._closed:
                self._free.put_nowait(slot)

        standby.add_done_callback(free)

    def _prepare(self, slot: _Slot) -> asyncio.Task[WorkerProcess]:
        """Start warming up the slot's next worker, unless one is on its way."""
        if slot.standby is None:
            slot.standby = asyncio.get_running_loop().create_task(self._spawn())
            self._keep(slot.standby)
        return slot.standby

    async def _warm(self, slot: _Slot, seconds: float) -> WorkerProcess:
        """Return the slot's warm worker, waiting for it at most that long."""
        if slot.worker is not None and slot.worker.alive:
            return slot.worker
        self._drop_worker(slot)
        standby = self._prepare(slot)
        await asyncio.wait({standby}, timeout=max(0.0, seconds))
        if not standby.done():
            raise StageFailed("time")
        slot.standby = None
        slot.worker = standby.result()
        return slot.worker

    async def _spawn(self) -> WorkerProcess:
        if self._closed:
            raise StageFailed("closed")
        settings = self._settings
        try:
            worker = WorkerProcess(
                self._command,
                address_space=settings.address_space,
                cpu_seconds=int(settings.recycle_pages * settings.wall_time) + 60,
                parsing=self._parsing,
            )
        except OSError as error:
            raise StageFailed("start", str(error)) from error
        self._workers.add(worker)
        ready = self._in_thread(worker.wait_ready)
        try:
            await asyncio.wait_for(asyncio.shield(ready), _START_SECONDS)
        except BaseException as error:
            self._discard(worker)
            if isinstance(error, asyncio.TimeoutError):
                raise StageFailed("start", f"not ready after {_START_SECONDS:g} s") from error
            if isinstance(error, StageFailed) and error.reason == "crash":
                raise StageFailed("start", "it ended before it was ready") from error
            raise
        return worker

    def _drop_worker(self, slot: _Slot) -> None:
        if slot.worker is not None:
            self._discard(slot.worker)
            slot.worker = None

    def _discard(self, worker: WorkerProcess) -> None:
        if worker in self._workers:
            self._workers.remove(worker)
            worker.kill()
            self._in_thread(worker.reap)

    def _in_thread(self, function: Any, *arguments: Any) -> asyncio.Future[Any]:
        return self._keep(asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments))

    def _keep(self, future: _F) -> _F:
        """Hold on to what runs in the background, and don't let a result that nobody waits for be reported as lost."""
        self._background.add(future)

        def done(finished: asyncio.Future[Any]) -> None:
            self._background.discard(finished)
            if not finished.cancelled():
                finished.exception()

        future.add_done_callback(done)
        return future


def _stages_of(mode: str, size: int) -> tuple[str, ...]:
    if mode == "raw":
        return ("raw",)
    return _STAGES_OF_LARGE if size > _LARGE else _STAGES


def _noted(extraction: Extraction, notes: Sequence[str]) -> Extraction:
    return replace(extraction, limits=(*extraction.limits, *notes)) if notes else extraction


def _silent(_: str) -> None:
    return


def _error(failures: Sequence[StageFailed], wall_time: float) -> Failed:
    """Say what became of a page none of whose stages gave words."""
    reasons = [failure.reason for failure in failures]
    detail = f" ({failures[-1].detail})" if failures[-1].detail else ""
    if "closed" in reasons:
        return Failed("cancelled", "The extraction workers have been shut down.")
    if reasons[-1] == "start":
        return Failed(
            "extraction_failed",
            f"No extraction worker could be started{detail}; `jupyter webresearch doctor` says what is missing.",
        )
    if reasons[-1] == "empty":
        return Failed("no_text", "The page holds no text; it may be drawn by scripts and need a browser.")
    if reasons[-1] != "protocol" and {"time", "memory", "size"} & set(reasons):
        return Failed(
            "too_complex",
            f"The page could not be turned into text within {wall_time:g} s and the memory allowed, "
            "not even into plain text.",
        )
    return Failed("extraction_failed", f"The extraction worker ended without an answer{detail}.")
