"""The engine through real sockets: what is read, remembered, read on, kept apart and cancelled."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from datetime import datetime, timedelta, timezone

import pytest

from jupyter_webresearch.config import Settings, WebExtraction, WebFetch
from jupyter_webresearch.errors import Failed, WebResearchError
from jupyter_webresearch.fetching import ERROR_BODY
from jupyter_webresearch.models import PHASES, FetchRequest
from jupyter_webresearch.page import Page
from tests.conftest import EngineMaker, Reader, only_worker
from tests.sites import Site
from tests.sites.network import PUBLIC, MappedDialler, StubResolver


class TurnedClock:
    """A clock that a test turns by hand."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def now(self) -> datetime:
        return datetime(2026, 5, 1, tzinfo=timezone.utc) + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds


def code_of(reader: Reader, path: str, **arguments: object) -> str:
    with pytest.raises(WebResearchError) as caught:
        reader.fetch(path, **arguments)  # type: ignore[arg-type]
    return caught.value.code


# ------------------------------------------------------------------ what is read


def test_an_article(reader: Reader, site: Site) -> None:
    page = reader.fetch("/article?title=Of+tides")
    assert page.url == "http://www.example.org/article?title=Of+tides"
    assert (page.status, page.kind, page.content_type) == (200, "html", "text/html")
    assert page.extractor == "article"
    assert "Of tides" in page.title + page.markdown
    assert page.tables
    assert page.links
    assert all(link.url.startswith(("http://", "https://", "mailto:")) for link in page.links)
    assert page.source.sha256
    assert [hop.status for hop in page.source.hops] == [200]
    assert len(site.seen) == 1


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/json", "json"),
        ("/csv", "csv"),
        ("/tsv", "csv"),
        ("/xml", "xml"),
        ("/markdown", "markdown"),
        ("/plain", "text"),
        ("/feed", "xml"),
        ("/xhtml", "html"),
    ],
)
def test_each_kind(reader: Reader, path: str, kind: str) -> None:
    page = reader.fetch(path)
    assert page.kind == kind
    assert page.markdown
    assert page.extractor == "as-is" or kind == "html"


def test_json_and_frames(reader: Reader) -> None:
    assert reader.fetch("/typed?type=application/json&body=[{%22a%22:1},{%22a%22:2}]").json() == [{"a": 1}, {"a": 2}]
    assert list(reader.fetch("/typed?type=application/json&body=[{%22a%22:1},{%22a%22:2}]").df["a"]) == [1, 2]
    assert list(reader.fetch("/typed?type=text/csv&body=a;b%0A1;2%0A").df.columns) == ["a", "b"]
    assert list(reader.fetch("/typed?type=text/tab-separated-values&body=a%09b%0A1%092%0A").df["b"]) == [2]
    with pytest.raises(ValueError, match="holds no table"):
        _ = reader.fetch("/plain").df


def test_raw_is_the_source_of_the_same_bytes(reader: Reader, site: Site) -> None:
    article = reader.fetch("/article")
    raw = reader.fetch("/article", raw=True)
    assert "<html" in raw.markdown
    assert raw.source.sha256 == article.source.sha256
    assert len(site.seen) == 1


@pytest.mark.parametrize("content_type", ["image/png", "application/pdf", "application/zip", "text/event-stream"])
def test_other_content_names_the_type_and_the_way_to_save(reader: Reader, content_type: str) -> None:
    with pytest.raises(Failed) as caught:
        reader.fetch(f"/typed?type={content_type}&body=x")
    assert caught.value.code == "unsupported_content"
    assert content_type in caught.value.message
    assert "--save" in caught.value.message


def test_a_body_over_the_limit_is_kept_up_to_it(reader: Reader) -> None:
    page = reader.fetch("/big?size=11000000&type=text/plain")
    assert page.truncated_body
    assert page.body_bytes == 10 * 1024 * 1024
    assert page.announced_bytes == 11_000_000


