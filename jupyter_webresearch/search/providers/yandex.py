"""Yandex Cloud Search: the international or the Russian index of Yandex, by key and folder."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import anyio.to_thread

from jupyter_webresearch.search.answer import ErrorKind, ProviderAnswer, ProviderError, SearchResult
from jupyter_webresearch.search.builtin import About, BuiltinProvider
from jupyter_webresearch.search.dates import iso_date
from jupyter_webresearch.search.question import Question
from jupyter_webresearch.search.refusal import Refusal, accepted, explained
from jupyter_webresearch.search.rows import collected, link, text
from jupyter_webresearch.search.service import Reply, Service

if TYPE_CHECKING:
    from lxml import etree

__all__ = ["Yandex"]

MOST_CHARACTERS = 400
MOST_PASSAGES = 3

_TYPES = ("COM", "RU", "TR")
_NOTHING_FOUND = "15"
_NEEDED = "the key's account needs the role search-api.webSearch.user in the folder of YANDEX_CLOUD_FOLDER_ID: "

# Errors inside an answer of the status 200; any other is as if the service were not there.
_KINDS: Mapping[str, ErrorKind] = {
    "1": "bad_request", "2": "bad_request", "18": "bad_request", "19": "bad_request", "37": "bad_request",
    "31": "bad_key", "34": "bad_key", "42": "bad_key", "43": "bad_key",
    "33": "forbidden", "48": "forbidden",
    "32": "quota",
    "55": "rate_limited",
}  # fmt: skip


@dataclass(frozen=True)
class _Found:
    """What the XML of an answer says."""

    results: tuple[SearchResult, ...]
    corrections: tuple[str, ...] = ()
    altered: str = ""
    total: int | None = None
    request_id: str = ""
    error: Refusal | None = None


class Yandex(BuiltinProvider):
    """Web search; answers are XML inside JSON."""

    about: ClassVar[About] = About(
        name="yandex",
        display_name="Yandex Search",
        base_url="https://searchapi.api.cloud.yandex.net",
        keys=("YANDEX_CLOUD_API_KEY", "SEARCH_API_KEY"),
        also_needs=("YANDEX_CLOUD_FOLDER_ID",),
        options=("FOLDER_ID", "YANDEX_CLOUD_SEARCH_TYPE"),
        get_key="https://console.yandex.cloud",
        price="by the request; see the tariff of Yandex Cloud",
        limits="queries of 400 characters at most; YANDEX_CLOUD_SEARCH_TYPE is COM (international), RU or TR",
    )

    @property
    def folder(self) -> str:
        """Id of the folder of Yandex Cloud that pays, or an empty string."""
        return self._values.get("YANDEX_CLOUD_FOLDER_ID") or self._values.get("FOLDER_ID") or ""

    def missing(self) -> tuple[str, ...]:
        """Return what is to be set; the folder goes by two names."""
        lacks = super().missing()
        if self.folder:
            return tuple(name for name in lacks if name != "YANDEX_CLOUD_FOLDER_ID")
        return tuple(f"{name} or FOLDER_ID" if name == "YANDEX_CLOUD_FOLDER_ID" else name for name in lacks)

    async def ask(self, question: Question, service: Service) -> ProviderAnswer:
        """Search; see :meth:`~jupyter_webresearch.search.builtin.BuiltinProvider.ask`."""
        payload = self._payload(question)
        headers = {"Authorization": f"Api-Key {self.key}"}
        reply = await service.post("/v2/web/search", payload, headers=headers, final=_is_quota)
        said = await accepted(reply, self.about, self.key, _refusal)
        if "rawData" not in said and said.get("message"):
            raise self._refused("bad_request", _refusal(reply.status, said), reply.status)
        found = await anyio.to_thread.run_sync(_read, said.get("rawData"), abandon_on_cancel=True)
        if found.error:
            kind = _KINDS.get(found.error.code, "unreachable")
            raise self._refused(kind, found.error, reply.status)
        results, notes = collected(found.results, question)
        warnings = ("Yandex was not asked for recent pages: its API takes no day",) if question.since else ()
        return ProviderAnswer(
            provider=self.name,
            results=results,
            corrections=found.corrections,
            query_altered=found.altered,
            total=found.total,
            request_id=found.request_id,
            warnings=(*warnings, *notes),
            raw=said,
        )

    def _refused(self, kind: ErrorKind, refusal: Refusal, status: int) -> ProviderError:
        return explained(self.about, self.key, refusal, ProviderError(kind, "", http_status=status))

    def _payload(self, question: Question) -> dict[str, Any]:
        wanted = f"{question.query} site:{question.site}" if question.site else question.query
        if len(wanted) > MOST_CHARACTERS:
            raise ProviderError(
                "bad_request",
                f"Yandex takes queries of at most {MOST_CHARACTERS} characters; this one has {len(wanted)}: make it "
                "shorter",
            )
        kind = (self._values.get("YANDEX_CLOUD_SEARCH_TYPE") or "COM").upper().removeprefix("SEARCH_TYPE_")
        if kind not in _TYPES:
            raise ProviderError("bad_request", f"YANDEX_CLOUD_SEARCH_TYPE is one of {', '.join(_TYPES)}")
        # Numbers of 64 bits are strings in the JSON of protocol buffers.
        return {
            "query": {"searchType": f"SEARCH_TYPE_{kind}", "queryText": wanted, "page": "0"},
            "groupSpec": {
                "groupMode": "GROUP_MODE_FLAT",
                "groupsOnPage": str(question.limit),
                "docsInGroup": "1",
            },
            "maxPassages": str(MOST_PASSAGES),
            "folderId": self.folder,
            "responseFormat": "FORMAT_XML",
        }


def _refusal(status: int, said: Mapping[str, Any]) -> Refusal:
    """Read the error of Google's interfaces that Yandex Cloud answers with."""
    message = text(said.get("message"), 500)
    kind: ErrorKind | None = "quota" if status == 429 and _speaks_of_quota(message) else None
    return Refusal(f"{_NEEDED if status == 403 else ''}{message}", text(said.get("code"), 20), kind)


