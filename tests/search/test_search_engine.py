"""Search through a real engine: who is configured is found, asked, merged, and on record; what is guarded stays so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from jupyter_webresearch.config import Settings, WebPolicy
from jupyter_webresearch.config_search import WebSearch
from jupyter_webresearch.engine import Engine
from jupyter_webresearch.errors import BadInput, WebResearchError
from jupyter_webresearch.search.question import SearchRequest
from jupyter_webresearch.search.response import SearchResponse
from tests.conftest import EngineMaker
from tests.search.providers.searxng_api import SearXNGAPI
from tests.sites.network import CountingDialler, StubResolver


@pytest.fixture
def searxng() -> Iterator[SearXNGAPI]:
    with SearXNGAPI() as api:
        yield api


def own(api: SearXNGAPI, **more: Any) -> dict[str, Any]:
    """Return seams with which the machine's own SearXNG is reached, and nothing of the web."""
    return {"search_environ": {"SEARXNG_URL": api.url}, "dialler": None, "resolver": None, **more}


def search(engine: Engine, query: str = "social ties", **request: Any) -> SearchResponse:
    work = engine.search(engine.session("kernel:one"), SearchRequest(query, **request))
    return engine.submit(work).result(60)


def fails(engine: Engine, **request: Any) -> WebResearchError:
    with pytest.raises(WebResearchError) as caught:
        search(engine, **request)
    return caught.value


def test_an_operators_own_instance_on_a_private_address_is_asked(make_engine: EngineMaker, searxng: SearXNGAPI) -> None:
    engine = make_engine(**own(searxng))
    found = search(engine)
    assert [tally.provider for tally in found.answered] == ["searxng"]
    assert found.results[0].url == "https://example.test/searx"
    assert found.infobox["provider"] == "searxng"
    assert len(searxng.asked) == 1
    search(engine)
    assert len(searxng.asked) == 1, "the same again is answered from memory"


def test_its_results_are_not_exempt_from_the_guard(make_engine: EngineMaker, searxng: SearXNGAPI) -> None:
    engine = make_engine(**own(searxng))
    assert engine.check_url(searxng.url).code != "ok"
    assert search(engine).results[0].url
    assert engine.check_url(searxng.url).code != "ok"


def test_a_ceiling_does_not_hide_what_the_operator_configured(make_engine: EngineMaker, searxng: SearXNGAPI) -> None:
    settings = Settings(policy=WebPolicy(ceiling=["example.org"]))
    assert len(search(make_engine(settings, **own(searxng)))) > 0


def test_public_services_have_to_be_on_the_operators_list(make_engine: EngineMaker) -> None:
    resolver, dialler = StubResolver(), CountingDialler()
    settings = Settings(policy=WebPolicy(ceiling=["example.org"]))
    engine = make_engine(settings, search_environ={}, resolver=resolver, dialler=dialler)
    error = fails(engine, providers=("wikipedia",))
    assert error.code == "search_failed"
    assert "not on the operator's list" in error.message
    assert (resolver.asked, dialler.dialled) == ([], [])


def test_without_any_key_the_keyless_ones_are_asked_side_by_side(make_engine: EngineMaker) -> None:
    resolver = StubResolver()
    engine = make_engine(search_environ={}, resolver=resolver, dialler=CountingDialler())
    error = fails(engine)
    assert error.code == "search_failed"
    assert set(resolver.asked) == {"en.wikipedia.org", "api.crossref.org", "export.arxiv.org"}


@pytest.mark.parametrize(("name", "says"), [("nosuch", "no provider"), ("brave", "BRAVE")])
def test_who_can_t_be_asked_is_an_error_and_nobody_else_is(make_engine: EngineMaker, name: str, says: str) -> None:
    resolver = StubResolver()
    error = fails(make_engine(search_environ={}, resolver=resolver), providers=(name,))
    assert isinstance(error, BadInput)
    assert says in error.message
    assert resolver.asked == []


def test_a_setting_chooses(make_engine: EngineMaker, searxng: SearXNGAPI) -> None:
    settings = Settings(search=WebSearch(search_backend="arxiv"))
    resolver = StubResolver()
    engine = make_engine(settings, **own(searxng, resolver=resolver, dialler=CountingDialler()))
    assert fails(engine).code == "search_failed"
    assert resolver.asked == ["export.arxiv.org"]


def test_the_providers_are_listed_without_a_request(make_engine: EngineMaker) -> None:
    resolver = StubResolver()
    engine = make_engine(search_environ={"TAVILY_API_KEY": "tvly-secret"}, resolver=resolver)
    rows = {row["name"]: row for row in engine.submit(engine.providers()).result(60)}
    assert rows["tavily"]["configured"] is True
    assert rows["brave"]["configured"] is False
    assert rows["wikipedia"]["keyless"] is True
    assert "tvly-secret" not in str(rows)
    assert resolver.asked == []