@pytest.mark.parametrize("content_type", ["application/json", "application/xml"])
def test_what_cannot_be_cut_is_too_large(reader: Reader, content_type: str) -> None:
    assert code_of(reader, f"/big?size=11000000&type={content_type}") == "too_large"


def test_never_success_and_empty(reader: Reader) -> None:
    assert code_of(reader, "/typed?type=text/html&body=") == "no_text"
    assert code_of(reader, "/typed?type=text/html&body=<script>1</script>") == "no_text"


def test_answers_without_a_body_are_answers(reader: Reader) -> None:
    assert reader.fetch("/article", method="HEAD").markdown == ""
    assert reader.fetch("/status?code=204").status == 204


# ------------------------------------------------------------------ statuses


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 500, 502, 503])
def test_a_status_that_is_no_success_carries_the_page(reader: Reader, status: int) -> None:
    with pytest.raises(WebResearchError) as caught:
        reader.fetch(f"/status?code={status}&body=It+went+wrong")
    assert caught.value.code == "http_status"
    page = caught.value.page
    assert page is not None
    assert page.status == status
    assert "It went wrong" in page.markdown


def test_any_status_and_other_methods_get_the_page(reader: Reader) -> None:
    assert reader.fetch("/status?code=404&body=Gone+away", any_status=True).status == 404
    assert reader.fetch("/status?code=422&body=Not+so", method="POST", body=b"{}").status == 422


def test_an_error_page_that_is_no_text_is_still_an_answer(reader: Reader) -> None:
    page = reader.fetch("/status?code=500&type=image/png&body=x", any_status=True)
    assert (page.status, page.markdown) == (500, "")
    assert any("image/png" in line for line in page.limits)


def test_of_an_error_page_that_is_no_text_little_is_read(reader: Reader, site: Site) -> None:
    site.serve("/missing", bytes(200_000), "image/png", status=404)
    page = reader.fetch("/missing", any_status=True)
    assert (page.body_bytes, page.truncated_body) == (ERROR_BODY, True)


def test_a_long_wait_is_reported(reader: Reader) -> None:
    with pytest.raises(WebResearchError) as caught:
        reader.fetch("/retry?after=3600")
    assert caught.value.code == "rate_limited"
    assert caught.value.retry_after == 3600
    assert caught.value.page is not None


# ------------------------------------------------------------------ memory and reading on


def test_the_same_url_comes_from_memory(make_engine: EngineMaker, site: Site) -> None:
    clock = TurnedClock()
    reader = Reader(make_engine(clock=clock))
    assert reader.fetch("/article").cached_seconds is None
    clock.seconds += 599
    page = reader.fetch("/article#section")
    assert page.cached_seconds == pytest.approx(599)
    assert reader.phases == []
    assert len(site.seen) == 1
    clock.seconds += 2
    assert reader.fetch("/article").cached_seconds is None
    assert len(site.seen) == 2


def test_what_makes_a_request_another_one(reader: Reader, site: Site) -> None:
    reader.fetch("/echo")
    reader.fetch("/echo", headers=(("X-A", "1"),))
    reader.fetch("/echo", headers=(("X-A", "2"),))
    reader.fetch("/echo?", headers=(("X-A", "2"),))
    reader.fetch("/echo", method="HEAD")
    reader.fetch("/echo", fresh=True)
    reader.fetch("/echo", method="POST", body=b"1")
    reader.fetch("/echo", method="POST", body=b"1")
    assert len(site.seen) == 8
    reader.fetch("/echo")
    reader.fetch("/echo", headers=(("x-a", "2"),))
    reader.fetch("/echo", method="HEAD")
    assert len(site.seen) == 8


def test_memory_has_room_for_64(reader: Reader, site: Site) -> None:
    for number in range(65):
        reader.fetch(f"/plain?{number}")
    reader.fetch("/plain?64")
    assert len(site.seen) == 65
    reader.fetch("/plain?0")
    assert len(site.seen) == 66


def test_failures_are_not_remembered(reader: Reader, site: Site) -> None:
    for _ in range(2):
        code_of(reader, "/status?code=404&body=x")
    assert len(site.seen) == 2


