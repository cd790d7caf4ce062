"""DDGS: a package that is run in a process of its own, which ends with its search, in time, and with its parent."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest

from jupyter_webresearch.search import ddgs_process
from jupyter_webresearch.search.answer import ProviderAnswer, ProviderError
from jupyter_webresearch.search.ddgs_process import DDGSProcess, ddgs_paths
from jupyter_webresearch.search.providers.ddgs import DDGS
from jupyter_webresearch.search.question import Question
from jupyter_webresearch.search.service import Service
from tests.extraction.test_pool_lifetime import assert_ends
from tests.search.local_api import Asked, LocalAPI, Said

STANDIN = str(Path(__file__).with_name("ddgs_standin"))
ROOT = Path(__file__).parents[3]
posix = pytest.mark.skipif(sys.platform == "win32", reason="named pipes, signals and process groups of POSIX")


class NothingAsked(LocalAPI):
    """The provider has no service of its own: whoever asks here is wrong."""

    def answer(self, asked: Asked) -> Said:
        raise AssertionError(asked)


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    with NothingAsked() as api:
        yield api.service(seconds=30)
        assert api.asked == []


@pytest.fixture(autouse=True)
def no_process_is_left() -> Any:
    before = set(psutil.Process().children(recursive=True))
    yield
    assert set(psutil.Process().children(recursive=True)) <= before
    assert "ddgs" not in sys.modules


async def ask(
    service: Service, query: str = "q", values: dict[str, str] | None = None, **options: Any
) -> ProviderAnswer:
    return await DDGS(values or {}, paths=[STANDIN]).ask(Question(query, **options), service)


async def refused(service: Service, query: str, values: dict[str, str] | None = None, **options: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await ask(service, query, values, **options)
    assert "word" not in str(caught.value)
    return caught.value


async def test_a_web_search(service: Service) -> None:
    said = await ask(service, "weak ties", limit=3)
    first, second, third = said.results
    assert (first.url, first.title, first.engines) == ("https://example.org/1", "First one", ("duckduckgo",))
    assert first.snippet == "weak ties " + str(
        {"timeout": 10, "timelimit": None, "max_results": 3, "backend": "duckduckgo"}
    )
    assert second.url == "https://ru.example/Что"
    assert (third.position, third.snippet) == (3, "b\ufffd")
    assert said.warnings == ("1 left out: without a web address",)
    assert first.raw["href"] == "https://example.org/1"


async def test_news(service: Service) -> None:
    (news,) = (await ask(service, kind="news")).results
    assert (news.kind, news.published, news.container) == ("news", "2026-10-30T08:00:00+00:00", "The Example")
    assert (news.url, news.image_url) == ("https://news.example/1", "https://news.example/1.jpg")


async def test_images(service: Service) -> None:
    (image,) = (await ask(service, kind="images")).results
    assert (image.kind, image.url, image.image_url) == (
        "image",
        "https://example.com/cats",
        "https://example.com/cat.jpg",
    )


@pytest.mark.parametrize("days, limit", [(1, "'d'"), (6, "'w'"), (20, "'m'"), (200, "'y'"), (800, "None")])
async def test_a_first_day_is_a_range(service: Service, days: int, limit: str) -> None:
    said = await ask(service, since=service.today - timedelta(days=days))
    assert f"'timelimit': {limit}" in said.results[0].snippet
    assert any("no range longer" in warning for warning in said.warnings) == (days == 800)


async def test_old_news_is_left_out(service: Service) -> None:
    said = await ask(service, kind="news", since=date(2999, 1, 1))
    assert said.results == ()
    assert "1 left out: older than 2999-01-01" in said.warnings


async def test_a_site_goes_into_the_query_and_holds(service: Service) -> None:
    said = await ask(service, site="example.org")
    assert said.results[0].snippet.startswith("q site:example.org")
    assert [result.url for result in said.results] == ["https://example.org/1", "https://sub.example.org/3"]


async def test_no_results_are_an_answer(service: Service) -> None:
    said = await ask(service, "nothing")
    assert (said.results, said.raw) == ((), [])
    assert said.warnings == ("DDGS can't tell whether duckduckgo has found nothing or refused to search",)


@pytest.mark.parametrize(
    "query, kind",
    [
        ("rate", "rate_limited"), ("wrapped-rate", "rate_limited"), ("worded-rate", "rate_limited"),
        ("slow", "timeout"), ("wrapped-slow", "timeout"), ("proxy", "unreachable"), ("odd", "bad_payload"),
        ("error", "bad_payload"), ("exit", "unreachable"), ("leave", "bad_payload"), ("garbage", "bad_payload"),
        ("list", "bad_payload"), ("flood", "bad_payload"), ("large", "bad_payload"),
    ],
)  # fmt: skip
async def test_what_goes_wrong_is_told_without_its_words(service: Service, query: str, kind: str) -> None:
    error = await refused(service, query)
    assert error.kind == kind
    assert "secret" not in error.message


async def test_what_the_package_prints_is_no_answer(service: Service) -> None:
    assert len((await ask(service, "noise")).results) == 3


async def test_an_engine_is_named(service: Service) -> None:
    said = await ask(service, values={"DDGS_BACKEND": "mojeek"})
    assert said.results[0].engines == ("mojeek",)
    assert "'backend': 'mojeek'" in said.results[0].snippet


@pytest.mark.parametrize("engine", ["auto", "all", "bing,brave", "../x", "A"])
async def test_an_engine_is_one_and_always_the_same(service: Service, engine: str) -> None:
    error = await refused(service, "q", {"DDGS_BACKEND": engine})
    assert (error.kind, error.message) == (
        "bad_request",
        "DDGS_BACKEND names one engine, such as duckduckgo; not any of them",
    )


async def test_an_engine_that_the_package_has_not_is_not_replaced(service: Service) -> None:
    error = await refused(service, "q", {"DDGS_BACKEND": "mojeek"}, kind="news")
    assert (error.kind, error.code) == ("bad_request", "no_engine")
    assert "no engine mojeek" in error.message


async def test_a_package_without_a_list_of_engines_is_asked(service: Service, tmp_path: Path) -> None:
    package = tmp_path / "ddgs"
    package.mkdir()
    code = (Path(STANDIN) / "ddgs" / "__init__.py").read_text("utf-8")
    code = code.replace("from .engines import ENGINES", "ENGINES = {'text': {'duckduckgo'}}")
    (package / "__init__.py").write_text(code, "utf-8")
    (package / "exceptions.py").write_text((Path(STANDIN) / "ddgs" / "exceptions.py").read_text("utf-8"), "utf-8")
    assert (await DDGS({}, paths=[str(tmp_path)]).ask(Question("q"), service)).results


async def test_its_environment_is_what_it_needs(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://other.example")
    monkeypatch.setenv("SOME_TOKEN", "secret")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    said = await ask(service, "environment", {"DDGS_PROXY": "socks5h://127.0.0.1:9150"}, limit=20)
    seen = {row["title"]: row["body"] for row in said.raw}
    assert seen["DDGS_PROXY"] == "socks5h://127.0.0.1:9150"
    assert set(seen) <= {"DDGS_PROXY", "LC_ALL", "TZ", "SYSTEMROOT", "LC_CTYPE", *ddgs_process._KEPT_VARIABLES}


async def test_a_missing_package_is_told_with_the_command(service: Service, tmp_path: Path) -> None:
    provider = DDGS({}, paths=())
    assert (provider.missing(), provider.is_available()) == (("pip install 'jupyter-webresearch[ddgs]'",), False)
    with pytest.raises(
        ProviderError, match=re.escape("not installed: pip install 'jupyter-webresearch[ddgs]'")
    ) as caught:
        await provider.ask(Question("q"), service)
    assert caught.value.kind == "unsupported"
    broken = tmp_path / "ddgs"
    broken.mkdir()
    (broken / "__init__.py").write_text("import primp_that_is_not_there")
    with pytest.raises(ProviderError, match="can't be imported: pip install") as caught:
        await DDGS({}, paths=[str(tmp_path)]).ask(Question("q"), service)
    assert caught.value.kind == "unsupported"


def test_where_the_package_is_is_found_without_importing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(STANDIN)
    assert ddgs_paths()[0] == str(Path(STANDIN).resolve())
    assert DDGS({}).is_available()
    assert "ddgs" not in sys.modules


async def test_time_over_is_the_end_of_it() -> None:
    with NothingAsked() as api:
        error = await refused(api.service(seconds=0.3), "sleep")
    assert error.kind == "timeout"
    assert "was ended" in error.message


async def test_a_process_that_can_not_be_started_is_told(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(ROOT / "no-python"))
    assert (await refused(service, "q")).kind == "unreachable"


def heard(pipe: Path) -> list[int]:
    return [int(number) for number in pipe.read_text().split()]


@posix
@pytest.mark.parametrize("action", ["sleep", "stuck"])
async def test_who_is_cancelled_leaves_neither_process_nor_child(service: Service, tmp_path: Path, action: str) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    task = asyncio.create_task(ask(service, f"{action} {pipe}"))
    pids = await asyncio.to_thread(heard, pipe)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(pids) == 2
    for pid in pids:
        await asyncio.to_thread(assert_ends, pid)


PARENT = f"""
import asyncio, sys
from jupyter_webresearch.search.ddgs_process import DDGSProcess
request = dict(query="sleep " + sys.argv[1], kind="web", backend="duckduckgo", timelimit=None, limit=1, timeout=1)
asyncio.run(DDGSProcess([{STANDIN!r}]).search(request, 60))
"""


@posix
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it ends by its own clock")
async def test_it_ends_with_its_parent(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen([sys.executable, "-c", PARENT, str(pipe)], cwd=ROOT) as parent:
        worker, child = await asyncio.to_thread(heard, pipe)
        parent.kill()
        await asyncio.to_thread(assert_ends, worker)
    os.kill(child, signal.SIGKILL)


@posix
def test_it_ends_by_its_own_clock_when_nobody_ends_it() -> None:
    settings = {"parent": os.getpid(), "seconds": -1.7, "paths": [str(ROOT), STANDIN]}
    request = {"query": "sleep", "kind": "web", "backend": "duckduckgo", "timelimit": None, "limit": 1, "timeout": 1}
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", ddgs_process._BOOT, json.dumps(settings)],
        input=json.dumps(request).encode() + b"\n",
        check=False,
    )
    assert done.returncode == -signal.SIGALRM


async def test_two_at_once(service: Service) -> None:
    process = DDGSProcess([STANDIN])
    request = {"kind": "web", "backend": "duckduckgo", "timelimit": None, "limit": 1, "timeout": 1}
    both = await asyncio.gather(*(process.search({**request, "query": query}, 30) for query in ("a", "nothing")))
    assert [(said.end, bool(said.rows)) for said in both] == [("ok", True), ("ok", False)]
