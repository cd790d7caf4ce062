"""Firecrawl: strict bodies, two forms of ``data``, pages one by one, and crawls that are polled."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest

from jupyter_webresearch.search.answer import Extract, ProviderAnswer, ProviderError
from jupyter_webresearch.search.providers.firecrawl import Firecrawl
from jupyter_webresearch.search.question import Question
from tests.search.local_api import Said
from tests.search.providers.firecrawl_api import KEY, WEB, FirecrawlAPI, document, page

KEYED = {"FIRECRAWL_API_KEY": KEY}


async def ask(api: FirecrawlAPI, values: dict[str, str] | None = None, **options: Any) -> ProviderAnswer:
    question = Question("cats", **options)
    return await Firecrawl(KEYED if values is None else values).ask(question, api.service())


async def read(api: FirecrawlAPI, *urls: str, seconds: float = 10.0, **options: Any) -> list[Extract]:
    return await Firecrawl(KEYED).read(urls, api.service(seconds=seconds), **options)


async def test_results_are_plain_and_have_a_link() -> None:
    with FirecrawlAPI() as api:
        said = await ask(api)
        (asked,) = api.asked
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.json == {"query": "cats", "limit": 8, "sources": ["web"]}
    first, second = said.results
    assert (first.url, first.title, first.snippet) == ("https://example.test/cats", "Cats & dogs", "About cats.")
    assert (second.url, second.position, first.kind) == ("https://example.test/dogs", 2, "web")
    assert (said.cost, said.request_id) == (2.0, "0199-search")
    assert said.warnings == ("1 left out: without a web address",)
    assert first.raw == WEB[0]


async def test_a_plain_list_of_older_instances_and_gateways_is_read() -> None:
    with FirecrawlAPI("bare_list") as api:
        assert [result.title for result in (await ask(api)).results] == ["Cats & dogs", "Dogs"]


async def test_news_and_images_come_from_their_own_lists() -> None:
    with FirecrawlAPI() as api:
        (news,) = (await ask(api, kind="news")).results
        (image,) = (await ask(api, kind="images")).results
        assert [asked.json["sources"] for asked in api.asked] == [["news"], ["images"]]
    assert (news.kind, news.snippet, news.published) == ("news", "Found.", "")
    assert (image.kind, image.url) == ("image", "https://img.example.test/cat")
    assert image.image_url == "https://img.example.test/cat.png"


async def test_papers_are_pages_until_the_research_index_answers() -> None:
    with FirecrawlAPI() as api:
        before = await ask(api, kind="papers")
        assert api.asked[0].json["categories"] == ["research"]
        api.mode = "research"
        first, second = (await ask(api, kind="papers")).results
    assert before.results[0].kind == "paper"
    assert (first.url, first.snippet) == ("https://doi.org/10.1145/3404835.3463098", "Sparse retrieval.")
    assert first.ids == {"arxiv": "2104.05740", "doi": "10.1145/3404835.3463098"}
    assert (second.url, second.ids) == ("https://pubmed.ncbi.nlm.nih.gov/123", {"pmid": "123"})


async def test_since_is_a_range_of_dates_that_stays_the_same_on_another_day() -> None:
    with FirecrawlAPI() as api:
        await ask(api, since=date(2024, 2, 9))
        assert api.asked[0].json["tbs"] == "cdr:1,cd_min:02/09/2024,cd_max:12/31/2099"


async def test_an_own_instance_is_asked_for_the_ranges_that_its_engines_take() -> None:
    with FirecrawlAPI(keyless=True) as api:
        own, today = {"FIRECRAWL_API_URL": api.url}, api.service().today
        near = await ask(api, own, since=today - timedelta(days=5))
        far = await ask(api, own, since=today - timedelta(days=900))
        assert [asked.json.get("tbs") for asked in api.asked] == ["qdr:w", None]
        assert "authorization" not in api.asked[0].headers
    assert not any("range" in warning for warning in near.warnings)
    assert any("longer than a year" in warning for warning in far.warnings)


async def test_a_site_goes_into_the_query_where_includedomains_is_unknown() -> None:
    with FirecrawlAPI() as api:
        await ask(api, site="example.test")
        assert [asked.json.get("includeDomains") for asked in api.asked] == [["example.test"]]
    with FirecrawlAPI(old=True) as api:
        said = await ask(api, site="example.test")
        first, second = (asked.json for asked in api.asked)
    assert first["includeDomains"] == ["example.test"]
    assert (second["query"], "includeDomains" in second) == ("site:example.test cats", False)
    assert len(said.results) == 2


async def test_a_body_that_is_refused_says_why() -> None:
    with FirecrawlAPI() as api, pytest.raises(ProviderError, match="1 to 500 characters") as caught:
        await Firecrawl(KEYED).ask(Question("cat " * 200), api.service())
    assert (caught.value.kind, caught.value.code) == ("bad_request", "BAD_REQUEST")


async def test_the_words_of_a_rate_limit_say_when() -> None:
    with FirecrawlAPI("rate_limited") as api, pytest.raises(ProviderError) as caught:
        await ask(api)
    assert (caught.value.kind, caught.value.retry_after) == ("rate_limited", 27.0)


async def test_data_without_lists_is_a_fault_that_names_both_causes() -> None:
    with (
        FirecrawlAPI("missing_list") as api,
        pytest.raises(ProviderError, match="failed, or an instance found nothing"),
    ):
        await ask(api)


async def test_the_tier_without_a_key_sends_no_header_and_is_not_availability() -> None:
    with FirecrawlAPI(keyless=True) as api:
        said = await ask(api, {})
        assert "authorization" not in api.asked[0].headers
    assert said.results
    assert Firecrawl({}).is_keyless_available()
    assert not Firecrawl({}).is_available()
    assert not Firecrawl({"FIRECRAWL_API_URL": "http://localhost:3002"}).is_keyless_available()
    assert Firecrawl({"FIRECRAWL_API_URL": "http://localhost:3002"}).is_available()


async def test_a_day_without_a_key_that_is_used_up_is_not_asked_again() -> None:
    with FirecrawlAPI("keyless_credits", keyless=True) as api:
        with pytest.raises(ProviderError, match="set FIRECRAWL_API_KEY") as caught:
            await ask(api, {})
        assert len(api.asked) == 1
    assert (caught.value.kind, caught.value.code) == ("quota", "credits")


async def test_a_service_that_wants_a_key_says_so_to_who_has_none() -> None:
    with FirecrawlAPI() as api, pytest.raises(ProviderError, match="needs a key") as caught:
        await ask(api, {})
    assert caught.value.kind == "no_key"


async def test_a_page_is_asked_for_with_its_certificate_checked() -> None:
    with FirecrawlAPI() as api:
        (got,) = await read(api, "https://example.test/a")
        (asked,) = api.asked
    assert asked.json == {
        "url": "https://example.test/a",
        "formats": ["markdown"],
        "onlyMainContent": True,
        "skipTlsVerification": False,
    }
    assert (got.url, got.title, got.markdown, got.error) == ("https://example.test/a", "A page", "# A page", "")
    assert got.metadata == {"status": "200", "language": "en"}


async def test_html_comes_besides_where_it_is_wanted() -> None:
    with FirecrawlAPI() as api:
        (got,) = await read(api, "https://example.test/a", formats=("html",))
        assert api.asked[0].json["formats"] == ["markdown", "html"]
    assert (got.markdown, got.metadata["html"]) == ("# A page", "<h1>A page</h1>")


async def test_the_url_reached_is_told_apart_from_the_one_asked_for() -> None:
    with FirecrawlAPI() as api:
        api.pages["https://example.test/a"] = page("https://example.test/a", url="https://other.test/b")
        (got,) = await read(api, "https://example.test/a")
    assert (got.url, got.metadata["final_url"]) == ("https://example.test/a", "https://other.test/b")


@pytest.mark.parametrize(
    ("about", "told"),
    [({"statusCode": 404}, "the site answered: 404"), ({"error": "Forbidden", "statusCode": 403}, "Forbidden")],
)
async def test_a_success_that_wraps_a_sites_error_is_no_page(about: dict[str, Any], told: str) -> None:
    with FirecrawlAPI() as api:
        api.pages["https://example.test/a"] = page("https://example.test/a", "# Not found", **about)
        (got,) = await read(api, "https://example.test/a")
    assert told in got.error
    assert got.markdown == ""


async def test_one_page_fails_and_the_rest_is_read_in_order() -> None:
    fault = {"success": False, "code": "SCRAPE_DNS_RESOLUTION_ERROR", "error": "DNS resolution failed"}
    with FirecrawlAPI() as api:
        api.pages["https://example.test/b"] = Said(500, fault)
        api.pages["https://example.test/c"] = Said(403, {"success": False, "error": "This site is not supported."})
        api.pages["https://example.test/d"] = Said(408, {"success": False, "error": "Request timed out"})
        api.pages["https://example.test/e"] = Said(402, {"success": False, "error": "Insufficient credits"})
        urls = [f"https://example.test/{name}" for name in "abcdeaf"]
        got = await read(api, *urls)
        assert len(api.asked) == 6
    assert [extract.url for extract in got] == [f"https://example.test/{name}" for name in "abcdef"]
    assert [bool(extract.error) for extract in got] == [False, True, True, True, True, False]
    assert "DNS resolution failed" in got[1].error
    assert "not supported" in got[2].error
    assert "used up" in got[4].error


async def test_a_fault_of_the_one_page_is_the_pages() -> None:
    with FirecrawlAPI() as api:
        api.pages["https://example.test/a"] = Said(500, {"success": False, "code": "SCRAPE_TIMEOUT", "error": "slow"})
        (got,) = await read(api, "https://example.test/a")
    assert "slow" in got.error


async def test_a_fault_of_the_account_is_raised() -> None:
    with FirecrawlAPI("quota") as api, pytest.raises(ProviderError) as caught:
        await read(api, "https://example.test/a", "https://example.test/b")
    assert caught.value.kind == "quota"


async def test_a_crawl_is_polled_until_it_is_over() -> None:
    one, two, three = (document(f"https://example.test/{name}") for name in ("", "two", "three"))
    with FirecrawlAPI() as api:
        elsewhere = "https://evil.test/v2/crawl/job?skip="  # the host that it names is never asked
        api.crawl = [
            {"status": "scraping", "completed": 0, "total": 3, "data": [], "next": elsewhere + "0"},
            {"status": "scraping", "completed": 1, "total": 3, "data": [one], "next": elsewhere + "1"},
            {"status": "completed", "completed": 3, "total": 3, "data": [two], "next": elsewhere + "2"},
            {"status": "completed", "completed": 3, "total": 3, "data": [three]},
        ]
        got = await read(api, "https://example.test/", mode="crawl", max_pages=5)
        start, *polls = api.asked
    assert start.path == "/v2/crawl"
    assert start.json == {
        "url": "https://example.test/",
        "limit": 5,
        "allowExternalLinks": False,
        "scrapeOptions": {"formats": ["markdown"], "onlyMainContent": True, "skipTlsVerification": False},
    }
    assert [poll.parameter("skip") for poll in polls] == [None, None, "1", "2"]
    assert all(poll.headers["authorization"] == f"Bearer {KEY}" for poll in polls)
    assert [page.url for page in got] == [f"https://example.test/{name}" for name in ("", "two", "three")]
    assert not any(page.error for page in got)


async def test_a_crawl_that_sends_all_each_time_gives_each_page_once_and_not_too_many() -> None:
    pages = [document(f"https://example.test/{number}") for number in range(4)]
    with FirecrawlAPI() as api:
        api.crawl = [
            {"status": "scraping", "data": pages[:2]},
            {"status": "scraping", "data": pages[:2]},
            {"status": "completed", "data": pages},
        ]
        got = await read(api, "https://example.test/0", mode="crawl", max_pages=3)
    assert [page.url for page in got] == [f"https://example.test/{number}" for number in range(3)]


@pytest.mark.parametrize(
    ("crawl", "told"),
    [
        ({"status": "failed", "data": [document("https://example.test/a")]}, "failed"),
        ({"status": "cancelled", "data": [document("https://example.test/a")]}, "cancelled"),
        ({"status": "scraping", "data": [document("https://example.test/a")], "total": 9}, "not over in time"),
    ],
)
async def test_a_crawl_without_an_end_gives_what_it_had_and_says_so(crawl: dict[str, Any], told: str) -> None:
    with FirecrawlAPI() as api:
        api.crawl = [crawl]
        first, last = await read(api, "https://example.test/a", mode="crawl", seconds=2.5)
    assert (first.url, first.markdown) == ("https://example.test/a", "# A page")
    assert (last.url, last.markdown) == ("https://example.test/a", "")
    assert told in last.error


async def test_a_crawl_that_finds_nothing_says_so() -> None:
    with FirecrawlAPI() as api:
        api.crawl = [{"status": "completed", "data": [{"markdown": "x", "metadata": {"sourceURL": "file:///etc"}}]}]
        (got,) = await read(api, "https://example.test/a", mode="crawl")
    assert "no page" in got.error


async def test_a_crawls_page_without_its_list_is_a_fault() -> None:
    with FirecrawlAPI() as api, pytest.raises(ProviderError, match="without the list of pages"):
        api.crawl = [{"status": "completed"}]
        await read(api, "https://example.test/a", mode="crawl")