def test_equal_requests_at_once_are_one(reader: Reader, site: Site) -> None:
    engine, session = reader.engine, reader.session
    url = "http://www.example.org/gate"
    both = [engine.submit(engine.fetch(session, FetchRequest(url))) for _ in range(2)]
    arrived = asyncio.run_coroutine_threadsafe(site.arrived("/gate"), site._loop)  # type: ignore[arg-type]
    arrived.result(30)
    site.release()
    pages = [future.result(30) for future in both]
    assert len(site.seen) == 1
    assert sorted(page.cached_seconds is None for page in pages) == [False, True]


def test_reading_on_is_free_and_without_gap(make_engine: EngineMaker, site: Site) -> None:
    clock = TurnedClock()
    reader = Reader(make_engine(clock=clock))
    first = reader.fetch("/article?words=20000")
    assert first.truncated
    clock.seconds += 86_400  # whatever the ten minutes do
    parts = [first.markdown]
    page = first
    while page.next_offset is not None:
        page = reader.fetch("/article?words=20000", offset=page.next_offset)
        parts.append(page.markdown)
    assert len(parts) > 2
    assert len(site.seen) == 1
    whole = reader.fetch("/article?words=20000", offset=0, max_bytes=131072)
    assert "".join(parts).startswith(whole.markdown)
    assert sum(map(len, parts)) == first.window.total


def test_reading_on_stays_in_its_own_record(make_engine: EngineMaker, site: Site) -> None:
    reader = Reader(make_engine())
    site.serve("/page", "old " * 20_000, "text/plain")
    first = reader.fetch("/page")
    site.serve("/page", "new " * 20_000, "text/plain")
    assert reader.fetch("/page", fresh=True).markdown.startswith("new")
    on = reader.fetch("/page", offset=first.next_offset, record=first.record)
    assert set(on.markdown.split()) == {"old"}


def test_reading_on_after_a_post_posts_nothing(reader: Reader, site: Site) -> None:
    site.serve("/page", "word " * 20_000, "text/plain")
    first = reader.fetch("/page", method="POST", body=b"q")
    assert reader.fetch("/page", method="POST", body=b"q", offset=first.next_offset).markdown
    assert len(site.seen) == 1


def test_a_dropped_text_says_so_and_is_not_downloaded_again(make_engine: EngineMaker, site: Site) -> None:
    reader = Reader(make_engine(Settings(fetch=WebFetch(store_size=1024 * 1024))))
    site.serve("/page", "word " * 60_000, "text/plain")
    first = reader.fetch("/page")
    reader.fetch("/big?size=900000&type=text/plain")
    assert code_of(reader, "/page", offset=first.next_offset) == "body_dropped"
    assert code_of(reader, "/page", offset=first.next_offset, record=first.record) == "body_dropped"
    assert len(site.seen) == 2
    assert reader.fetch("/page", offset=first.next_offset, fresh=True).markdown
    assert len(site.seen) == 3


@pytest.mark.parametrize("offset", [-1, 10**9])
def test_an_offset_outside(reader: Reader, offset: int) -> None:
    assert code_of(reader, "/plain", offset=offset) == "bad_offset"


def test_more_than_the_most_is_lowered_and_said(reader: Reader) -> None:
    page = reader.fetch("/article?words=40000", max_bytes=10**9)
    assert len(page.markdown) <= 40_000
    assert "lowered" in page.window.note


# ------------------------------------------------------------------ phases, cancellation, sessions


def test_phases_come_in_order(reader: Reader) -> None:
    reader.fetch("/article")
    reader.fetch("/article", fresh=True)
    assert [p for p in reader.phases if p != "queued"] == ["resolving", "connecting", "receiving", "extracting"]
    assert set(reader.phases) <= set(PHASES)


