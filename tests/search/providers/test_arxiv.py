"""arXiv: hostile XML, errors in a 200, versions, and its pace."""

from __future__ import annotations

import json
from datetime import date, datetime, timezone
from pathlib import Path

import anyio
import pytest

from jupyter_webresearch.search.answer import ProviderAnswer, ProviderError
from jupyter_webresearch.search.pace import Pace
from jupyter_webresearch.search.providers.arxiv import ArXiv
from jupyter_webresearch.search.question import Question
from tests.search.providers.arxiv_api import ENTRIES, ArXivAPI, feed

PAPERS = Question("testing models", limit=3, kind="papers")


class Turns:
    """A pace whose waits take no time and are written down."""

    def __init__(self) -> None:
        self.time = 0.0
        self.waits: list[float] = []

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=timezone.utc)

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.time += seconds
        await anyio.lowlevel.checkpoint()

    def provider(self) -> ArXiv:
        return ArXiv({}, pace=Pace(3.0, self, self.sleep))


async def ask(api: ArXivAPI, question: Question = PAPERS) -> ProviderAnswer:
    return await Turns().provider().ask(question, api.service())


async def test_entries_become_papers() -> None:
    with ArXivAPI() as api:
        answer = await ask(api)
    first, second, third = answer.results
    assert first.url == "https://arxiv.org/abs/2202.12139v2"
    assert first.title == "Testing $\\mathcal{N}=4$ Models: A First <Study>"
    assert first.snippet == "Deep learning, for p < q and r > s."
    assert first.ids == {"arxiv": "2202.12139v2", "doi": "10.1109/icstw55395.2022.00035"}
    assert first.authors == ("Mohit Kumar Ahuja", "Arnaud Gotlieb")
    assert first.published == "2022-02-24T15:05:19Z"
    assert (first.kind, first.container, first.open_access, first.retracted) == ("paper", "arXiv", True, False)
    assert first.pdf_url == "https://arxiv.org/pdf/2202.12139v2"
    assert first.details == {
        "type": "preprint",
        "category": "cs.SE",
        "updated": "2022-03-01T15:05:19Z",
        "journal_ref": "Workshops (ICSTW), 2022",
        "comment": "Workshop @ ICST 2022",
    }
    assert "<entry" in first.raw["entry"]
    assert second.ids == {"arxiv": "hep-th/9901001v3"}
    assert second.pdf_url == "https://arxiv.org/pdf/hep-th/9901001v3"
    assert third.retracted
    assert answer.total == 214881


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("testing", "all:testing"),
        ("testing models", "all:testing AND all:models"),
        ('"deep learning" models', 'all:"deep learning" AND all:models'),
        ("state-of-the-art", 'all:"state of the art"'),
        ("how does the sun work", "all:sun AND all:work"),
        ("the", "all:the"),
        ("C++ (templates) AND: all", "all:C AND all:templates AND all:all"),
        ("ti:electron AND au:del_maestro", "ti:electron AND au:del_maestro"),
        ('quote " alone', "all:quote AND all:alone"),
    ],
)
async def test_what_is_asked(query: str, wanted: str) -> None:
    with ArXivAPI() as api:
        await ask(api, Question(query, limit=2, kind="papers"))
    assert api.asked[0].query == (
        ("search_query", wanted),
        ("start", "0"),
        ("max_results", "2"),
        ("sortBy", "relevance"),
        ("sortOrder", "descending"),
    )
    assert api.asked[0].headers["accept"] == "application/atom+xml"


async def test_since_a_day() -> None:
    with ArXivAPI() as api:
        await ask(api, Question("sun moon", kind="papers", since=date(2020, 5, 1)))
    wanted = api.asked[0].parameter("search_query")
    assert wanted == "(all:sun AND all:moon) AND submittedDate:[202005010000 TO 299912312359]"


async def test_where_nothing_holds_all_words_any_will_do() -> None:
    turns = Turns()
    with ArXivAPI() as api:
        api.found_by_and = False
        answer = await turns.provider().ask(Question("sun moon stars", limit=1, kind="papers"), api.service())
    assert [asked.parameter("search_query") for asked in api.asked] == [
        "all:sun AND all:moon AND all:stars",
        "all:sun OR all:moon OR all:stars",
    ]
    assert answer.query_altered == "sun OR moon OR stars"
    assert len(answer.results) == 1
    assert turns.waits == [3.0]


async def test_an_error_comes_as_an_entry() -> None:
    with ArXivAPI() as api, pytest.raises(ProviderError) as caught:
        await ask(api, Question("au:(x", kind="papers"))
    assert (caught.value.kind, caught.value.http_status) == ("bad_request", 200)
    assert "malformed query: au:(x" in caught.value.message


@pytest.mark.parametrize("status", [429, 503])
async def test_too_quick(status: int) -> None:
    class TooQuick(ArXivAPI):
        def answer(self, asked):
            return super().answer(asked).__class__(status, b"Rate exceeded.", {"Content-Type": "text/plain"})

    with TooQuick() as api, pytest.raises(ProviderError) as caught:
        await ask(api)
    assert (caught.value.kind, caught.value.http_status) == ("rate_limited", status)
    assert len(api.asked) == 1


