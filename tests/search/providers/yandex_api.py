"""Yandex Cloud's Search API v2: protocol buffers in JSON, and an answer in base64."""

from __future__ import annotations

import base64
from typing import Any

from tests.search.local_api import Asked, LocalAPI, Said

KEY = "AQVNlocalkey0123456789"
FOLDER = "b1glocalfolder"

_TYPES = {"SEARCH_TYPE_RU", "SEARCH_TYPE_TR", "SEARCH_TYPE_COM"}
# Every field of the messages, with what it takes.
_REQUEST = {
    "query", "sortSpec", "groupSpec", "maxPassages", "region", "l10n", "folderId", "responseFormat", "userAgent",
}  # fmt: skip
_QUERY = {"searchType", "queryText", "familyMode", "page", "fixTypoMode"}
_GROUPS = {"groupMode", "groupsOnPage", "docsInGroup"}

HEAD = '<?xml version="1.0" encoding="utf-8"?>\n<yandexsearch version="1.0"><response date="20120928T103130">'
TAIL = "</response></yandexsearch>"
FOUND = f"""{HEAD}<reqid>1348828873568466-XML</reqid><found priority="phrase">7</found>
<found priority="all">206775197</found>
<misspell><rule>Misspell</rule><source-text>yande<hlword>xx</hlword></source-text><text>yandex</text></misspell>
<results><grouping attr="" mode="flat" groups-on-page="10" docs-in-group="1" curcateg="-1">
<page first="1" last="10">0</page><group><doccount>1</doccount><relevance priority="all"/><doc id="Z1"><url>https://www.yandex.ru/</url>
<domain>www.yandex.ru</domain><title>"<hlword>Яндекс</hlword>" - поисковая <hlword>система</hlword> и портал</title>
<headline>Поиск.</headline>
<modtime>20060814T040000</modtime><size>26938</size><charset>utf-8</charset>
<passages><passage><hlword>Яндекс</hlword> — машина &amp; портал</passage><passage>Ещё.</passage></passages>
<properties><lang>ru</lang></properties><mime-type>text/html</mime-type></doc></group>
<group><doc id="Z2"><url>https://example.org/2?a=1&amp;b=2</url><domain>example.org</domain><title>Second</title>
<properties><extended-text>Longer <hlword>text</hlword>.</extended-text></properties></doc></group>
<group><doc id="Z3"><url>ftp://example.org/3</url><title>Third</title></doc></group>
<group><doc id="Z4"><url>https://example.org/4</url><domain>example.org</domain><headline>Head.</headline></doc></group>
</grouping></results>{TAIL}"""
NOTHING_FOUND = f'{HEAD}<error code="15">Искомая комбинация слов нигде не встречается</error>{TAIL}'
NO_LIST = f"{HEAD}<reqid>1</reqid>{TAIL}"


class YandexAPI(LocalAPI):
    """The service; ``xml`` is what it answers in the mode ``ok``."""

    xml: str | bytes = FOUND

    def answer(self, asked: Asked) -> Said:
        if asked.path != "/v2/web/search" or asked.method != "POST":
            return _status(404, 5, "Not Found")
        if asked.headers.get("content-type") != "application/json":
            return _status(400, 3, "the content type is not JSON")
        scheme, _, key = asked.headers.get("authorization", "").partition(" ")
        if scheme != "Api-Key" or key != KEY or self.mode == "bad_key":
            return _status(401, 16, f"Unknown api key '{key[:4]}'")
        wrong = _wrong(asked.json)
        if wrong:
            return _status(400, 3, wrong)
        if asked.json["folderId"] != FOLDER:
            return _status(403, 7, "Permission denied")
        if self.mode == "quota":
            return _status(429, 8, "The limit on the quota searchapi.requests.perDay is reached", {"Retry-After": "1"})
        if self.mode == "rate_limited":
            return _status(429, 8, "Too many requests", {"Retry-After": "1"})
        if self.mode == "down":
            return _status(500, 13, "Internal error")
        if self.mode == "malformed":
            return Said(200, {"rawData": base64.b64encode(b"<yandexsearch><response>").decode()})
        said = {"empty": NOTHING_FOUND, "missing_list": NO_LIST}.get(self.mode, self.xml)
        data = said.encode() if isinstance(said, str) else said
        return Said(200, {"rawData": base64.b64encode(data).decode()})


def _wrong(body: Any) -> str:
    """Return what the service finds wrong with a request, or an empty string."""
    query, groups = body.get("query", {}), body.get("groupSpec", {})
    for known, given in ((_REQUEST, body), (_QUERY, query), (_GROUPS, groups)):
        if set(given) - known:
            return f"unknown field {sorted(set(given) - known)[0]}"
    if query.get("searchType") not in _TYPES:
        return "query.searchType: Field is required"
    if not 0 < len(query.get("queryText", "")) <= 400:
        return "query.queryText: Number of characters must be in 1..400"
    if groups.get("groupMode") not in (None, "GROUP_MODE_FLAT", "GROUP_MODE_DEEP"):
        return "groupSpec.groupMode: unknown value"
    if body.get("responseFormat") not in (None, "FORMAT_XML", "FORMAT_HTML"):
        return "responseFormat: unknown value"
    if not 0 < len(body.get("folderId", "")) <= 50:
        return "folderId: Number of characters must be in 1..50"
    ranges = ((query, "page", 0, 10**9), (groups, "groupsOnPage", 1, 100), (groups, "docsInGroup", 1, 3))
    for given, name, least, most in (*ranges, (body, "maxPassages", 1, 5)):
        value = given.get(name, str(least))
        if not isinstance(value, str) or not value.isdigit() or not least <= int(value) <= most:
            return f"{name}: Value must be in {least}..{most}"
    return ""


def _status(status: int, code: int, message: str, headers: dict[str, str] | None = None) -> Said:
    return Said(status, {"code": code, "message": message, "details": []}, headers or {})