def test_with_the_pool_full_the_next_is_queued_before_extracting(make_engine: EngineMaker, site: Site) -> None:
    engine = make_engine(Settings(extraction=WebExtraction(workers=1)))
    session = engine.session("test")
    with only_worker(engine):
        phases: list[str] = []
        queued = threading.Event()

        def on_phase(phase: str) -> None:
            phases.append(phase)
            if phases[-2:] == ["receiving", "queued"]:
                queued.set()

        page = engine.submit(engine.fetch(session, FetchRequest("http://www.example.org/article"), on_phase))
        assert queued.wait(30)
    assert page.result(30).markdown
    assert phases[-2:] == ["queued", "extracting"]


def test_a_cancelled_future_ends_the_request(reader: Reader, site: Site) -> None:
    engine = reader.engine
    future = engine.submit(engine.fetch(reader.session, FetchRequest("http://www.example.org/hang")))
    asyncio.run_coroutine_threadsafe(site.arrived("/hang"), site._loop).result(30)  # type: ignore[arg-type]
    future.cancel()
    with pytest.raises(concurrent.futures.CancelledError):
        future.result(30)
    assert reader.fetch("/plain").markdown


def test_dropping_a_session_cancels_what_runs_in_it(reader: Reader, site: Site) -> None:
    engine = reader.engine
    future = engine.submit(engine.fetch(reader.session, FetchRequest("http://www.example.org/hang")))
    asyncio.run_coroutine_threadsafe(site.arrived("/hang"), site._loop).result(30)  # type: ignore[arg-type]
    engine.drop_session(reader.session.id)
    with pytest.raises((concurrent.futures.CancelledError, WebResearchError)):
        future.result(30)
    assert reader.session.id not in engine._sessions


def test_the_deadline_holds_for_the_whole(make_engine: EngineMaker) -> None:
    reader = Reader(make_engine(Settings(fetch=WebFetch(timeout=1.0))))
    assert code_of(reader, "/drip-body?interval=0.2") == "timeout"
    reader = Reader(make_engine(Settings(fetch=WebFetch(save_timeout=1.0))))
    with pytest.raises(WebResearchError, match="not read within 1 s"):
        reader.fetch("/hang", save=True)


def test_two_sessions_share_nothing(make_engine: EngineMaker, site: Site) -> None:
    engine = make_engine()
    one, two = Reader(engine, "one"), Reader(engine, "two")
    page = one.fetch("/set-cookie?to=/echo")
    assert one.fetch("/set-cookie?to=/echo").cached_seconds is not None
    other = two.fetch("/set-cookie?to=/echo")
    assert other.cached_seconds is None
    assert all(request.header("cookie") is None for request in site.seen)
    assert code_of(two, "/echo", record=page.record, offset=1) == "not_found"


def test_a_closed_engine_says_so(make_engine: EngineMaker) -> None:
    engine = make_engine()
    session = engine.session("test")
    engine.close()
    engine.close()
    with pytest.raises(RuntimeError, match="closed"):
        engine.submit(engine.fetch(session, FetchRequest("http://www.example.org/")))


# ------------------------------------------------------------------ batches


def test_a_batch_keeps_order_with_failures_in_place(reader: Reader) -> None:
    urls = [
        "http://www.example.org/plain",
        "http://127.0.0.1/",
        "http://www.example.org/status?code=404",
        "ftp://x.org",
    ]
    events: list[tuple[int, str]] = []
    work = reader.engine.fetch_many(
        reader.session, [FetchRequest(url) for url in urls], lambda i, phase: events.append((i, phase))
    )
    outcomes = reader.engine.submit(work).result(30)
    assert isinstance(outcomes[0], Page)
    codes = [outcome.code for outcome in outcomes if isinstance(outcome, WebResearchError)]
    assert codes == ["blocked_address", "http_status", "unsupported_scheme"]
    assert events[:4] == [(index, "queued") for index in range(4)]


