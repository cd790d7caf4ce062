"""What a fetch costs, as ratios against plain ``httpx.get`` + ``trafilatura.extract`` in one process, in one run.

Run it with ``make bench``; the pages come from the folder that WEBRESEARCH_DATA names (``aeb/html/*.html.gz``). Ratios
are quoted because seconds differ between machines; the spread over rounds says how noisy this one was.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import psutil
import trafilatura
from site_process import serve

from jupyter_webresearch.config import Settings, WebBudgets, WebFetch, WebPolicy
from jupyter_webresearch.engine import Engine
from jupyter_webresearch.errors import WebResearchError
from jupyter_webresearch.models import FetchRequest
from jupyter_webresearch.page import Page

ROUNDS = 3
CONCURRENT = 8
MIB = 1024 * 1024


def main() -> int:
    """Print every figure beside its goal."""
    data = os.environ.get("WEBRESEARCH_DATA")
    if not data:
        sys.stderr.write("set WEBRESEARCH_DATA to the folder that holds aeb/\n")
        return 2
    with serve(Path(data) / "aeb" / "html") as (port, names), tempfile.TemporaryDirectory() as journal:
        urls = [f"http://127.0.0.1:{port}{name}" for name in names]
        settings = Settings(
            policy=WebPolicy(allow_private_networks=["127.0.0.0/8"], allowed_ports=[port]),
            fetch=WebFetch(max_bytes=128 * 1024),
            # Counted as always, robots.txt asked, the journal written; only the sizes are such that all rounds fit.
            budgets=WebBudgets(
                kernel_total=1_000_000, kernel_per_minute=100_000, server_per_minute=100_000, site_per_minute=100_000
            ),
        )
        engine = Engine(settings, data_folder=Path(journal) / "webresearch")
        try:
            engine.submit(engine.warm_up()).result()
            print(f"{len(urls)} article pages, {ROUNDS} rounds, {psutil.cpu_count()} cores\n")
            print(f"{'what':58} {'figure':>9}  {'spread':>13}  goal")
            latency(engine, urls)
            throughput(engine, urls)
            stall(engine)
            memory(engine)
        finally:
            engine.close()
    return 0


def latency(engine: Engine, urls: list[str]) -> None:
    """Print the warm fetch-to-Markdown time, page by page beside the plain way."""
    medians, tails = [], []
    for _ in range(ROUNDS):
        ours, plain = [], []
        for url in urls:
            ours.append(_seconds(lambda url=url: _fetch(engine, url)))
            plain.append(_seconds(lambda url=url: _plain(url)))
        medians.append(statistics.median(ours) / statistics.median(plain))
        tails.append(_p95(ours) / _p95(plain))
    _row("warm fetch to Markdown, p50, times plain", medians, "x", "at most 1.15x", statistics.median(medians) <= 1.15)
    _row("warm fetch to Markdown, p95, times plain", tails, "x")


def throughput(engine: Engine, urls: list[str]) -> None:
    """Print how many pages a second eight callers at once get, beside the plain way alone."""
    ratios = []
    for _ in range(ROUNDS):
        plain = _seconds(lambda: [_plain(url) for url in urls])
        ours = _seconds(lambda: engine.submit(_all(engine, urls)).result())
        ratios.append(plain / ours)
    _row(
        f"pages per second, {CONCURRENT} at once, times plain",
        ratios,
        "x",
        "at least 1.7x",
        statistics.median(ratios) >= 1.7,
    )


def stall(engine: Engine) -> None:
    """Print the worst stall of another event loop of this process while eight bombs extract."""
    worst = []
    for _ in range(ROUNDS):
        worst.append(asyncio.run(_heartbeat_while(engine, list(bombs().values()))) * 1000)
    _row(
        f"worst stall of the event loop while {len(bombs())} bombs extract",
        worst,
        " ms",
        "at most 100 ms",
        max(worst) <= 100,
    )


def memory(engine: Engine) -> None:
    """Print the peak memory of the process group while two heavy pages extract at once."""
    for name, size in (("256 KiB", 256 * 1024), ("10 MiB", 10 * MIB)):
        pages = [_links(size), _table(size)]
        peak = _peak(
            lambda pages=pages: [f for f in [engine.submit(_bomb(engine, p)) for p in pages] if f.result() or True]
        )
        _row(
            f"peak of the process group, two dense pages of {name}",
            [peak / MIB],
            " MiB",
            "under 2048 MiB",
            peak < 2048 * MIB,
        )


def bombs() -> dict[str, bytes]:
    """Return the pages that are made to be expensive."""
    attributes = " ".join(f"a{n}=1" for n in range(100_000))
    return {
        "attributes": f"<p {attributes}>the text".encode(),
        "depth": b"<div>" * 100_000 + b"the text",
        "paragraphs": b"<p>word" * 1_000_000,
        "links": _links(8 * MIB),
        "table": _table(8 * MIB),
        "misnested": b"<b><p>word" * 20_000,
        "entities": b"<p>" + b"&amp;" * 2_000_000,
        "unclosed": b"<" * 3_000_000,
    }


def _links(size: int) -> bytes:
    link = b'<p>Some words before <a href="/a/b/c">a link</a> and after it.</p>\n'
    return b"<html><body>" + link * (size // len(link)) + b"</body></html>"


def _table(size: int) -> bytes:
    row = b"<tr><td>cell one</td><td>cell two</td><td>3</td></tr>\n"
    return b"<html><body><table>" + row * (size // len(row)) + b"</table></body></html>"


async def _heartbeat_while(engine: Engine, pages: list[bytes]) -> float:
    work = [asyncio.wrap_future(engine.submit(_bomb(engine, page))) for page in pages]
    gathered = asyncio.gather(*work)
    worst, beat = 0.0, 0.005
    while not gathered.done():
        before = time.perf_counter()
        await asyncio.sleep(beat)
        worst = max(worst, time.perf_counter() - before - beat)
    await gathered
    return worst


async def _bomb(engine: Engine, page: bytes) -> str:
    try:
        return (await engine.extract(page, url="https://example.org/", content_type="text/html")).extractor
    except WebResearchError as error:
        return error.code


async def _all(engine: Engine, urls: list[str]) -> None:
    session = engine.session("benchmark")
    places = asyncio.Semaphore(CONCURRENT)

    async def one(url: str) -> None:
        async with places:
            await engine.fetch(session, FetchRequest(url, fresh=True))

    await asyncio.gather(*(one(url) for url in urls))


def _fetch(engine: Engine, url: str) -> Page:
    return engine.submit(engine.fetch(engine.session("benchmark"), FetchRequest(url, fresh=True))).result()


def _plain(url: str) -> str | None:
    return trafilatura.extract(httpx.get(url).text)


def _seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _peak(work: Callable[[], Any]) -> int:
    done, highest = threading.Event(), 0

    def watch() -> None:
        nonlocal highest
        while not done.wait(0.02):
            highest = max(highest, _resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        work()
    finally:
        done.set()
        watcher.join()
    return highest


def _resident() -> int:
    total = 0
    me = psutil.Process()
    for process in [me, *me.children(recursive=True)]:
        try:
            total += process.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total


def _p95(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]


def _row(what: str, values: list[float], unit: str, goal: str = "", met: bool = True) -> None:
    verdict = f"{goal}: {'met' if met else 'MISSED'}" if goal else ""
    figure = statistics.median(values)
    spread = f"{min(values):.2f}-{max(values):.2f}"
    print(f"{what:58} {figure:6.2f}{unit:<3}  {spread:>13}  {verdict}")


if __name__ == "__main__":
    sys.exit(main())