async def test_too_quick_in_a_200() -> None:
    with ArXivAPI() as api:
        api.body = b"Rate exceeded."
        with pytest.raises(ProviderError) as caught:
            await ask(api)
    assert caught.value.kind == "rate_limited"


async def test_an_empty_page_is_asked_for_again() -> None:
    turns = Turns()
    with ArXivAPI() as api:
        api.empty_pages = 1
        answer = await turns.provider().ask(PAPERS, api.service())
    assert len(answer.results) == 3
    assert turns.waits == [3.0]


async def test_a_page_that_stays_empty_is_no_answer() -> None:
    with ArXivAPI() as api:
        api.empty_pages = 2
        with pytest.raises(ProviderError) as caught:
            await ask(api)
    assert caught.value.kind == "bad_payload"


async def test_all_calls_share_the_pace() -> None:
    turns = Turns()
    provider = turns.provider()
    with ArXivAPI() as api:
        service = api.service()
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(provider.ask, PAPERS, service)
    assert len(api.asked) == 3
    assert turns.time >= 6.0


async def test_by_default_it_waits_three_seconds() -> None:
    pace = ArXiv({})._pace
    assert pace._interval == 3.0
    assert pace._sleep is anyio.sleep


@pytest.mark.parametrize(
    "declared",
    [
        '<!DOCTYPE feed [<!ENTITY x SYSTEM "file:///etc/hostname">]>',
        '<!DOCTYPE feed [<!ENTITY x "expanded">]>',
        '<!DOCTYPE feed [<!ENTITY a "' + "y" * 10_000 + '">' + '<!ENTITY x "' + "&a;" * 10_000 + '">]>',
    ],
)
@pytest.mark.parametrize("place", ["title", "attribute"])
async def test_entities_are_not_expanded(declared: str, place: str) -> None:
    entry = (
        ENTRIES[0].replace("Testing", "&x;") if place == "title" else ENTRIES[0].replace('title="pdf"', 'title="&x;"')
    )
    with ArXivAPI() as api:
        api.body = feed(entry, total=1, head=declared)
        with pytest.raises(ProviderError) as caught:
            await ask(api)
    assert caught.value.kind == "bad_payload"


async def test_nothing_is_loaded_for_a_doctype() -> None:
    with ArXivAPI() as api:
        api.body = feed(*ENTRIES, total=3, head=f'<!DOCTYPE feed SYSTEM "{api.url}/evil.dtd">')
        answer = await ask(api)
    assert len(answer.results) == 3
    assert [asked.path for asked in api.asked] == ["/api/query"]


@pytest.mark.parametrize("body", [b"", b"<feed/>", b"<html><body/></html>", b"{}", b"\xff\xfe", b"<feed>" * 100_000])
async def test_what_is_no_feed_is_no_answer(body: bytes) -> None:
    with ArXivAPI() as api:
        api.body = body
        with pytest.raises(ProviderError) as caught:
            await ask(api)
    assert caught.value.kind == "bad_payload"


async def test_an_entry_that_is_no_paper_is_left_out_and_said() -> None:
    with ArXivAPI() as api:
        api.entries = ("<entry><id>javascript:alert(1)</id><title>x</title></entry>", ENTRIES[1])
        answer = await ask(api)
    assert [paper.title for paper in answer.results] == ["Old"]
    assert answer.warnings == ("1 left out: without a web address",)


@pytest.mark.parametrize(
    ("comment", "withdrawn"),
    [
        ("Withdrawn by the author", True),
        ("This submission has been temporarily withdrawn", True),
        ("6 pages. The paper is withdrawn", True),
        ("Cash is withdrawn from machines", False),
        ("On withdrawn applications", False),
        ("12 pages", False),
    ],
)
async def test_withdrawals_are_in_comments(comment: str, withdrawn: bool) -> None:
    with ArXivAPI() as api:
        api.entries = (ENTRIES[0].replace("Workshop @ ICST 2022", comment),)
        answer = await ask(api)
    assert answer.results[0].retracted is withdrawn


async def test_another_site_is_not_searched_here() -> None:
    with ArXivAPI() as api:
        answer = await ask(api, Question("sun", kind="papers", site="example.org"))
        assert api.asked == []
        assert "arxiv.org only" in answer.warnings[0]
        assert (await ask(api, Question("sun", limit=3, kind="papers", site="arxiv.org"))).results


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("arxiv_q_testing_s0_m15_80c242b59d59", 15),
        ("arxiv_id_0808.05394_1707.08567_s0_m100_42e5aa0ec3af", 1),
        ("arxiv_id_2104.12255v1_s0_m100_6ae69987ffe1", 1),
    ],
)
async def test_recorded_answers_are_read(name: str, count: int, data_folder: Path) -> None:
    with ArXivAPI() as api:
        api.body = json.loads((data_folder / "search" / f"{name}.json").read_text())["body"].encode()
        answer = await ask(api, Question("testing", limit=20, kind="papers"))
    assert len(answer.results) == count
    for paper in answer.results:
        assert paper.title
        assert paper.ids["arxiv"] in paper.pdf_url
        assert paper.authors
        assert paper.published.endswith("Z")