def test_a_batch_runs_eight_at_a_time_and_two_a_host(make_engine: EngineMaker, site: Site) -> None:
    reader = Reader(make_engine())
    loop = site._loop
    assert loop is not None
    urls = [f"http://h{host}.example.org/gate?{n}" for host in range(6) for n in range(3)]
    future = reader.engine.submit(reader.engine.fetch_many(reader.session, [FetchRequest(url) for url in urls]))
    asyncio.run_coroutine_threadsafe(site.arrived("/gate", 8), loop).result(30)
    first = [request.header("host") for request in site.seen]
    assert len(first) == 8
    assert max(first.count(host) for host in first) <= 2
    site.release()
    assert all(isinstance(outcome, Page) for outcome in future.result(60))


# ------------------------------------------------------------------ saving


def test_saving_spools_the_decoded_body(reader: Reader) -> None:
    page = reader.fetch("/attachment?name=data.bin&size=1000", save=True)
    assert page.saved is not None
    assert (page.saved.bytes, page.saved.name) == (1000, "data.bin")
    engine = reader.engine
    path = engine.submit(engine.saved(reader.session, page.saved.key)).result(30)
    assert len(path.read_bytes()) == 1000
    other = engine.session("other")
    with pytest.raises(WebResearchError) as caught:
        engine.submit(engine.saved(other, page.saved.key)).result(30)
    assert caught.value.code == "not_found"
    engine.submit(engine.discard_saved(reader.session, page.saved.key)).result(30)
    assert not path.exists()


def test_saving_has_a_cap_of_its_own(make_engine: EngineMaker) -> None:
    reader = Reader(make_engine(Settings(fetch=WebFetch(save_max=1000))))
    assert code_of(reader, "/attachment?size=1001", save=True) == "too_large"
    assert code_of(reader, "/big?size=2000&chunked=1", save=True) == "too_large"
    assert code_of(reader, "/status?code=404&body=x", save=True) == "http_status"


# ------------------------------------------------------------------ what must not be told


def test_no_resolved_address_is_told(make_engine: EngineMaker) -> None:
    inside = "10.11.12.13"
    resolver = StubResolver({"inside.example.org": [inside], "dead.example.org": [PUBLIC]})
    reader = Reader(make_engine(resolver=resolver, dialler=MappedDialler({})))
    for host in ("inside.example.org", "dead.example.org"):
        with pytest.raises(WebResearchError) as caught:
            reader.fetch("/", host=host)
        told = f"{caught.value} {caught.value!r} {caught.value.to_json()} {reader.phases}"
        assert inside not in told
        assert PUBLIC not in told


def test_the_page_names_no_resolved_address(reader: Reader) -> None:
    page = reader.fetch("/redirect?to=/article")
    assert PUBLIC not in f"{page.to_json()} {page.source} {page!r}"
    assert "127.0.0.1" not in f"{page.source}"


# ------------------------------------------------------------------ offline


def test_extract_makes_a_page_of_bytes(reader: Reader, site: Site) -> None:
    engine = reader.engine
    html = (
        b"<html><head><title>T</title></head><body><p>"
        + b"Some words in a row. " * 50
        + b'<a href="x">y</a></p></body>'
    )
    page = engine.submit(engine.extract(session=engine.session("a"), data=html, url="https://example.org/a/")).result(
        30
    )
    assert (page.kind, page.status, page.title) == ("html", 0, "T")
    assert page.links[0].url == "https://example.org/a/x"
    assert site.connections == 0


@pytest.mark.parametrize("url", ["", "example.org", "file:///etc/passwd", "//example.org", "https://"])
def test_extract_needs_an_absolute_url(reader: Reader, url: str) -> None:
    with pytest.raises(WebResearchError) as caught:
        reader.engine.submit(reader.engine.extract(session=reader.session, data=b"<p>x", url=url)).result(30)
    assert caught.value.code == "invalid_url"


def test_extract_is_whole_even_when_long(reader: Reader) -> None:
    html = b"<p>" + b"Some words in a row. " * 20_000
    page = reader.engine.submit(
        reader.engine.extract(session=reader.session, data=html, url="https://example.org/")
    ).result(30)
    assert len(page.markdown) > 100_000
    assert not page.truncated
