"""Yandex: XML in base64, whose errors come with the status 200."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from jupyter_webresearch.search.answer import ProviderAnswer, ProviderError
from jupyter_webresearch.search.providers.yandex import Yandex
from jupyter_webresearch.search.question import Question
from tests.search.local_api import Asked, Said
from tests.search.providers.yandex_api import FOLDER, FOUND, HEAD, KEY, TAIL, YandexAPI

VALUES = {"YANDEX_CLOUD_API_KEY": KEY, "YANDEX_CLOUD_FOLDER_ID": FOLDER}


@pytest.fixture
async def api() -> AsyncIterator[YandexAPI]:
    with YandexAPI() as running:
        yield running  # type: ignore[misc]


async def ask(api: YandexAPI, query: str = "yandexx", **options: Any) -> ProviderAnswer:
    return await Yandex(VALUES).ask(Question(query, **options), api.service())


async def refused(api: YandexAPI, mode: str = "ok", *, seconds: float = 10.0, **values: str) -> ProviderError:
    api.mode = mode
    with pytest.raises(ProviderError) as caught:
        await Yandex(VALUES | values).ask(Question("q"), api.service(seconds=seconds))
    assert KEY not in str(caught.value)
    return caught.value


async def test_words_inside_the_marks_of_hits_are_kept(api: YandexAPI) -> None:
    said = await ask(api)
    first, second, fourth = said.results
    assert (first.url, first.title) == ("https://www.yandex.ru/", '"Яндекс" - поисковая система и портал')
    assert first.snippet == "Яндекс — машина & портал … Ещё."
    assert (first.published, first.container) == ("2006-08-14T04:00:00", "www.yandex.ru")
    assert first.details == {"type": "text/html"}
    assert first.raw["passages"] == ["Яндекс — машина & портал", "Ещё."]
    assert (second.url, second.snippet) == ("https://example.org/2?a=1&b=2", "Longer text.")
    assert (fourth.title, fourth.snippet, fourth.position) == ("example.org", "Head.", 3)
    assert said.warnings == ("1 left out: without a web address",)
    assert (said.total, said.request_id, said.corrections) == (206775197, "1348828873568466-XML", ("yandex",))
    assert said.query_altered == ""


async def test_what_it_is_sent(api: YandexAPI) -> None:
    await ask(api, "a & b", limit=20, site="example.org")
    (asked,) = api.asked
    assert asked.headers["authorization"] == f"Api-Key {KEY}"
    assert asked.json == {
        "query": {"searchType": "SEARCH_TYPE_COM", "queryText": "a & b site:example.org", "page": "0"},
        "groupSpec": {"groupMode": "GROUP_MODE_FLAT", "groupsOnPage": "20", "docsInGroup": "1"},
        "maxPassages": "3",
        "folderId": FOLDER,
        "responseFormat": "FORMAT_XML",
    }


@pytest.mark.parametrize("given, sent", [("RU", "RU"), ("tr", "TR"), ("SEARCH_TYPE_COM", "COM"), ("", "COM")])
async def test_the_index_is_a_setting(api: YandexAPI, given: str, sent: str) -> None:
    await Yandex(VALUES | {"YANDEX_CLOUD_SEARCH_TYPE": given}).ask(Question("q"), api.service())
    assert api.asked[0].json["query"]["searchType"] == f"SEARCH_TYPE_{sent}"


async def test_an_index_that_is_none_is_said(api: YandexAPI) -> None:
    error = await refused(api, YANDEX_CLOUD_SEARCH_TYPE="FR")
    assert (error.kind, error.message) == ("bad_request", "YANDEX_CLOUD_SEARCH_TYPE is one of COM, RU, TR")
    assert api.asked == []


async def test_a_long_query_is_not_sent(api: YandexAPI) -> None:
    with pytest.raises(ProviderError, match="at most 400 characters; this one has 401") as caught:
        await ask(api, "я" * 401)
    assert caught.value.kind == "bad_request"
    await ask(api, "я" * 400)


async def test_a_first_day_is_said_not_to_be_heeded(api: YandexAPI) -> None:
    said = await ask(api, since=date(2024, 5, 1))
    assert said.warnings[0] == "Yandex was not asked for recent pages: its API takes no day"
    assert "1 left out: older than 2024-05-01" in said.warnings
    assert len(said.results) == 2


async def test_a_query_that_was_altered(api: YandexAPI) -> None:
    api.xml = FOUND.replace("<misspell>", "<reask>").replace("</misspell>", "</reask>")
    said = await ask(api)
    assert (said.query_altered, said.corrections) == ("yandex", ())


async def test_the_error_15_is_no_hits(api: YandexAPI) -> None:
    api.mode = "empty"
    assert (await ask(api)).results == ()


@pytest.mark.parametrize(
    "code, kind",
    [
        ("2", "bad_request"), ("18", "bad_request"), ("42", "bad_key"), ("33", "forbidden"), ("32", "quota"),
        ("55", "rate_limited"), ("20", "unreachable"), ("999", "unreachable"), ("", "unreachable"),
    ],
)  # fmt: skip
async def test_other_errors_with_the_status_200(api: YandexAPI, code: str, kind: str) -> None:
    api.xml = f'{HEAD}<error code="{code}">Words of {KEY}</error>{TAIL}'
    error = await refused(api)
    assert (error.kind, error.code, error.http_status) == (kind, code, 200)


async def test_an_error_of_the_interface_with_the_status_200() -> None:
    class Odd(YandexAPI):
        def answer(self, asked: Asked) -> Said:
            return Said(200, {"code": 3, "message": "Bad words"})

    with Odd() as api:
        error = await refused(api)  # type: ignore[arg-type]
    assert (error.kind, error.code) == ("bad_request", "3")
    assert "Bad words" in error.message


async def test_a_bad_key(api: YandexAPI) -> None:
    error = await refused(api, YANDEX_CLOUD_API_KEY="another")
    assert (error.kind, error.http_status) == ("bad_key", 401)
    assert "YANDEX_CLOUD_API_KEY or SEARCH_API_KEY" in error.message


async def test_a_folder_that_is_not_the_keys(api: YandexAPI) -> None:
    error = await refused(api, YANDEX_CLOUD_FOLDER_ID="another")
    assert (error.kind, error.code) == ("forbidden", "7")
    assert "YANDEX_CLOUD_FOLDER_ID" in error.message
    assert "search-api.webSearch.user" in error.message


async def test_a_quota_is_not_waited_for(api: YandexAPI) -> None:
    assert (await refused(api, "quota")).kind == "quota"
    assert len(api.asked) == 1


async def test_a_rate_is_waited_for_once(api: YandexAPI) -> None:
    error = await refused(api, "rate_limited")
    assert (error.kind, error.retry_after) == ("rate_limited", 1.0)
    assert len(api.asked) == 2


@pytest.mark.parametrize(
    "mode, kind", [("down", "unreachable"), ("malformed", "bad_payload"), ("missing_list", "bad_payload")]
)
async def test_what_else_goes_wrong(api: YandexAPI, mode: str, kind: str) -> None:
    assert (await refused(api, mode)).kind == kind


async def test_a_slow_service_is_not_waited_for(api: YandexAPI) -> None:
    assert (await refused(api, "slow", seconds=0.5)).kind == "timeout"


ENTITIES = '<!DOCTYPE y [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY f SYSTEM "file:///etc/hostname">]>'
BOMB = f"<?xml version='1.0'?>{ENTITIES}<yandexsearch><response><results>&b;&f;</results></response></yandexsearch>"


@pytest.mark.parametrize(
    "xml, words",
    [
        (BOMB, "declares entities"),
        (BOMB.replace("<?xml version='1.0'?>", "").encode("utf-16"), "declares entities"),
        ("<!DOCTYPE y SYSTEM 'http://127.0.0.1:9/x.dtd'><yandexsearch/>", "declares entities"),
        (f"{HEAD}{'<a>' * 5000}{'</a>' * 5000}{TAIL}", "not XML"),
        (f"{HEAD}&undeclared;{TAIL}", "not XML"),
        ("<html/>", "without a response"),
        ("", "not XML"),
        (b"\xff\x00", "not XML"),
    ],
)
async def test_xml_that_is_an_attack_or_none_is_refused(api: YandexAPI, xml: str | bytes, words: str) -> None:
    api.xml = xml
    error = await refused(api)
    assert error.kind == "bad_payload"
    assert words in error.message


@pytest.mark.parametrize("body", [{}, {"rawData": None}, {"rawData": "###"}, {"rawData": 5}, {"rawData": "Привет"}, []])
async def test_an_answer_without_its_data(body: Any) -> None:
    class Odd(YandexAPI):
        def answer(self, asked: Asked) -> Said:
            return Said(200, body)

    with Odd() as api:
        assert (await refused(api)).kind == "bad_payload"  # type: ignore[arg-type]


async def test_base64_may_be_in_lines() -> None:
    class Lines(YandexAPI):
        def answer(self, asked: Asked) -> Said:
            return Said(200, {"rawData": base64.encodebytes(FOUND.encode()).decode()})

    with Lines() as api:
        assert len((await ask(api)).results) == 3  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "values, missing",
    [
        ({}, ("YANDEX_CLOUD_API_KEY or SEARCH_API_KEY", "YANDEX_CLOUD_FOLDER_ID or FOLDER_ID")),
        ({"YANDEX_CLOUD_API_KEY": "a"}, ("YANDEX_CLOUD_FOLDER_ID or FOLDER_ID",)),
        ({"SEARCH_API_KEY": "a", "FOLDER_ID": "b"}, ()),
        ({"YANDEX_CLOUD_API_KEY": "a", "YANDEX_CLOUD_FOLDER_ID": "b"}, ()),
    ],
)
def test_key_and_folder_go_by_two_names_each(values: dict[str, str], missing: tuple[str, ...]) -> None:
    assert Yandex(values).missing() == missing


@pytest.mark.parametrize("name, count", [("yandex_search.xml", 1), ("yandex_error15.xml", 0)])
async def test_a_real_answer(api: YandexAPI, data_folder: Path, name: str, count: int) -> None:
    api.xml = (data_folder / "search" / name).read_bytes()
    said = await ask(api)
    assert len(said.results) == count
    assert all(result.title.startswith('"Яндекс" - поисковая') for result in said.results)
