"""What goes wrong with a service that wants a key: each fault has its kind, and its message says what to do."""

from __future__ import annotations

import pytest

from jupyter_webresearch.search.answer import ProviderError
from jupyter_webresearch.search.builtin import BuiltinProvider
from jupyter_webresearch.search.providers.exa import Exa
from jupyter_webresearch.search.providers.firecrawl import Firecrawl
from jupyter_webresearch.search.providers.parallel import Parallel
from jupyter_webresearch.search.providers.tavily import Tavily
from jupyter_webresearch.search.providers.xai import XAI
from jupyter_webresearch.search.question import Question
from tests.search.local_api import LocalAPI
from tests.search.providers import exa_api, firecrawl_api, parallel_api, tavily_api, xai_api

Case = tuple[type[BuiltinProvider], type[LocalAPI], str]

CASES: list[Case] = [
    (Firecrawl, firecrawl_api.FirecrawlAPI, firecrawl_api.KEY),
    (Tavily, tavily_api.TavilyAPI, tavily_api.KEY),
    (Exa, exa_api.ExaAPI, exa_api.KEY),
    (Parallel, parallel_api.ParallelAPI, parallel_api.KEY),
    (XAI, xai_api.XAIAPI, xai_api.KEY),
]
FAULTS = {
    "bad_key": "bad_key",
    "quota": "quota",
    "rate_limited": "rate_limited",
    "down": "unreachable",
    "malformed": "bad_payload",
    "missing_list": "bad_payload",
    "slow": "timeout",
}


def of(case: Case) -> str:
    return case[0].about.name


async def asked_in(case: Case, mode: str, key: str | None = None) -> ProviderError:
    cls, api_class, right = case
    path = "/v1" if cls is XAI else ""
    with api_class(mode) as api:
        service = api.service(path=path, seconds=1 if mode == "slow" else 10)
        with pytest.raises(ProviderError) as caught:
            await cls({cls.about.keys[0]: key or right}).ask(Question("cats"), service)
        assert api.asked
    return caught.value


@pytest.mark.parametrize("case", CASES, ids=of)
@pytest.mark.parametrize("mode", FAULTS)
async def test_a_fault_has_its_kind(case: Case, mode: str) -> None:
    error = await asked_in(case, mode)
    assert error.kind == FAULTS[mode]
    assert "\n" not in error.message
    assert case[2] not in error.message


@pytest.mark.parametrize("case", CASES, ids=of)
async def test_a_wrong_key_is_named_by_its_variable_and_not_told(case: Case) -> None:
    error = await asked_in(case, "ok", "a-wrong-key")
    assert error.kind == "bad_key"
    assert case[0].about.keys[0] in error.message
    assert case[0].about.get_key in error.message
    assert "a-wrong-key" not in error.message


@pytest.mark.parametrize("case", CASES, ids=of)
async def test_when_to_ask_again_is_kept(case: Case) -> None:
    error = await asked_in(case, "rate_limited")
    assert error.retry_after is not None
    assert error.retry_after >= 20
    assert f"in {error.retry_after:g} s" in error.message


@pytest.mark.parametrize("case", CASES, ids=of)
async def test_a_used_up_plan_is_asked_once(case: Case) -> None:
    cls, api_class, key = case
    with api_class("quota") as api:
        service = api.service(path="/v1" if cls is XAI else "")
        with pytest.raises(ProviderError, match=cls.about.get_key):
            await cls({cls.about.keys[0]: key}).ask(Question("cats"), service)
        assert len(api.asked) == 1


@pytest.mark.parametrize("case", CASES, ids=of)
async def test_nothing_found_is_an_answer(case: Case) -> None:
    cls, api_class, key = case
    with api_class("empty") as api:
        said = await cls({cls.about.keys[0]: key}).ask(Question("cats"), api.service(path="/v1" if cls is XAI else ""))
    assert said.results == ()
    assert said.raw


@pytest.mark.parametrize("case", CASES, ids=of)
async def test_no_key_is_in_what_was_kept_or_in_a_url(case: Case) -> None:
    cls, api_class, key = case
    with api_class() as api:
        said = await cls({cls.about.keys[0]: key}).ask(Question("cats"), api.service(path="/v1" if cls is XAI else ""))
        (asked,) = api.asked
    assert key not in repr(said)
    assert key.encode() not in asked.body
    assert not asked.query


@pytest.mark.parametrize("case", CASES, ids=of)
def test_it_is_available_with_its_key_only(case: Case) -> None:
    cls, _, key = case
    assert not cls({}).is_available()
    assert cls({}).missing() == (cls.about.keys[0],)
    assert cls({cls.about.keys[0]: key}).is_available()


@pytest.mark.parametrize("case", CASES, ids=of)
async def test_at_most_as_many_results_as_wanted(case: Case) -> None:
    cls, api_class, key = case
    with api_class() as api:
        service = api.service(path="/v1" if cls is XAI else "")
        said = await cls({cls.about.keys[0]: key}).ask(Question("cats", limit=1), service)
    assert [result.position for result in said.results] == [1]


@pytest.mark.parametrize("case", CASES, ids=of)
async def test_options_that_all_of_them_heed(case: Case) -> None:
    cls, api_class, key = case
    with api_class() as api:
        service = api.service(path="/v1" if cls is XAI else "")
        await cls({cls.about.keys[0]: key}).ask(Question("cats", site="nothing.example"), service)
        (asked,) = api.asked
    assert b"nothing.example" in asked.body


@pytest.mark.parametrize("case", [case for case in CASES if case[0] in (Exa, Parallel, XAI)], ids=of)
async def test_without_a_key_nothing_is_sent(case: Case) -> None:
    cls, api_class, _ = case
    with api_class() as api:
        with pytest.raises(ProviderError, match=cls.about.keys[0]) as caught:
            await cls({}).ask(Question("cats"), api.service())
        assert not api.asked
    assert caught.value.kind == "no_key"
