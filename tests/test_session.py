"""What a session holds: little in memory, a bounded amount on disk, and nothing of what was given up or has ended."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_webresearch.config import WebFetch
from jupyter_webresearch.engine import Engine
from jupyter_webresearch.errors import WebResearchError
from jupyter_webresearch.models import FetchRequest, Link
from jupyter_webresearch.page import Page
from jupyter_webresearch.session import Session
from jupyter_webresearch.store import RECORD_OVERHEAD
from tests.conftest import HOST, Reader
from tests.sites import Site
from tests.sites.network import MappedDialler

MIB = 1024 * 1024


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


class Visitor(Reader):
    """A session of its own settings in the shared engine."""

    def __init__(self, engine: Engine, settings: WebFetch) -> None:
        self.engine = engine
        self.session = Session("visitor", settings)
        self.phases = []

    def start(self, path: str, **arguments: Any) -> concurrent.futures.Future[Page]:
        phases = arguments.pop("on_phase", lambda _phase: None)
        request = FetchRequest(f"http://{HOST}{path}", **arguments)
        return self.engine.submit(self.engine.fetch(self.session, request, phases))

    def code(self, path: str, **arguments: Any) -> str:
        with pytest.raises(WebResearchError) as caught:
            self.fetch(path, **arguments)
        return caught.value.code

    def settle(self) -> None:
        """Wait until nothing of the session is under way on a thread."""

        async def all_of_it() -> None:
            while self.session._on_disk:
                await asyncio.wait(self.session._on_disk)

        self.engine.submit(all_of_it()).result(30)

    def close(self) -> None:
        self.engine.submit(self.session.close()).result(30)


@pytest.fixture
def visit(shared_engine: Engine, shared_dialler: MappedDialler, site: Site) -> Iterator[Callable[..., Visitor]]:
    shared_dialler.everything = site.port
    visitors: list[Visitor] = []

    def make(**settings: Any) -> Visitor:
        visitors.append(Visitor(shared_engine, WebFetch(**settings)))
        return visitors[-1]

    yield make
    for visitor in visitors:
        visitor.close()


def arrive(site: Site, path: str, count: int = 1) -> None:
    assert site._loop is not None
    asyncio.run_coroutine_threadsafe(site.arrived(path, count), site._loop).result(30)


def wait_until(true: Callable[[], bool]) -> None:
    """Wait for what no event tells of."""
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)


# ------------------------------------------------------------------ memory


@pytest.mark.parametrize("raw", [False, True])
def test_what_comes_back_from_the_store_is_what_was_read(visit: Callable[..., Visitor], site: Site, raw: bool) -> None:
    visitor = visit()
    first = visitor.fetch("/article?words=9000", raw=raw).to_json()
    again = visitor.fetch("/article?words=9000", raw=raw).to_json()
    assert again.pop("cached_seconds") is not None
    assert first.pop("cached_seconds") is None
    assert again == first
    assert first["headers"]
    assert first["source"]["hops"]


def test_links_and_headers_of_what_was_read_are_not_kept_in_memory(visit: Callable[..., Visitor], site: Site) -> None:
    mark = secrets.token_hex(8)
    links = "".join(f'<p>Some words about <a href="/{n}">{mark} {n}</a> of them.</p>' for n in range(2000))
    site.serve("/links", f"<main><h1>Links</h1>{links}</main>", headers={"X-Mark": "kept-in-memory"})
    visitor = visit()
    page = visitor.fetch("/links")
    assert len(page.links) == 2000
    del page

    def forgotten() -> bool:
        gc.collect()
        return not any(isinstance(thing, Link) and thing.text.startswith(mark) for thing in gc.get_objects())

    wait_until(forgotten)  # the engine's thread may have it in hand for a moment longer
    assert "kept-in-memory" not in repr([vars(visitor.session), *map(vars, visitor.session._records.values())])
    assert len(visitor.fetch("/links").links) == 2000


def test_credentials_of_a_request_are_not_kept(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.fetch("/plain", headers=(("Authorization", "Bearer s3cret"), ("Cookie", "a=s3cret")))
    visitor.fetch("/plain", method="POST", body=b"password=s3cret")
    held = [vars(visitor.session), *map(vars, visitor.session._records.values())]
    assert len(held) == 3
    assert "s3cret" not in repr(held)


def test_answers_without_a_body_count_too(visit: Callable[..., Visitor]) -> None:
    visitor = visit(store_size=MIB)
    futures = [visitor.start(f"/plain?{n}", method="HEAD") for n in range(MIB // RECORD_OVERHEAD + 10)]
    assert all(future.result(30).status == 200 for future in futures)
    assert len(visitor.session._records) <= MIB // RECORD_OVERHEAD


def test_what_was_read_but_not_shown_comes_from_memory_and_says_so(
    visit: Callable[..., Visitor], site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor = visit()
    pool = visitor.engine._pool
    real = pool.extract

    async def failing(*_: Any, **__: Any) -> Any:
        raise WebResearchError("extraction_failed", "no worker")

    monkeypatch.setattr(pool, "extract", failing)
    assert visitor.code("/article") == "extraction_failed"
    monkeypatch.setattr(pool, "extract", real)
    assert visitor.fetch("/article").cached_seconds is not None
    assert len(site.seen) == 1


# ------------------------------------------------------------------ disk


@pytest.mark.parametrize("number", [0, 1, 2])
def test_saved_bodies_that_nobody_fetches_make_room(visit: Callable[..., Visitor], number: int) -> None:
    visitor = visit(store_size=MIB)
    pages = [visitor.fetch(f"/attachment?size=600000&{n}", save=True) for n in range(3)]
    saved = pages[number].saved
    assert saved is not None
    found = visitor.engine.submit(visitor.engine.saved(visitor.session, saved.key))
    if number == 2:
        assert found.result(30).stat().st_size == 600_000
    else:
        with pytest.raises(WebResearchError) as caught:
            found.result(30)
        assert caught.value.code == "not_found"


def test_an_empty_body_is_saved_as_an_empty_file(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    saved = visitor.fetch("/attachment?size=0", save=True).saved
    assert saved is not None
    path = visitor.engine.submit(visitor.engine.saved(visitor.session, saved.key)).result(30)
    assert path.read_bytes() == b""


@pytest.mark.parametrize("raw", [False, True])
def test_what_was_lost_is_read_anew_when_it_is_asked_for_as_a_whole(
    visit: Callable[..., Visitor], site: Site, temporary: Path, raw: bool
) -> None:
    visitor = visit()
    visitor.fetch("/article")
    for folder in temporary.glob("jupyter-webresearch-*"):
        shutil.rmtree(folder)
    assert visitor.fetch("/article", raw=raw).cached_seconds is None
    assert visitor.fetch("/article", raw=raw).cached_seconds is not None
    assert len(site.seen) == 2
    assert not visitor.session._store._memory


@pytest.mark.parametrize("lost", ["everything", "files"])
def test_files_that_a_cleaner_took_are_dropped_texts(
    visit: Callable[..., Visitor], site: Site, temporary: Path, lost: str
) -> None:
    visitor = visit()
    page = visitor.fetch("/article?words=20000")
    for folder in temporary.glob("jupyter-webresearch-*"):
        for inner in folder.iterdir():
            shutil.rmtree(inner)
        if lost == "everything":
            folder.rmdir()
    assert visitor.code("/article?words=20000", offset=page.next_offset) == "body_dropped"
    assert visitor.code("/article?words=20000", record=page.record) == "body_dropped"
    assert visitor.fetch("/article?words=20000").cached_seconds is None
    assert len(site.seen) == 2


def test_a_disk_that_takes_nothing_is_said_without_its_path(
    visit: Callable[..., Visitor], temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(temporary / "missing"))
    visitor = visit()
    with pytest.raises(WebResearchError) as caught:
        visitor.fetch("/attachment?size=10", save=True)
    assert caught.value.code == "save_refused"
    assert str(temporary) not in f"{caught.value} {caught.value.to_json()}"


# ------------------------------------------------------------------ given up, ended


@pytest.mark.parametrize("save", [False, True])
@pytest.mark.parametrize("at", ["resolving", "connecting", "receiving", "body"])
def test_a_request_given_up_leaves_nothing(
    visit: Callable[..., Visitor], shared_dialler: MappedDialler, site: Site, temporary: Path, at: str, save: bool
) -> None:
    visitor = visit()
    reached = threading.Event()
    before = len(shared_dialler.streams)
    path = "/chunks?size=60000&type=text/plain" if at == "body" else "/attachment?size=5000000"

    def on_phase(phase: str) -> None:
        if phase == at:
            reached.set()

    future = visitor.start(path, save=save, on_phase=on_phase)
    if at == "body":
        arrive(site, "/chunks")
        wait_until(lambda: not save or any(temporary.rglob("spool")))
    else:
        assert reached.wait(30)
    future.cancel()
    wait_until(lambda: not visitor.session._tasks)
    visitor.settle()
    assert all(stream.closed for stream in shared_dialler.streams[before:])
    assert not visitor.session._spools
    assert not list(temporary.rglob("spool"))


@pytest.mark.parametrize("save", [False, True])
def test_what_a_thread_still_writes_when_the_session_ends_is_deleted(
    visit: Callable[..., Visitor], temporary: Path, monkeypatch: pytest.MonkeyPatch, save: bool
) -> None:
    visitor = visit()
    visitor.fetch("/plain")  # the folder is there
    writing, go = threading.Event(), threading.Event()
    name = "open_spool" if save else "put"
    store = visitor.session._store
    real = getattr(store, name)

    def slow(*arguments: Any, **named: Any) -> Any:
        writing.set()
        assert go.wait(30)
        return real(*arguments, **named)

    monkeypatch.setattr(store, name, slow)
    visitor.start("/attachment?size=10" if save else "/plain?2", save=save)
    assert writing.wait(30)
    closing = visitor.engine.submit(visitor.session.close())
    wait_until(lambda: not visitor.session._tasks)
    go.set()
    closing.result(30)
    visitor.settle()
    assert list(temporary.iterdir()) == []


def test_a_session_that_has_ended_takes_nothing_more(visit: Callable[..., Visitor], temporary: Path) -> None:
    visitor = visit()
    visitor.close()
    assert visitor.code("/plain") == "cancelled"
    store = visitor.session._store
    assert store.put("a", {"body": b"x"}) == []
    with pytest.raises(OSError, match="ended"):
        store.spool("b").write(b"x")
    assert list(temporary.iterdir()) == []


# ------------------------------------------------------------------ many at once


def test_a_bounded_number_is_under_way_and_the_rest_is_queued(visit: Callable[..., Visitor], site: Site) -> None:
    visitor = visit(batch_concurrency=2)
    phases: list[list[str]] = [[] for _ in range(7)]
    futures = [visitor.start(f"/gate?{n}", on_phase=phases[n].append) for n in range(7)]
    arrive(site, "/gate", 4)
    wait_until(lambda: phases.count(["queued"]) == 3)
    assert sorted(phases) == [["queued"]] * 3 + [["resolving", "connecting"]] * 4
    assert len(site.seen) == 4
    site.release()
    assert all(future.result(30).markdown for future in futures)


def test_who_waits_for_an_equal_request_is_queued(visit: Callable[..., Visitor], site: Site) -> None:
    visitor = visit()
    first = visitor.start("/gate")
    arrive(site, "/gate")
    waiting = threading.Event()
    phases: list[str] = []

    def on_phase(phase: str) -> None:
        phases.append(phase)
        waiting.set()

    second = visitor.start("/gate", on_phase=on_phase)
    assert waiting.wait(30)
    site.release()
    assert first.result(30).markdown == second.result(30).markdown
    assert phases == ["queued"]
    assert len(site.seen) == 1


@pytest.mark.parametrize("arguments", [{"method": "POST", "body": b"same"}, {"fresh": True}])
def test_what_memory_never_answers_does_not_wait_for_its_like(
    visit: Callable[..., Visitor], site: Site, arguments: dict[str, Any]
) -> None:
    visitor = visit()
    futures = [visitor.start("/gate", **arguments) for _ in range(3)]
    arrive(site, "/gate", 3)
    site.release()
    assert all(future.result(30).markdown for future in futures)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"offset": -1}, "bad_offset"),
        ({"max_bytes": 0}, "bad_request"),
        ({"max_bytes": 3}, "bad_request"),
        ({"max_bytes": -5}, "bad_request"),
    ],
)
def test_a_part_that_no_text_has_is_refused_before_any_packet(
    visit: Callable[..., Visitor], site: Site, arguments: dict[str, Any], code: str
) -> None:
    assert visit().code("/plain", **arguments) == code
    assert site.connections == 0


@pytest.mark.parametrize("status", [404, 429, 500, 503])
def test_an_error_does_not_take_the_place_of_the_text_that_is_read(
    visit: Callable[..., Visitor], site: Site, status: int
) -> None:
    visitor = visit()
    site.serve("/page", "word " * 20_000, "text/plain")
    first = visitor.fetch("/page")
    site.serve("/page", "sorry " * 20_000, "text/plain", status=status)
    with pytest.raises(WebResearchError) as caught:
        visitor.fetch("/page", fresh=True)
    assert "word word" in visitor.fetch("/page", offset=first.next_offset).markdown
    error_page = caught.value.page
    assert error_page is not None
    on = visitor.fetch("/page", offset=error_page.next_offset, record=error_page.record)
    assert "sorry sorry" in on.markdown
    assert visitor.fetch("/page", fresh=True, any_status=True).status == status
    assert "sorry sorry" in visitor.fetch("/page", offset=first.next_offset, any_status=True).markdown
    assert len(site.seen) == 3


@pytest.mark.parametrize("status", [200, 201, 202, 203, 206])
def test_no_status_makes_a_page_of_nothing(visit: Callable[..., Visitor], site: Site, status: int) -> None:
    site.serve("/nothing", b"", status=status)
    headers = (("Range", "bytes=0-"),) if status == 206 else ()
    assert visit().code("/nothing", headers=headers) == "no_text"
