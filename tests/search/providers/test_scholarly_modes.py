"""How the scholarly providers take it when their service has nothing, refuses, breaks or is silent."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from jupyter_webresearch.search.answer import ProviderError
from jupyter_webresearch.search.builtin import BuiltinProvider
from jupyter_webresearch.search.pace import Pace
from jupyter_webresearch.search.providers.arxiv import ArXiv
from jupyter_webresearch.search.providers.crossref import Crossref
from jupyter_webresearch.search.providers.openalex import OpenAlex
from jupyter_webresearch.search.providers.pubmed import PubMed
from jupyter_webresearch.search.providers.semantic_scholar import SemanticScholar
from jupyter_webresearch.search.providers.wikipedia import Wikipedia
from jupyter_webresearch.search.question import Question
from tests.search.local_api import LocalAPI
from tests.search.providers.arxiv_api import ArXivAPI
from tests.search.providers.crossref_api import CrossrefAPI
from tests.search.providers.openalex_api import OpenAlexAPI
from tests.search.providers.pubmed_api import PubMedAPI
from tests.search.providers.semantic_scholar_api import SemanticScholarAPI
from tests.search.providers.wikipedia_api import WikipediaAPI

PROVIDERS: dict[str, tuple[Callable[[], BuiltinProvider], type[LocalAPI]]] = {
    "wikipedia": (lambda: Wikipedia({}), WikipediaAPI),
    "crossref": (lambda: Crossref({}), CrossrefAPI),
    "openalex": (lambda: OpenAlex({}), OpenAlexAPI),
    "arxiv": (lambda: ArXiv({}, pace=Pace(0.0)), ArXivAPI),
    "semantic-scholar": (lambda: SemanticScholar({}, pace=Pace(0.0)), SemanticScholarAPI),
    "pubmed": (lambda: PubMed({}, pace=Pace(0.0)), PubMedAPI),
}

FAILURES = [
    ("rate_limited", "rate_limited", 429),
    ("down", "unreachable", 500),
    ("malformed", "bad_payload", 200),
    ("missing_list", "bad_payload", 200),
]


@pytest.fixture(params=PROVIDERS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def api(name: str) -> Iterator[LocalAPI]:
    with PROVIDERS[name][1]() as running:
        yield running


@pytest.fixture
def provider(name: str) -> BuiltinProvider:
    return PROVIDERS[name][0]()


def question(provider: BuiltinProvider) -> Question:
    return Question("mice and men", kind=provider.about.kinds[0])


def test_it_can_be_used_as_it_is(name: str, provider: BuiltinProvider) -> None:
    assert provider.name == name
    assert provider.is_available()
    assert provider.about.keyless
    assert "web" in provider.about.kinds
    assert not provider.supports_extract()
    assert provider.base_url.startswith("https://")
    assert not provider.base_is_configured


async def test_results_are_answered(provider: BuiltinProvider, api: LocalAPI) -> None:
    answer = await provider.ask(question(provider), api.service())
    assert answer.provider == provider.name
    assert answer.results
    for position, result in enumerate(answer.results, start=1):
        assert result.position == position
        assert result.url.startswith("https://")
        assert result.title
        assert result.raw


async def test_nothing_found_is_an_answer(provider: BuiltinProvider, api: LocalAPI) -> None:
    api.mode = "empty"
    answer = await provider.ask(question(provider), api.service())
    assert answer.results == ()
    assert answer.total == 0


@pytest.mark.parametrize(("mode", "kind", "status"), FAILURES)
async def test_failures_are_told_apart(
    provider: BuiltinProvider, api: LocalAPI, mode: str, kind: str, status: int
) -> None:
    api.mode = mode
    with pytest.raises(ProviderError) as caught:
        await provider.ask(question(provider), api.service())
    assert (caught.value.kind, caught.value.http_status) == (kind, status)
    assert caught.value.message
    assert "\n" not in caught.value.message
    if kind == "rate_limited":
        assert caught.value.retry_after == 30
        assert provider.display_name in caught.value.message


async def test_a_silent_service_ends_at_the_deadline(provider: BuiltinProvider, api: LocalAPI) -> None:
    api.mode = "slow"
    with pytest.raises(ProviderError) as caught:
        await provider.ask(question(provider), api.service(seconds=0.3))
    assert caught.value.kind == "timeout"


async def test_a_limit_is_heeded(provider: BuiltinProvider, api: LocalAPI) -> None:
    answer = await provider.ask(Question("mice", limit=1, kind=provider.about.kinds[0]), api.service())
    assert len(answer.results) == 1
