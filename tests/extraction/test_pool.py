"""The pool with workers that misbehave: each way to end, and that the pool is whole again afterwards."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress

import psutil
import pytest

from jupyter_webresearch.config import WebExtraction
from jupyter_webresearch.errors import Failed
from jupyter_webresearch.extraction.pool import ExtractionPool
from tests.extraction.standin import COMMAND

MIB = 1024 * 1024
# Seconds for pages that never end: where a busy machine needs longer to have the next worker up, it gets longer.
PATIENCE = (2.5, 10.0, 30.0)


@pytest.fixture
async def make_pool():
    pools = []

    def make(**settings):
        settings = {"workers": 1, "wall_time": 30.0, "address_space": 512 * MIB, **settings}
        pools.append(ExtractionPool(WebExtraction(**settings), command=COMMAND))
        return pools[-1]

    yield make
    for pool in pools:
        await pool.close()
        assert pool.pids == ()


async def run(pool, action, **arguments):
    result = await asyncio.wait_for(
        pool.extract(action.encode(), url="https://example.org/", content_type="text/html", **arguments), 100
    )
    return result.markdown


async def worker_of(pool):
    return int(await run(pool, "pid"))


async def works(pool):
    """Tell whether a page is read; within a short time that may take more than one try."""
    for _ in range(10):
        with suppress(Failed):
            if await run(pool, "none unless article") == "article stage":
                return True
    return False


async def ends(pid):
    while _process(pid) is not None:
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("action", "good", "result"),
    [
        *((action, "text page", "page") for action in ("sleep", "stuck", "memory", "crash", "exit", "raise", "short")),
        *((action, "text", "text") for action in ("stuck", "memory", "crash", "raise")),
        *((action, "page", "page") for action in ("memory", "crash", "raise")),
    ],
)
async def test_a_stage_that_fails_falls_to_another(make_pool, action, good, result):
    extraction = None
    for wall_time in PATIENCE if action in ("sleep", "stuck") else (30.0,):
        pool = make_pool(wall_time=wall_time)
        page = f"{action} unless {good}".encode()
        with suppress(Failed):
            extraction = await pool.extract(page, url="https://e.org/", content_type="text/html")
        if extraction is not None and extraction.extractor == result:
            break
    assert extraction is not None
    assert extraction.markdown == f"{result} stage"
    reason = {"sleep": "time", "stuck": "time", "memory": "memory"}.get(action)
    assert (f"limits: {reason} for the article" in extraction.limits) == (reason is not None)
    assert (f"limits: {reason} for the whole page" in extraction.limits) == (reason is not None and result == "text")
    assert await works(pool)


@pytest.mark.parametrize("size", [2 * MIB, 2 * MIB + 1])
async def test_a_page_of_any_size_whose_tree_is_never_done_still_gives_text(make_pool, size):
    page = b"sleep unless text".ljust(size)
    extraction = None
    for wall_time in PATIENCE:
        with suppress(Failed):
            pool = make_pool(wall_time=wall_time)
            extraction = await pool.extract(page, url="https://e.org/", content_type="text/html")
            break
    assert extraction is not None
    assert extraction.extractor == "text"


@pytest.mark.parametrize(
    ("action", "code"),
    [
        ("sleep", "too_complex"),
        ("stuck", "too_complex"),
        ("memory", "too_complex"),
        ("large", "too_complex"),
        ("crash", "extraction_failed"),
        ("exit", "extraction_failed"),
        ("short", "extraction_failed"),
        ("raise", "extraction_failed"),
        ("flood", "extraction_failed"),
        ("flood-in-frame", "extraction_failed"),
        ("not-json", "extraction_failed"),
        ("not-an-object", "extraction_failed"),
        ("pickle", "extraction_failed"),
        ("wrong-id", "extraction_failed"),
        ("empty", "no_text"),
    ],
)
async def test_what_fails_in_every_stage_is_one_clear_error(make_pool, action, code):
    pool = make_pool(wall_time=1.0 if action in ("sleep", "stuck") else 30.0)
    with pytest.raises(Failed) as caught:
        await run(pool, action)
    assert caught.value.code == code
    assert "secret" not in str(caught.value)
    assert await works(pool)


async def test_raw_has_one_stage_and_needs_no_words(make_pool):
    pool = make_pool(wall_time=20.0)
    assert await run(pool, "crash unless raw", mode="raw") == "raw stage"
    assert await run(pool, "empty", mode="raw") == "* _ *"
    with pytest.raises(Failed) as caught:
        await run(pool, "memory unless text", mode="raw")
    assert caught.value.code == "too_complex"


async def test_a_worker_survives_an_error_that_is_no_danger(make_pool):
    pool = make_pool(wall_time=20.0)
    worker = await worker_of(pool)
    for action in ("raise", "empty", "large"):
        with pytest.raises(Failed):
            await run(pool, action)
    assert await worker_of(pool) == worker


async def test_a_worker_that_is_stuck_in_c_code_is_killed(make_pool):
    pool = make_pool(wall_time=0.5)
    await pool.start()
    (pid,) = pool.pids
    with pytest.raises(Failed):
        await run(pool, "stuck", mode="raw")
    await ends(pid)
    assert await worker_of(pool) != pid


async def test_a_cancelled_call_kills_its_worker(make_pool):
    pool = make_pool(wall_time=30.0)
    await pool.start()
    (pid,) = pool.pids
    began = asyncio.Event()
    task = asyncio.create_task(run(pool, "stuck", on_phase=lambda phase: began.set()))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await ends(pid)
    assert await worker_of(pool) != pid


async def test_a_call_cancelled_while_queued_takes_no_worker(make_pool):
    pool = make_pool(wall_time=30.0)
    await pool.start()
    queued = asyncio.Event()
    first = asyncio.create_task(run(pool, "nap"))
    await asyncio.sleep(0)
    second = asyncio.create_task(run(pool, "nap", on_phase=lambda phase: queued.set()))
    await queued.wait()
    second.cancel()
    worker = int(await first)
    assert await worker_of(pool) == worker


async def test_phases_when_a_worker_is_free_and_when_none_is(make_pool):
    pool = make_pool()
    await pool.start()
    phases = [], [], []
    await asyncio.gather(*(run(pool, "nap", on_phase=seen.append) for seen in phases))
    assert phases == (["extracting"], ["queued", "extracting"], ["queued", "extracting"])


async def test_a_cold_pool_reports_queued_until_a_worker_is_warm(make_pool):
    phases = []
    await run(make_pool(), "pid", on_phase=phases.append)
    assert phases == ["queued", "extracting"]


async def test_waiting_does_not_count_in_a_page_s_time(make_pool, monkeypatch):
    pool = make_pool(wall_time=30.0)
    await pool.start()
    slot = await pool._take(str)
    queued = asyncio.Event()
    page = pool.extract(
        b"pid",
        url="https://e.org/",
        content_type="text/html",
        on_phase=lambda phase: phase == "queued" and queued.set(),
    )
    call = asyncio.create_task(page)
    await queued.wait()
    loop = asyncio.get_running_loop()
    now = loop.time
    monkeypatch.setattr(loop, "time", lambda: now() + 60)
    pool._give_back(slot)
    assert (await call).extractor == "article"


@pytest.mark.parametrize("workers", [1, 2, 3])
async def test_as_many_pages_at_once_as_workers(make_pool, workers):
    pool = make_pool(workers=workers, wall_time=10.0)
    await pool.start()
    assert len(pool.pids) == workers == pool.size
    assert len(set(await asyncio.gather(*(run(pool, "nap") for _ in range(workers))))) == workers


async def test_starting_twice_is_starting_once(make_pool):
    pool = make_pool(workers=2)
    fences = await pool.start()
    pids = pool.pids
    assert await pool.start() == fences
    assert pool.pids == pids


async def test_recycled_after_its_pages(make_pool):
    pool = make_pool(recycle_pages=3)
    workers = [await worker_of(pool) for _ in range(9)]
    assert [len(set(workers[n : n + 3])) for n in (0, 3, 6)] == [1, 1, 1]
    assert len(set(workers)) == 3


async def test_recycled_when_it_has_grown(make_pool):
    pool = make_pool(recycle_memory=100 * MIB)
    grown = await run(pool, "grow")
    assert await worker_of(pool) != int(grown)


async def test_a_worker_that_dies_idle_is_replaced(make_pool):
    pool = make_pool()
    worker = await worker_of(pool)
    process = psutil.Process(worker)
    process.kill()
    await ends(worker)
    assert await worker_of(pool) != worker


async def test_workers_that_can_not_start_are_reported(make_pool):
    pools = [
        ExtractionPool(WebExtraction(workers=1), command=command)
        for command in (
            ("/no/such/python",),
            (sys.executable, "-c", "raise SystemExit(1)"),
            (sys.executable, "-I", "-c", "from jupyter_webresearch.extraction.worker import main; main(lambda: 1 / 0)"),
        )
    ]
    for pool in pools:
        for call in (pool.start, lambda pool=pool: run(pool, "pid"), lambda pool=pool: run(pool, "pid")):
            with pytest.raises(Failed, match="doctor") as caught:
                await call()
            assert caught.value.code == "extraction_failed"
        await pool.close()


async def test_closing_ends_what_runs_and_what_waits(make_pool):
    pool = make_pool(wall_time=30.0)
    await pool.start()
    waiting = asyncio.Event()
    calls = [
        asyncio.create_task(run(pool, "stuck", on_phase=lambda phase: phase == "queued" and waiting.set()))
        for _ in range(3)
    ]
    await waiting.wait()
    await pool.close()
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert [getattr(result, "code", result) for result in results] == ["cancelled"] * 3
    with pytest.raises(Failed):
        await run(pool, "pid")


async def test_closing_an_unused_pool(make_pool):
    await make_pool().close()


def _process(pid):
    try:
        process = psutil.Process(pid)
        return process if process.status() != psutil.STATUS_ZOMBIE else None
    except psutil.NoSuchProcess:
        return None