def _speaks_of_quota(message: str) -> bool:
    return "quota" in message.lower()


def _is_quota(reply: Reply) -> bool:
    """Whether a 429 is about a quota of hours or days, for whose end nobody waits."""
    return reply.status == 429 and _speaks_of_quota(reply.body[:4096].decode("utf-8", "replace"))


def _read(raw: Any) -> _Found:
    """Read the XML that is the answer proper; blocks."""
    response = _parsed(raw)
    error = response.find("error")
    if error is not None:
        code = text(error.get("code"), 20)
        if code == _NOTHING_FOUND:
            return _Found(())
        return _Found((), error=Refusal(_words([error]), code))
    listing = response.find("results/grouping")
    if listing is None:
        raise ProviderError("bad_payload", "the answer is without the list of results", http_status=200)
    total = _words([found for found in response.findall("found") if found.get("priority") == "all"][:1])
    return _Found(
        results=tuple(_result(doc) for doc in listing.iterfind("group/doc")),
        corrections=tuple(filter(None, [_words(response.findall("misspell/text")[:1])])),
        altered=_words(response.findall("reask/text")[:1]),
        total=int(total) if total.isascii() and total.isdigit() and len(total) < 18 else None,
        request_id=_words(response.findall("reqid")[:1]),
    )


def _parsed(raw: Any) -> etree._Element:
    """Return the element ``response``; an answer that declares entities, which could expand without end, is refused."""
    from lxml import etree

    if not isinstance(raw, str):
        raise ProviderError("bad_payload", "the answer is without rawData", http_status=200)
    try:
        data = base64.b64decode("".join(raw.split()), validate=True)
        if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
            raise ProviderError("bad_payload", "the answer declares entities", http_status=200)
        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True,
            remove_pis=True,
        )  # fmt: skip
        root = etree.fromstring(data, parser)
    except (binascii.Error, ValueError, etree.XMLSyntaxError):
        raise ProviderError("bad_payload", "the answer is not XML in base64", http_status=200) from None
    if root.getroottree().docinfo.internalDTD is not None:  # in an encoding in which the words above are other octets
        raise ProviderError("bad_payload", "the answer declares entities", http_status=200)
    response = root.find("response") if root.tag == "yandexsearch" else None
    if response is None:
        raise ProviderError("bad_payload", "the answer is without a response", http_status=200)
    return response


def _result(doc: etree._Element) -> SearchResult:
    passages = doc.findall("passages/passage")[:MOST_PASSAGES]
    snippet = " … ".join(filter(None, (_words([passage]) for passage in passages)))
    fields = {name: _words(doc.findall(name)[:1]) for name in ("url", "domain", "title", "headline", "modtime")}
    kind = _words(doc.findall("mime-type")[:1])
    extended = _words(doc.findall("properties/extended-text")[:1])
    return SearchResult(
        url=link("".join(doc.findtext("url") or "").strip()),
        title=fields["title"] or fields["domain"],
        snippet=snippet or extended or fields["headline"],
        published=iso_date(fields["modtime"]),
        container=fields["domain"],
        details={"type": kind} if kind else {},
        raw={**fields, "passages": [_words([passage]) for passage in passages], "extended_text": extended},
    )


def _words(elements: Iterable[Any]) -> str:
    """Return what an element says, words inside marks of a hit included."""
    return text(" ".join("".join(element.itertext()) for element in elements))
