"""The Python API."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import jupyter_webresearch as web
from jupyter_webresearch import api
from jupyter_webresearch.config import Settings
from jupyter_webresearch.kernel.local_client import LocalClient
from jupyter_webresearch.kernel.request import fetch_request
from tests.conftest import EngineMaker
from tests.sites import Site

URL = "http://www.example.org"
HEAVY = ("IPython", "httpx", "jupyter_server", "lxml", "pandas", "playwright", "tornado", "trafilatura")


@pytest.fixture(autouse=True)
def client(make_engine: EngineMaker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> LocalClient:
    """The API works through a client whose names lead to the test site, in a folder of its own."""
    client = LocalClient(Settings(), engine=make_engine())
    monkeypatch.setattr("jupyter_webresearch.kernel.client.connect", lambda: client)
    monkeypatch.chdir(tmp_path)
    return client


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_loads_nothing_heavy() -> None:
    code = f"import sys, {{}}; print([m for m in {HEAVY} if m in sys.modules])"
    assert python(code.format("jupyter_webresearch as web; web.fetch, web.Page, web.Outcomes")) == "[]"
    loaded = python(code.format("jupyter_webresearch.kernel.magics"))
    assert loaded == "['IPython']"


def test_importing_loads_itself_and_little_else() -> None:
    """What an import takes is what it loads."""
    code = (
        "import sys; before = set(sys.modules); import jupyter_webresearch; print(*sorted(set(sys.modules) - before))"
    )
    loaded = python(code).split()
    assert [name for name in loaded if name.partition(".")[0] not in sys.stdlib_module_names] == ["jupyter_webresearch"]
    assert not {"asyncio", "email", "http", "json", "socket", "ssl", "urllib"} & set(loaded)
    assert len(loaded) < 60


def test_every_name_is_there_and_documented() -> None:
    for name in web.__all__:
        thing = getattr(web, name)
        assert inspect.getdoc(thing), name
    assert set(web.__all__) <= set(dir(web))
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = web.nothing_of_the_kind


def test_extract_is_the_function_and_the_subpackage_can_be_imported() -> None:
    from jupyter_webresearch.extraction import escape

    assert web.extract is api.extract
    assert inspect.ismodule(escape)


@pytest.mark.parametrize("name", ["fetch", "fetch_many", "extract", "check_url"])
def test_each_function_has_a_twin_that_takes_the_same(name: str) -> None:
    function, twin = getattr(web, name), getattr(web, "a" + name)
    assert inspect.signature(function) == inspect.signature(twin)
    assert inspect.iscoroutinefunction(twin)


async def both(name: str, *arguments: Any, **options: Any) -> list[Any]:
    """Call a function on a thread of its own, and its twin here; a failure counts as the outcome."""
    calls = (
        asyncio.to_thread(getattr(web, name), *arguments, **options),
        getattr(web, "a" + name)(*arguments, **options),
    )
    return [(await asyncio.gather(call, return_exceptions=True))[0] for call in calls]


async def test_fetch() -> None:
    for page in await both("fetch", f"{URL}/article", max_bytes=300):
        assert page.title == "An article"
        assert page.truncated
        assert page.whole().markdown.endswith("```")


async def test_offset_raw_and_save(site: Site, tmp_path: Path) -> None:
    first = web.fetch(f"{URL}/article")
    for page in await both("fetch", f"{URL}/article", offset=100):
        assert page.markdown == first.markdown[100:]
    for page in await both("fetch", f"{URL}/article", raw=True):
        assert page.markdown.startswith("<!DOCTYPE html>")
    assert site.paths() == ["/article"]
    for page in await both("fetch", f"{URL}/json", save="kept.json", force=True):
        assert page.saved.path == "kept.json"
    for page in await both("fetch", f"{URL}/json", save=tmp_path / "other.json", force=True):
        assert page.saved.path == "other.json"


async def test_method_headers_and_bodies(site: Site) -> None:
    await both("fetch", f"{URL}/echo", json={"q": "é"}, headers={"X-A": "1"})
    await both("fetch", f"{URL}/echo", data="é", headers=[("X-A", "1"), ("X-A", "2")], method="PUT")
    json_a, json_b, put_a, put_b = site.seen
    for request in (json_a, json_b):
        assert (request.method, request.body) == ("POST", '{"q": "é"}'.encode())
        assert request.header("Content-Type") == "application/json"
        assert request.header("X-A") == "1"
    for request in (put_a, put_b):
        assert (request.method, request.body) == ("PUT", "é".encode())
        assert [value for name, value in request.headers if name == "X-A"] == ["1", "2"]


async def test_errors_are_raised_with_their_code() -> None:
    for error in await both("fetch", "http://127.0.0.1/"):
        assert isinstance(error, web.Refused)
        assert error.code == "blocked_address"
    for error in await both("fetch", f"{URL}/status?code=404"):
        assert isinstance(error, web.Failed)
        assert error.page.status == 404
    for page in await both("fetch", f"{URL}/status?code=404", any_status=True):
        assert page.status == 404


@pytest.mark.parametrize(
    "arguments", [{"url": 5}, {"url": None}, {"url": b"http://e.org"}, {"url": "u", "data": "x", "json": 1}]
)
def test_what_cannot_be_meant_is_refused_before_anything_is_sent(arguments: dict[str, Any], site: Site) -> None:
    with pytest.raises(web.BadInput) as caught:
        web.fetch(**arguments)
    assert caught.value.code == "bad_request"
    assert site.connections == 0


def test_json_may_be_anything_but_none() -> None:
    assert fetch_request("u", json=False).body == b"false"
    assert fetch_request("u", json=None).body is None
    assert fetch_request("u", json=1, headers={"content-type": "x/y"}).headers == (("content-type", "x/y"),)


async def test_fetch_many() -> None:
    urls = [f"{URL}/article?title=One", "http://10.0.0.1/", f"{URL}/article?title=Two"]
    for outcomes in await both("fetch_many", tuple(urls)):
        assert [o.title if isinstance(o, web.Page) else o.code for o in outcomes] == ["One", "blocked_address", "Two"]
        assert outcomes.urls == urls


async def test_extract(site: Site) -> None:
    html = b"<html><head><title>T</title></head><body><article><p>" + b"Tide after tide. " * 40 + b"</p></article>"
    for page in await both("extract", html, url="https://e.org/"):
        assert page.title == "T"
        assert "Tide after tide." in page.markdown
    assert site.connections == 0


@pytest.mark.parametrize("content_type", [None, "text/html", "text/html; charset=windows-1251"])
async def test_extract_of_text_is_utf_8_whatever_it_says(content_type: str | None) -> None:
    html = '<html><head><meta charset="big5"><title>Größe 潮</title></head><body><p>' + "Ebbe für Köln. " * 40
    for page in await both("extract", html, url="https://e.org/", content_type=content_type):
        assert page.title == "Größe 潮"
        assert "Ebbe für Köln." in page.markdown
        assert page.charset.name == "utf-8"
    for page in await both("extract", '{"größe": 1}', url="https://e.org/", content_type="application/json"):
        assert page.json() == {"größe": 1}


async def test_extract_of_anything_else_names_bytes() -> None:
    for error in await both("extract", Path("page.html"), url="https://e.org/"):
        assert isinstance(error, TypeError)
        assert "bytes" in str(error)


async def test_what_a_page_is_not_is_said_in_one_line() -> None:
    page = web.fetch(f"{URL}/article")
    with pytest.raises(ValueError, match=f"^{URL}/article is text/html, not JSON$") as caught:
        page.json()
    assert isinstance(caught.value, web.WebResearchError)
    assert len(caught.value._render_traceback_()) == 1
    with pytest.raises(web.BadInput, match=f"^this was the last part of {URL}/article$") as ended:
        page.next()
    assert ended.value.code == "bad_offset"
    with pytest.raises(ValueError, match="begins at character 5"):
        web.fetch(f"{URL}/json", offset=5).json()
    with pytest.raises(ValueError, match="not valid JSON"):
        web.extract("{", url="https://e.org/", content_type="application/json").json()
    assert [part.window.offset for part in page.parts()] == [0]


async def test_check_url() -> None:
    for verdict in await both("check_url", "http://169.254.169.254/"):
        assert (verdict.verdict, verdict.code) == ("refused", "blocked_address")
    for verdict in await both("check_url", "https://www.example.org/"):
        assert (verdict.verdict, verdict.code) == ("allowed", "ok")


async def test_cancelling_the_task_ends_the_work(site: Site, client: LocalClient) -> None:
    task = asyncio.create_task(web.afetch(f"{URL}/gate"))
    assert site._loop is not None
    await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(site.arrived("/gate"), site._loop))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    site.release()
    assert web.fetch(f"{URL}/article").status == 200
