"""Plugins' classes asked like providers of ours: untouched, whether plain or coroutines, and whatever they do."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import warnings
from dataclasses import dataclass
from datetime import date
from typing import Any

import pytest

from jupyter_webresearch.search.answer import Extract, ProviderError
from jupyter_webresearch.search.foreign import ForeignProvider
from jupyter_webresearch.search.foreign_calls import MOST_HANGING
from jupyter_webresearch.search.provider import WebSearchProvider
from jupyter_webresearch.search.question import Question
from jupyter_webresearch.search.registration import Context

SECRET = "hunter2-Zq9-and-more"


@dataclass
class Time:
    """What a plugin is told of the service: how long it may take."""

    seconds_left: float = 20.0


@pytest.fixture
def wrap():
    """Return a maker of wrapped plugins, whose loops end with the test."""
    made = []

    def wrap(instance, **arguments) -> ForeignProvider:
        context = Context()
        context.register_web_search_provider(instance)
        made.append(ForeignProvider(context.registered[0], **arguments))
        return made[-1]

    yield wrap
    for provider in made:
        provider.close()


# Classes as authors write them to the contract, with nothing of ours in their bodies.

ROWS = [
    {"title": "One &amp; <b>only</b>", "url": "https://acme.example/1", "description": "First.", "position": 1},
    {"title": "Two", "url": "https://acme.example/2", "description": "Second.", "position": 2},
]


class AcmeSearchProvider(WebSearchProvider):
    @property
    def name(self) -> str:
        return "acme"

    @property
    def display_name(self) -> str:
        return "Acme Search"

    def is_available(self) -> bool:
        return bool(os.environ.get("ACME_API_KEY", "").strip())

    def supports_search(self) -> bool:
        return True

    def supports_extract(self) -> bool:
        return True

    def search(self, query: str, limit: int = 5) -> dict[str, Any]:
        try:
            if query == "fail":
                raise RuntimeError("nothing works")
            return {"success": True, "data": {"web": [dict(row) for row in ROWS[:limit]]}}
        except Exception as exc:
            return {"success": False, "error": str(exc)}

    def extract(self, urls: list[str], **kwargs: Any) -> list[dict[str, Any]]:
        results: list[dict[str, Any]] = []
        for url in urls:
            if url.endswith("/gone"):
                results.append({"url": url, "title": "", "content": "", "raw_content": "", "error": "404"})
                continue
            results.append(
                {"url": url, "title": "T", "content": "# T", "raw_content": "# T raw", "metadata": {"lang": "en"}}
            )
        return results

    def get_setup_schema(self) -> dict[str, Any]:
        return {
            "name": "Acme Search",
            "badge": "paid",
            "env_vars": [{"key": "ACME_API_KEY", "prompt": "Acme key", "url": "https://acme.example/keys"}],
        }


class AcmeAsyncProvider(WebSearchProvider):
    @property
    def name(self) -> str:
        return "acme-async"

    def is_available(self) -> bool:
        return True

    def supports_extract(self) -> bool:
        return True

    async def search(self, query: str, limit: int = 5) -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"success": True, "data": {"web": [dict(row) for row in ROWS[:limit]]}}

    async def extract(self, urls: list[str], **kwargs: Any) -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"success": True, "data": [{"url": url, "title": "T", "content": "# T"} for url in urls]}


class Unrelated:
    name = "unrelated"

    def is_available(self):
        return True

    def supports_extract(self):
        return True

    def search(self, query, limit=5):
        return ROWS[:limit]

    def extract(self, urls):
        return {"success": True, "data": [{"url": url, "title": "T", "content": "# T"} for url in urls]}


EVERY = [AcmeSearchProvider, AcmeAsyncProvider, Unrelated]


@pytest.mark.parametrize("cls", EVERY)
async def test_a_class_written_to_the_contract_searches_as_it_is(wrap, cls):
    answer = await wrap(cls()).ask(Question("tides", limit=1), Time())
    assert [(r.position, r.url, r.title, r.snippet, r.kind) for r in answer.results] == [
        (1, "https://acme.example/1", "One & only", "First.", "web")
    ]
    assert (answer.provider, answer.warnings) == (cls().name, ())
    assert answer.results[0].raw == ROWS[0]
    assert len((await wrap(cls()).ask(Question("tides"), Time())).results) == 2


@pytest.mark.parametrize("cls", EVERY)
async def test_and_reads_pages(wrap, cls):
    url = "https://acme.example/a"
    (page,) = await wrap(cls()).read([url, url], Time())
    assert (page.url, page.title, page.markdown, page.error) == (url, "T", "# T", "")


async def test_one_pages_error_fails_no_other(wrap):
    urls = ["https://a.example/gone", "https://a.example/b"]
    gone, there = await wrap(AcmeSearchProvider()).read(urls, Time())
    assert (gone.url, gone.error, there.markdown, there.metadata) == (urls[0], "404", "# T", {"lang": "en"})


async def test_what_it_says_of_itself(wrap, monkeypatch):
    monkeypatch.delenv("ACME_API_KEY", raising=False)
    provider = wrap(AcmeSearchProvider(), variables=["ACME_API_KEY"])
    assert (provider.name, provider.display_name) == ("acme", "Acme Search")
    assert (provider.is_available(), provider.missing()) == (False, ("ACME_API_KEY",))
    monkeypatch.setenv("ACME_API_KEY", "k")
    assert (provider.is_available(), provider.missing()) == (True, ())
    assert provider._registered.asks_for == ("ACME_API_KEY",)


# What comes back


class Saying(Unrelated):
    """Returns what it is told to; raises it where it is an exception."""

    def __init__(self, said, name="saying"):
        self.said, self.name, self.asked = said, name, []

    def search(self, query, limit=5):
        self.asked.append((query, limit))
        if isinstance(self.said, BaseException):
            raise self.said
        return self.said() if callable(self.said) else self.said

    def extract(self, urls, **options):
        self.asked.append((urls, options))
        return self.search("", 0)


async def fails(provider, **question):
    with pytest.raises(ProviderError) as caught:
        await provider.ask(Question("q", **question), Time())
    return caught.value


@pytest.mark.parametrize(
    "said",
    [
        {"success": True, "data": {"web": []}},
        {"success": True, "data": []},
        {"data": {"web": []}},
        [],
        (),
        {"success": True, "data": {"web": [None, 3, "x", []]}},
    ],
    ids=repr,
)
async def test_an_empty_list_is_an_answer(wrap, said):
    assert (await wrap(Saying(said)).ask(Question("q"), Time())).results == ()


@pytest.mark.parametrize(
    "said",
    [None, 3, "text", {}, {"success": True}, {"success": True, "data": {}}, {"success": True, "data": {"web": None}},
     {"success": True, "data": {"results": []}}, {"success": True, "data": {"web": {"a": 1}}}, object()],
    ids=str,
)  # fmt: skip
async def test_a_missing_list_is_none(wrap, said):
    error = await fails(wrap(Saying(said)))
    assert error.kind == "bad_payload"


@pytest.mark.parametrize(
    ("said", "kind", "told"),
    [
        ({"success": False, "error": "nothing works"}, "unreachable", "saying failed: nothing works"),
        ({"success": False}, "unreachable", "it does not say why"),
        ({"error": "Rate limit exceeded"}, "rate_limited", "Rate limit"),
        ({"success": False, "error": "ACME_API_KEY is not set"}, "no_key", "ACME_API_KEY"),
        ({"success": False, "error": "HTTP 401: invalid API key"}, "bad_key", "401"),
        ({"success": False, "error": "402 Payment Required"}, "quota", "402"),
        ({"success": False, "error": "403 Forbidden"}, "forbidden", "403"),
        ({"success": False, "error": "Request timed out"}, "timeout", "timed out"),
        ({"success": False, "error": ["a"]}, "unreachable", "it does not say why"),
        (RuntimeError("nothing works"), "unreachable", "saying failed: RuntimeError: nothing works"),
        (NotImplementedError("no"), "unsupported", "saying can't do this"),
        (TimeoutError(), "timeout", "TimeoutError"),
        (SystemExit(1), "unreachable", "SystemExit"),
        (KeyboardInterrupt(), "unreachable", "KeyboardInterrupt"),
        (StopIteration(), "unreachable", "StopIteration"),
        (asyncio.CancelledError(), "unreachable", "CancelledError"),
        (ProviderError("quota", "used up", retry_after=3.0), "quota", "used up"),
    ],
    ids=str,
)
@pytest.mark.parametrize("is_async", [False, True])
async def test_a_failure_in_any_form_is_one_error(wrap, said, kind, told, is_async):
    provider = Saying(said)
    if is_async:
        plain = provider.search

        async def search(query, limit=5):
            return plain(query, limit)

        provider.search = search
    if is_async and isinstance(said, StopIteration):
        kind, told = "unreachable", "RuntimeError"  # what Python makes of it
    error = await fails(wrap(provider))
    assert error.kind == kind
    assert told in error.message
    assert "\n" not in error.message


@pytest.mark.parametrize(
    "said",
    [
        {"success": False, "error": f"GET https://api.example/?key={SECRET} failed with {SECRET}"},
        RuntimeError(f"bad header {SECRET}"),
        ProviderError("bad_key", f"the key {SECRET} is wrong"),
    ],
    ids=["told", "raised", "ours"],
)
async def test_no_error_tells_a_key(wrap, said):
    provider = wrap(Saying(said), variables=["ACME_KEY"], environ={"ACME_KEY": SECRET})
    assert SECRET not in (await fails(provider)).message
    rows = [{"url": "https://a.example/", "error": f"refused: {SECRET}"}]
    (page,) = await wrap(Saying(rows), variables=["ACME_KEY"], environ={"ACME_KEY": SECRET}).read(
        ["https://a.example/"], Time()
    )
    assert page.error == "refused: ***"


async def test_hostile_rows_become_plain_or_go(wrap):
    circle: dict[str, Any] = {"url": "https://a.example/circle", "title": "Circle"}
    circle["self"] = circle
    rows = [
        {"url": "javascript:alert(1)", "title": "x"},
        {"url": "file:///etc/passwd", "title": "x"},
        {"title": "none"},
        {"url": 3},
        circle,
        {
            "url": "https://a.example/ok",
            "title": "<script>x</script>\x1b[31m Fine\u202e",
            "description": 5,
            "score": "9",
        },
        {"url": "https://a.example/any", "title": None, "description": ["a"], "extra": object(), "blob": b"\xff"},
    ]
    answer = await wrap(Saying(rows)).ask(Question("q"), Time())
    assert [result.url for result in answer.results] == [
        "https://a.example/circle", "https://a.example/ok", "https://a.example/any",
    ]  # fmt: skip
    assert "\x1b" not in answer.results[1].title
    assert "script" not in answer.results[1].title
    assert answer.warnings == ("4 left out: without a web address",)
    assert [dict(result.raw) for result in answer.results][::2] == [
        {}, {**rows[6], "extra": "object", "blob": "bytes"},
    ]  # fmt: skip


async def test_no_more_results_than_asked_for_and_positions_are_counted(wrap):
    rows = [{"url": f"https://a.example/{n}", "title": str(n), "position": 77} for n in range(900)]
    answer = await wrap(Saying(rows)).ask(Question("q", limit=3), Time())
    assert [result.position for result in answer.results] == [1, 2, 3]


async def test_what_it_can_not_be_asked_is_said(wrap):
    rows = [{"url": "https://other.example/"}, {"url": "https://www.a.example/", "published": "2020-01-01"},
            {"url": "https://a.example/"}]  # fmt: skip
    plugin = Saying(rows)
    answer = await wrap(plugin).ask(Question("q", site="a.example", since=date(2024, 1, 1)), Time())
    assert [result.url for result in answer.results] == ["https://a.example/"]
    assert any("can't be asked for one site" in warning for warning in answer.warnings)
    assert any("can't be asked for a first day" in warning for warning in answer.warnings)
    assert plugin.asked == [("q", 20)]
    assert (await fails(wrap(plugin), kind="news")).kind == "unsupported"


async def test_pages_are_told_by_their_urls(wrap):
    urls = ["https://a.example/1", "https://a.example/2", "https://a.example/3"]
    rows = [{"url": urls[1] + "#x", "content": "two"}, {"url": urls[0], "raw_content": "one"}, {"url": "https://b/"}, 7]
    pages = await wrap(Saying({"success": True, "data": rows})).read(urls, Time())
    assert [(page.url, page.markdown) for page in pages] == [(urls[0], "one"), (urls[1], "two"), (urls[2], "")]
    assert pages[2].error == "saying said nothing of this page"
    (moved,) = await wrap(Saying([{"url": "https://a.example/moved", "content": "x"}])).read(urls[:1], Time())
    assert moved == Extract(urls[0], "", "x")
    (empty,) = await wrap(Saying([{"url": urls[0], "content": " "}])).read(urls[:1], Time())
    assert empty.error == "no text was found on it"
    with pytest.raises(ProviderError) as caught:
        await wrap(Saying({"success": True, "data": None})).read(urls, Time())
    assert caught.value.kind == "bad_payload"


async def test_only_options_that_it_takes_are_handed_on(wrap):
    plugin = Saying([{"url": "https://a.example/", "content": "x"}])
    await wrap(plugin).read(["https://a.example/"], Time())
    await wrap(plugin).read(["https://a.example/"], Time(), mode="crawl", max_pages=3, formats=("text",))
    given = [options for _, options in plugin.asked if isinstance(options, dict)]
    assert given == [{}, {"mode": "crawl", "max_pages": 3, "formats": ["text"]}]
    with pytest.raises(ProviderError, match="does not crawl"):
        await wrap(Unrelated()).read(["https://a.example/"], Time(), mode="crawl")
    assert await wrap(Unrelated()).read(["https://a.example/"], Time(), formats=("text",))


async def test_a_crawl_brings_further_pages(wrap):
    rows = [{"url": f"https://a.example/{n}", "content": str(n)} for n in range(9)] + [{"url": "javascript:x"}]
    pages = await wrap(Saying(rows)).read(["https://a.example/"], Time(), mode="crawl", max_pages=4)
    assert [page.url for page in pages] == [f"https://a.example/{n}" for n in range(4)]
    (none,) = await wrap(Saying([])).read(["https://a.example/"], Time(), mode="crawl")
    assert none.error == "saying found no page to read there"


# Time


async def test_a_plain_method_that_hangs_is_given_up_and_counted(wrap):
    release = threading.Event()
    provider = wrap(Saying(release.wait))
    for count in range(1, MOST_HANGING + 1):
        with pytest.raises(ProviderError, match=r"saying gave no answer: it did not return within 0\.05 s") as caught:
            await provider.ask(Question("q"), Time(0.05))
        assert (caught.value.kind, provider.hanging) == ("timeout", count)
    begun = threading.active_count()
    with pytest.raises(ProviderError, match="4 earlier calls of it hang"):
        await provider.ask(Question("q"), Time())
    assert threading.active_count() == begun
    release.set()
    while provider.hanging:
        await asyncio.sleep(0.01)
    assert (await fails(provider)).kind == "bad_payload"  # it is asked again, and returns True


async def test_a_coroutine_that_blocks_does_not_block_our_loop(wrap):
    release, entered = threading.Event(), threading.Event()

    async def blocks():
        entered.set()
        release.wait(20)
        return []

    provider = wrap(Saying(blocks))
    task = asyncio.ensure_future(provider.ask(Question("q"), Time()))
    await asyncio.to_thread(entered.wait, 20)
    assert not task.done()  # a coroutine that blocks, and we are here
    release.set()
    assert (await task).results == ()


async def test_a_coroutine_that_blocks_is_given_up_and_counted_and_the_next_has_another_loop(wrap):
    release = threading.Event()

    async def blocks():
        release.wait(20)
        return []

    plugin = Saying(blocks)
    provider = wrap(plugin)
    with pytest.raises(ProviderError, match="did not return"):
        await provider.ask(Question("q"), Time(0.05))
    assert provider.hanging == 1
    plugin.said = []
    assert (await provider.ask(Question("q"), Time())).results == ()

    async def quick():
        return []

    plugin.said = quick
    assert (await provider.ask(Question("q"), Time())).results == ()
    release.set()
    while provider.hanging:
        await asyncio.sleep(0.01)


async def test_a_coroutine_that_only_waits_is_cancelled(wrap):
    cancelled = threading.Event()

    async def waits():
        try:
            await asyncio.sleep(1000)
        finally:
            cancelled.set()

    provider = wrap(Saying(waits))
    with pytest.raises(ProviderError, match="did not return"):
        await provider.ask(Question("q"), Time(0.05))
    assert await asyncio.to_thread(cancelled.wait, 20)
    while provider.hanging:
        await asyncio.sleep(0.01)


async def test_who_is_interrupted_leaves_the_call_behind(wrap):
    release, entered = threading.Event(), threading.Event()

    def blocks():
        entered.set()
        release.wait(20)
        return []

    provider = wrap(Saying(blocks))
    task = asyncio.ensure_future(provider.ask(Question("q"), Time()))
    await asyncio.to_thread(entered.wait, 20)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert provider.hanging == 1
    release.set()


async def test_coroutines_of_one_plugin_share_a_loop_that_lasts_and_is_not_ours(wrap):
    loops = []

    async def notes():
        loops.append(asyncio.get_running_loop())
        return []

    provider = wrap(Saying(notes))
    for _ in range(3):
        await provider.ask(Question("q"), Time())
    assert len(set(map(id, loops))) == 1
    assert loops[0] is not asyncio.get_running_loop()
    provider.close()
    assert loops[0].is_closed()


async def test_a_task_that_would_end_the_program_ends_nothing(wrap):
    async def exits():
        async def end():
            raise SystemExit(3)

        task = asyncio.ensure_future(end())
        await asyncio.wait([task])
        return []

    provider = wrap(Saying(exits))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert (await provider.ask(Question("q"), Time())).results == ()
        assert (await provider.ask(Question("q"), Time())).results == ()
        gc.collect()
