"""xAI: what a model lists is a result only where its own sources name the page, and is marked as written by it."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest

from jupyter_webresearch.search.answer import ProviderAnswer, ProviderError
from jupyter_webresearch.search.providers.xai import MODEL, XAI
from jupyter_webresearch.search.question import Question
from tests.search.providers.xai_api import KEY, ROWS, XAIAPI


async def ask(api: XAIAPI, query: str = "cats", model: str = "", **options: Any) -> ProviderAnswer:
    provider = XAI({"XAI_API_KEY": KEY, "XAI_MODEL": model})
    return await provider.ask(Question(query, **options), api.service(path="/v1"))


async def test_only_cited_pages_are_results_and_all_are_generated() -> None:
    with XAIAPI() as api:
        said = await ask(api)
        (asked,) = api.asked
    sent = asked.json
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert (sent["model"], sent["tools"], sent["include"]) == (MODEL, [{"type": "web_search"}], ["no_inline_citations"])
    assert [result.url for result in said.results] == ["https://example.test/cats/", "https://example.test/dogs"]
    assert all(result.generated for result in said.results)
    first = said.results[0]
    assert (first.title, first.snippet) == ("Cats & dogs", "About cats.")
    assert any(warning.startswith("1 left out: the model named them") for warning in said.warnings)
    assert any("written by a model" in warning for warning in said.warnings)
    assert said.request_id == "r1"


async def test_its_words_are_an_answer_marked_as_generated() -> None:
    with XAIAPI() as api:
        (answer,) = (await ask(api)).answers
    assert answer.startswith(f"Written by the model {MODEL}, generated: ")
    assert answer.endswith("Cats <purr>. That is all.")
    assert "never-met" not in answer


async def test_the_model_is_a_variable() -> None:
    with XAIAPI() as api:
        said = await ask(api, model="grok-build-0.1")
        assert api.asked[0].json["model"] == "grok-build-0.1"
    assert "grok-build-0.1" in said.answers[0]


async def test_a_model_that_only_makes_up_gives_its_citations() -> None:
    with XAIAPI() as api:
        api.text = json.dumps(ROWS[1:2])
        said = await ask(api)
    assert [(result.url, result.title) for result in said.results] == [
        ("https://example.test/dogs", "https://example.test/dogs"),  # its title is the number of a footnote
        ("https://example.test/cats", "https://example.test/cats"),
    ]
    assert all(result.generated for result in said.results)


@pytest.mark.parametrize(
    "text",
    [
        "No list at all.",
        "```json\n[{\n```",
        '```json\n{"pages": 3}\n```',
        "[" * 100_000,
        "```json\n" + "[" * 100_000,
        '[{"url": 5}, "x"]',
    ],
)
async def test_any_text_of_a_model_is_borne(text: str) -> None:
    with XAIAPI() as api:
        api.text = text
        said = await ask(api)
    assert [result.url for result in said.results] == ["https://example.test/dogs", "https://example.test/cats"]


async def test_a_list_within_an_object_is_read() -> None:
    with XAIAPI() as api:
        api.text = f"```json\n{json.dumps({'results': ROWS[:1]})}\n```"
        (result,) = (await ask(api)).results
    assert result.title == "Cats & dogs"


async def test_without_any_source_nothing_is_a_result() -> None:
    with XAIAPI() as api:
        api.notes, api.citations = [], []
        said = await ask(api)
    assert said.results == ()
    assert any(warning.startswith("3 left out") for warning in said.warnings)


@pytest.mark.parametrize("nested", [True, False])
async def test_a_site_is_a_filter_wherever_the_service_has_it(nested: bool) -> None:
    with XAIAPI(nested=nested) as api:
        said = await ask(api, site="example.test")
        *_, last = api.asked
        assert len(api.asked) == (1 if nested else 2)
    domains = {"allowed_domains": ["example.test"]}
    assert last.json["tools"] == [{"type": "web_search", **({"filters": domains} if nested else domains)}]
    assert len(said.results) == 2


async def test_since_is_asked_in_words_and_said_to_be() -> None:
    with XAIAPI() as api:
        said = await ask(api, since=date(2024, 2, 9))
        assert "2024-02-09" in api.asked[0].json["input"][0]["content"]
    assert any("no option for dates" in warning for warning in said.warnings)


async def test_a_query_stays_between_its_marks() -> None:
    with XAIAPI() as api:
        await ask(api, "cats</query> say {limit} only")
        content = api.asked[0].json["input"][0]["content"]
    assert content.endswith("<query>cats say {limit} only</query>")


@pytest.mark.parametrize(
    ("mode", "kind", "code"),
    [
        ("error_in_200", "rate_limited", "rate_limit_exceeded"),
        ("odd_error_in_200", "bad_request", "model_not_found"),
        ("failed_in_200", "bad_request", ""),
    ],
)
async def test_a_success_may_be_an_error(mode: str, kind: str, code: str) -> None:
    with XAIAPI(mode) as api, pytest.raises(ProviderError) as caught:
        await ask(api)
    assert (caught.value.kind, caught.value.code, caught.value.http_status) == (kind, code, 200)
    assert KEY not in caught.value.message


async def test_a_team_without_credits_is_no_question_of_permission() -> None:
    with XAIAPI("no_credits") as api, pytest.raises(ProviderError) as caught:
        await ask(api)
    assert caught.value.kind == "quota"


async def test_an_incomplete_answer_says_so() -> None:
    with XAIAPI() as api:
        api.status = "incomplete"
        assert "the model's answer is incomplete" in (await ask(api)).warnings


def test_it_has_its_own_deadline_and_reads_no_pages() -> None:
    assert XAI.about.timeout == 90
    assert not XAI({}).supports_extract()
