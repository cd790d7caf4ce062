"""Every bomb through real workers under production settings, eight at a time."""

from __future__ import annotations

import asyncio
import threading

import psutil
import pytest

from jupyter_webresearch.config import WebExtraction
from jupyter_webresearch.errors import Failed
from jupyter_webresearch.extraction.pool import ExtractionPool
from jupyter_webresearch.models import Extraction
from tests.extraction.bombs import BOMBS, MIB, WORDS, link_dense, nested, table_dense

SETTINGS = WebExtraction()
AT_ONCE = 8
HANG = 100.0
TRIES = 3  # at what comes too late: others may share this machine


async def extract(pool, body, content_type="text/html", charset_label="utf-8"):
    try:
        return await asyncio.wait_for(
            pool.extract(body, url="https://example.org/dir/", content_type=content_type, charset_label=charset_label),
            HANG,
        )
    except Failed as error:
        return error


def too_late(outcome):
    return isinstance(outcome, Failed) and outcome.code == "too_complex"


async def defuse():
    pool = ExtractionPool(SETTINGS)
    await pool.start()
    turn = asyncio.Semaphore(AT_ONCE)
    loop = asyncio.get_running_loop()

    async def one(bomb):
        async with turn:
            body = await loop.run_in_executor(None, bomb.body)
            return bomb.name, await extract(pool, body, bomb.content_type, bomb.charset_label)

    try:
        found = dict(await asyncio.gather(*map(one, BOMBS)))
        for bomb in BOMBS:
            for _ in range(TRIES - 1):
                if too_late(found[bomb.name]):
                    found |= [await one(bomb)]
        return found
    finally:
        await pool.close()


@pytest.fixture(scope="module")
def outcomes():
    """What became of each bomb, by name."""
    return asyncio.run(defuse())


@pytest.mark.parametrize("bomb", BOMBS, ids=lambda bomb: bomb.name)
def test_a_bomb_ends_in_its_text_or_in_no_text(outcomes, bomb):
    outcome = outcomes[bomb.name]
    if not bomb.words:
        assert isinstance(outcome, Failed), outcome
        assert outcome.code == "no_text"
        return
    assert isinstance(outcome, Extraction), outcome.code
    assert WORDS in outcome.markdown.replace("\\", "")
    assert len(outcome.markdown.encode()) <= 8 * len(bomb.body()) + 4 * MIB
    assert len(outcome.links) <= SETTINGS.max_elements
    assert sum(len(row) for table in outcome.tables for row in (table.header, *table.rows)) <= SETTINGS.max_cells
    assert all(link.url.startswith(("http://", "https://", "mailto:")) for link in outcome.links)


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("H1-100k-attributes", "limits: attributes of one element 500 of 100,000"),
        ("H2-100k-deep", "limits: nesting 200 of "),
        ("H2-1000-deep", "limits: nesting 200 of "),
    ],
)
def test_a_cut_page_says_so(outcomes, name, note):
    assert any(line.startswith(note) for line in outcomes[name].limits)


async def test_text_at_any_depth_is_there():
    pool = ExtractionPool(WebExtraction(workers=1))
    for depth in (100, 199, 200, 201, 254, 255, 256, 257, 300, 1000, 5000):
        for tag in ("div", "span", "ul", "blockquote", "b"):
            outcome = await extract(pool, nested(depth, tag))
            assert isinstance(outcome, Extraction), (depth, tag, outcome.code)
            assert WORDS in outcome.markdown.replace("\\", ""), (depth, tag)
    await pool.close()


class Memory(threading.Thread):
    """The largest resident memory of a pool's workers and of this process beyond what it held before."""

    def __init__(self, pool):
        super().__init__()
        self.peak = 0
        self.done = threading.Event()
        self._pool = pool
        self._before = psutil.Process().memory_info().rss

    def run(self):
        while not self.done.wait(0.01):
            total = psutil.Process().memory_info().rss - self._before
            for pid in self._pids():
                try:
                    total += psutil.Process(pid).memory_info().rss
                except psutil.Error:
                    continue
            self.peak = max(self.peak, total)

    def _pids(self):
        while True:
            try:
                return self._pool.pids
            except RuntimeError:  # workers come and go on another thread
                continue


@pytest.mark.parametrize("size", [256 * 1024, 10 * MIB], ids=["256 KiB", "10 MiB"])
async def test_two_dense_pages_at_once_fit_into_two_gib(size):
    pool = ExtractionPool(WebExtraction(workers=2))
    await pool.start()
    pages = [page(size) for page in (link_dense, table_dense)]
    memory = Memory(pool)
    memory.start()
    try:
        for _ in range(TRIES):
            links, table = await asyncio.gather(*(extract(pool, page) for page in pages))
            if not (too_late(links) or too_late(table)):
                break
    finally:
        memory.done.set()
        memory.join()
        await pool.close()
    assert 0 < memory.peak < 2 * 1024 * MIB
    for outcome, last in ((links, "link number"), (table, "cell")):
        assert isinstance(outcome, Extraction), outcome.code
        assert last in outcome.markdown
        assert WORDS in outcome.markdown.replace("\\", "")
