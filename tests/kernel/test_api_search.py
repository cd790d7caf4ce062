"""Search from Python."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
from collections.abc import Iterator
from datetime import date, datetime

import pytest

import jupyter_webresearch as web
from jupyter_webresearch.config import Settings
from jupyter_webresearch.errors import BadInput, Failed
from jupyter_webresearch.kernel.cancellation import Cancellation
from jupyter_webresearch.kernel.local_client import LocalClient
from jupyter_webresearch.kernel.request import search_request
from jupyter_webresearch.search.question import SearchRequest
from jupyter_webresearch.search.response import Result, SearchResponse
from tests.conftest import EngineMaker
from tests.search.own_instance import ARTICLE, OwnInstance
from tests.server.running import wait_until
from tests.sites import Site


@pytest.fixture
def instance() -> Iterator[OwnInstance]:
    with OwnInstance() as api:
        yield api


@pytest.fixture(autouse=True)
def client(make_engine: EngineMaker, instance: OwnInstance, site: Site, monkeypatch: pytest.MonkeyPatch) -> LocalClient:
    client = LocalClient(Settings(), engine=make_engine(**instance.seams(site.port)))
    monkeypatch.setattr("jupyter_webresearch.kernel.client.connect", lambda: client)
    return client


def test_the_names_are_there_and_the_package_can_be_called_whatever_was_imported_before() -> None:
    code = (
        "import jupyter_webresearch as web; before = web.search; import jupyter_webresearch.search.response as r; "
        "assert web.search is before and callable(before) and web.SearchResponse is r.SearchResponse and web.Result; "
        "from jupyter_webresearch.search import question; assert question.KINDS; "
        "import sys; assert not {'IPython', 'httpx', 'pandas', 'lxml'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_twin_takes_the_same() -> None:
    from jupyter_webresearch.api_search import search

    assert inspect.signature(web.search) == inspect.signature(web.asearch) == inspect.signature(search)
    assert inspect.iscoroutinefunction(web.asearch)


async def test_both_search_and_results_are_read_through_the_same_client(instance: OwnInstance, site: Site) -> None:
    found = [await asyncio.to_thread(web.search, "tides", fresh=True), await web.asearch("tides", fresh=True)]
    for response in found:
        assert isinstance(response, SearchResponse)
        assert response.results[0].url == ARTICLE
        page = await asyncio.to_thread(response.results[0].fetch)
        assert page.title == "An article"
    assert len(instance.asked) == 2
    assert site.paths() == ["/article"]


def test_the_response_is_the_whole_answer() -> None:
    found = web.search("tides")
    assert found.answers[0][0] == "searxng"
    assert found.infobox["title"] == "Social tie"
    assert [failure.provider for failure in found.failed] == ["searxng: google", "searxng: qwant"]
    assert found.raw["searxng"]["query"] == "tides"
    again = SearchResponse.from_json(found.to_json())
    assert again == found
    assert list(found.df.index) == [1, 2]
    paper = web.search("tides", kind="papers")
    assert paper.bibtex().startswith("@article{Lovelace2023")


def test_arguments() -> None:
    assert search_request(" tides ", providers="a, b,") == SearchRequest("tides", ("a", "b"))
    assert search_request("tides", providers=["a"], since=date(2024, 5, 1)).since == "2024-05-01"
    assert search_request("tides", since=datetime(2024, 5, 1, 10)).since == "2024-05-01"
    with pytest.raises(BadInput, match="a query is text, not int"):
        web.search(7)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="the query is empty"):
        web.search("  ")
    assert len(web.search("tides", max_results=1)) == 1
    lowered = web.search("tides", max_results=30)
    assert any("at most 20 results are given" in note for note in lowered.notes)


def test_a_result_by_itself_is_read_as_any_url(site: Site) -> None:
    assert Result(1, ARTICLE, "x").fetch().title == "An article"
    assert site.paths() == ["/article"]


async def test_cancelling_the_task_ends_the_search(instance: OwnInstance) -> None:
    task = asyncio.create_task(web.asearch("(hang)"))
    await asyncio.to_thread(wait_until, lambda: "(hang)" in instance.queries)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_ending_many_ends_all(client: LocalClient, instance: OwnInstance) -> None:
    cancellation = Cancellation()
    requests = [SearchRequest(f"(hang) {n}") for n in range(9)]
    many = asyncio.create_task(asyncio.to_thread(client.search_many, requests, cancellation=cancellation))
    await asyncio.to_thread(wait_until, lambda: len(instance.asked) == 4)
    cancellation.cancel()
    with pytest.raises(Failed) as caught:
        await many
    assert caught.value.code == "cancelled"
    assert len(instance.asked) == 4, "those that waited for their turn were not begun"


def test_the_providers(client: LocalClient) -> None:
    rows = {row["name"]: row for row in client.providers()}
    assert rows["searxng"]["configured"] is True
    assert rows["brave"]["configured"] is False
