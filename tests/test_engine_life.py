"""The engine's ends: what is submitted while it closes, work that is given up, faults of its own, offline work."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest

from jupyter_webresearch.config import Settings, WebBudgets, WebExtraction, WebFetch
from jupyter_webresearch.engine import Engine
from jupyter_webresearch.errors import WebResearchError
from jupyter_webresearch.models import FetchRequest
from jupyter_webresearch.page import Page
from tests.conftest import HOST, EngineMaker, Reader, only_worker
from tests.sites import Site
from tests.sites.network import MappedDialler


def test_all_that_is_submitted_while_the_engine_closes_ends() -> None:
    engine = Engine(Settings(), interfaces=frozenset, own_ports=frozenset)
    engine.start()
    futures: list[concurrent.futures.Future[Any]] = []
    closed = threading.Event()

    def submit_on() -> None:
        while not closed.is_set():
            try:
                futures.append(engine.submit(asyncio.sleep(60)))
            except RuntimeError:
                return

    threads = [threading.Thread(target=submit_on) for _ in range(4)]
    for thread in threads:
        thread.start()
    while len(futures) < 50:
        pass
    engine.close()
    closed.set()
    for thread in threads:
        thread.join(30)
    done, left = concurrent.futures.wait(futures, timeout=30)
    assert not left
    assert all(future.cancelled() for future in done)


def test_sessions_made_and_dropped_while_the_engine_closes_do_no_harm(make_engine: EngineMaker, tmp_path: Path) -> None:
    engine = make_engine()
    engine.start()
    for number in range(50):
        engine.session(f"before {number}")
    closing = threading.Thread(target=engine.close)
    closing.start()
    for number in range(500):
        engine.session(f"meanwhile {number}")
        engine.drop_session(f"before {number}")
    closing.join(30)
    assert not closing.is_alive()
    thread = engine._thread._thread
    assert thread is not None
    assert not thread.is_alive()
    engine.drop_session("before 3")
    engine.drop_session("meanwhile 3")


def test_closing_while_much_is_under_way_leaves_no_file_and_no_connection(
    make_engine: EngineMaker, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    dialler = MappedDialler(everything=site.port)
    engine = make_engine(dialler=dialler)
    sessions = [engine.session(str(number)) for number in range(3)]
    paths = ["/article?words=9000", "/big?size=11000000", "/hang", "/drip-body", "/redirect?to=/article"]
    futures = [
        engine.submit(engine.fetch(session, FetchRequest(f"http://{HOST}{path}", save=save)))
        for session in sessions
        for path in paths
        for save in (False, True)
    ]
    concurrent.futures.wait(futures, timeout=30, return_when=concurrent.futures.FIRST_COMPLETED)
    engine.close()
    _, left = concurrent.futures.wait(futures, timeout=30)
    assert not left
    assert dialler.open_streams == 0
    assert list(tmp_path.iterdir()) == []


def test_a_cancelled_batch_has_closed_its_connections_when_it_ends(make_engine: EngineMaker, site: Site) -> None:
    dialler = MappedDialler(everything=site.port)
    reader = Reader(make_engine(dialler=dialler))
    ended = threading.Event()
    left: list[int] = []

    async def batch() -> None:
        try:
            requests = [FetchRequest(f"http://h{n}.example.org/hang") for n in range(6)]
            await reader.engine.fetch_many(reader.session, requests)
        finally:
            left.append(dialler.open_streams)
            ended.set()

    future = reader.engine.submit(batch())
    assert site._loop is not None
    asyncio.run_coroutine_threadsafe(site.arrived("/hang", 6), site._loop).result(30)
    future.cancel()
    assert ended.wait(30)
    assert left == [0]


def test_a_fault_of_ours_takes_one_outcome_of_a_batch(
    reader: Reader, site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    retriever = reader.engine._fetcher._retriever
    real = retriever.retrieve

    async def broken(request: FetchRequest, **arguments: Any) -> Any:
        if "fault" in request.url:
            raise ZeroDivisionError("secret detail")
        return await real(request, **arguments)

    monkeypatch.setattr(retriever, "retrieve", broken)
    urls = [f"http://{HOST}/plain", f"http://{HOST}/fault", f"http://{HOST}/json"]
    with caplog.at_level(logging.ERROR):
        work = reader.engine.fetch_many(reader.session, [FetchRequest(url) for url in urls])
        outcomes = reader.engine.submit(work).result(30)
    assert isinstance(outcomes[0], Page)
    assert isinstance(outcomes[1], WebResearchError)
    assert isinstance(outcomes[2], Page)
    assert outcomes[1].code == "internal"
    assert "secret" not in f"{outcomes[1]} {outcomes[1].to_json()}"
    assert "ZeroDivisionError" in caplog.text


def test_outcomes_that_are_delivered_are_not_gathered_too(reader: Reader) -> None:
    delivered: list[tuple[int, Page | WebResearchError]] = []
    requests = [FetchRequest(f"http://{HOST}/plain?{n}") for n in range(5)]
    work = reader.engine.fetch_many(
        reader.session, requests, on_result=lambda index, outcome: delivered.append((index, outcome))
    )
    assert reader.engine.submit(work).result(30) == []
    assert sorted(index for index, _ in delivered) == [0, 1, 2, 3, 4]


def test_who_takes_outcomes_slowly_gets_no_more_made_and_holds_up_nobody_else(reader: Reader, site: Site) -> None:
    most = Settings().fetch.batch_concurrency
    delivered: list[int] = []
    full, go_on = asyncio.Event(), asyncio.Event()

    async def take(index: int, _outcome: Page | WebResearchError) -> None:
        delivered.append(index)
        if len(delivered) == most:
            full.set()
        await go_on.wait()

    async def read() -> int:
        requests = [FetchRequest(f"http://h{n}.example.org/plain?{n}") for n in range(3 * most)]
        batch = asyncio.ensure_future(reader.engine.fetch_many(reader.session, requests, on_result=take))
        await asyncio.wait_for(full.wait(), 30)
        other = await reader.engine.fetch(reader.session, FetchRequest(f"http://{HOST}/plain?other"))
        assert other.status == 200
        held = len(delivered)
        go_on.set()
        await asyncio.wait_for(batch, 30)
        return held

    assert reader.engine.submit(read()).result(60) == most
    assert sorted(delivered) == list(range(3 * most))


# ------------------------------------------------------------------ offline


@pytest.mark.parametrize(
    "url",
    [
        "http://[",
        "http://[::1",
        "http://[v1.x]/",
        "http://user:hunter2@example.org/",
        "http://example.org:99999/",
        "http://example.org:port/",
        "http://ex ample.org/",
        "http://example.org/\n\x1b[31m",
        "http://example.org\\@example.com/",
        "https:example.org",
        "https:///path",
        "javascript:alert(1)",
        "data:text/html,x",
        "http://" + "a" * 3000,
    ],
)
def test_offline_a_url_that_parsers_read_differently_is_refused(reader: Reader, url: str) -> None:
    with pytest.raises(WebResearchError) as caught:
        reader.engine.submit(reader.engine.extract(session=reader.session, data=b"<p>some words", url=url)).result(30)
    assert caught.value.code == "invalid_url"
    assert "hunter2" not in f"{caught.value}"


@pytest.mark.parametrize(
    ("content_type", "data", "kind"),
    [
        ("application/octet-stream", b"<!doctype html><p>some words", "html"),
        ("", b'{"a": 1}', "json"),
        ("text/plain", b"<p>some words", "text"),
        ("*/*", b"some words", "text"),
    ],
)
def test_offline_a_type_that_says_nothing_is_recognised_as_online(
    reader: Reader, content_type: str, data: bytes, kind: str
) -> None:
    work = reader.engine.extract(
        session=reader.session, data=data, url="https://example.org/", content_type=content_type
    )
    assert reader.engine.submit(work).result(30).kind == kind


def test_offline_waiting_for_a_worker_counts_in_the_time(make_engine: EngineMaker) -> None:
    engine = make_engine(Settings(fetch=WebFetch(timeout=1.0), extraction=WebExtraction(workers=1)))
    with only_worker(engine), pytest.raises(WebResearchError) as caught:
        engine.submit(
            engine.extract(session=engine.session("a"), data=b"<p>some words", url="https://example.org/")
        ).result(60)
    assert caught.value.code == "timeout"


def test_a_closed_engine_leaves_no_thread(make_engine: EngineMaker, tmp_path: Path) -> None:
    before = set(threading.enumerate())
    engine = make_engine(Settings(budgets=WebBudgets()), as_is=True, budget_file=tmp_path / "budgets")
    Reader(engine).fetch("/plain", method="HEAD")
    made = [thread for thread in threading.enumerate() if thread not in before]
    assert any(thread.name.startswith("webresearch-journal") for thread in made)
    assert any(thread.name.startswith("webresearch-budgets") for thread in made)
    engine.close()
    for thread in made:
        thread.join(30)
    assert not [thread.name for thread in made if thread.is_alive()]
