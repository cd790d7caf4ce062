"""Results as BibTeX entries, for UTF-8 files.

Names and titles come from strangers, and go into documents that TeX typesets; see :mod:`.latex`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from urllib.parse import urlsplit

from jupyter_webresearch.search.answer import SearchResult
from jupyter_webresearch.search.latex import escaped, title, verbatim

__all__ = ["bibtex", "bibtex_key"]

_ARTICLE = "article"
# Types as Crossref, OpenAlex, Semantic Scholar and PubMed have them, letters only.
_TYPES: Mapping[str, str] = {
    "article": _ARTICLE,
    "bookchapter": "incollection",
    "book": "book",
    "bookpart": "incollection",
    "booksection": "incollection",
    "booktrack": "incollection",
    "conference": "inproceedings",
    "conferencepaper": "inproceedings",
    "dissertation": "phdthesis",
    "editedbook": "book",
    "journalarticle": _ARTICLE,
    "monograph": "book",
    "paper": _ARTICLE,
    "proceedings": "proceedings",
    "proceedingsarticle": "inproceedings",
    "referencebook": "book",
    "referenceentry": "incollection",
    "report": "techreport",
    "review": _ARTICLE,
    "technicalreport": "techreport",
}
_UNPUBLISHED = frozenset({"preprint", "postedcontent", "dataset", "other", "software"})
# Where an entry's container and publisher are written.
_CONTAINERS: Mapping[str, str] = {
    _ARTICLE: "journal",
    "incollection": "booktitle",
    "inproceedings": "booktitle",
    "misc": "howpublished",
    "book": "series",
}
_PUBLISHERS: Mapping[str, str] = {"phdthesis": "school", "techreport": "institution"}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

_GROUP = re.compile(
    r"\b(?:association|centre|center|collaboration|college|committee|community|consortium|contributors|council|"
    r"department|foundation|group|initiative|institute|investigators|laboratory|ministry|network|organi[sz]ation|"
    r"project|society|team|university|working)\b",
    re.IGNORECASE,
)
_PAGES = re.compile(r"\s*[-–—]+\s*")
_FOLDED = str.maketrans(
    {"ß": "ss", "æ": "ae", "Æ": "Ae", "ø": "o", "Ø": "O", "œ": "oe", "Œ": "Oe", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D",
     "þ": "th", "Þ": "Th", "ð": "d", "ı": "i"}
)  # fmt: skip
_COMMON = re.compile(
    "an?|and|as|at|by|das|de[nrs]?|die|for|from|how|i[ns]|la|les?|of|on|the|to|towards?|un[ae]?|with|what|why",
    re.IGNORECASE,
)


def bibtex(result: SearchResult, key: str = "") -> str:
    """Return one entry, ending with a line end; the same result always gives the same.

    Parameters
    ----------
    result
        Of any kind; what is no paper becomes ``@misc``.
    key
        What it is cited by; by default :func:`bibtex_key`, which several results may share.
    """
    kind = _kind(result)
    lines = [f"  {name} = {value}" for name, value in _fields(result, kind).items() if value]
    return f"@{kind}{{{key or bibtex_key(result)},\n" + ",\n".join(lines) + "\n}\n"


def bibtex_key(result: SearchResult) -> str:
    """Return family name, year and first word of the title that says something, in ASCII letters and digits."""
    names = _people(result)
    family = _ascii(names[0][0].split()[-1]) if names and names[0][0].split() else ""
    host = (urlsplit(result.url).hostname or "").removeprefix("www.").partition(".")[0]
    words = (_ascii(word) for word in re.findall(r"[^\W_]+", result.title))
    word = next((word for word in words if len(word) > 1 and not _COMMON.fullmatch(word)), "")
    return f"{family or _ascii(host) or 'Anonymous'}{_year(result)}{word[:1].upper()}{word[1:]}"[:60]


def _kind(result: SearchResult) -> str:
    if result.kind != "paper":
        return "misc"
    named = re.sub("[^a-z]", "", result.details.get("type", "").lower())
    if named in _UNPUBLISHED or (result.container.lower() == "arxiv" and not named):
        return "misc"
    if named in _TYPES:
        return "misc" if _TYPES[named] == _ARTICLE and not result.container else _TYPES[named]
    return _ARTICLE if result.container else "misc"


def _fields(result: SearchResult, kind: str) -> dict[str, str]:
    details, ids = result.details, result.ids
    month = re.match(r"[0-9]{4}-(0[1-9]|1[0-2])", result.published)
    container = "" if kind == "misc" and "arxiv" in ids else _CONTAINERS.get(kind, "")
    return {
        "title": _field(title(result.title)),
        "author": _field(" and ".join(_author(*person) for person in _people(result))),
        **({container: _braced(result.container)} if container else {}),
        _PUBLISHERS.get(kind, "publisher"): _braced(details.get("publisher", "")),
        "year": _braced(_year(result)),
        "month": _MONTHS[int(month[1]) - 1] if month else "",
        "volume": _braced(details.get("volume", "")),
        "number": _braced(details.get("issue", "")),
        "pages": _braced(_PAGES.sub("--", details.get("pages", "").strip())),
        "isbn": _field(verbatim(ids.get("isbn", ""))),
        "issn": _field(verbatim(ids.get("issn", ""))),
        "doi": _field(verbatim(ids.get("doi", ""))),
        **_eprint(result),
        "url": _field(verbatim(result.url)),
        "note": _braced(_note(result)),
    }


def _eprint(result: SearchResult) -> dict[str, str]:
    name = result.ids.get("arxiv", "")
    if not name:
        return {}
    category = result.details.get("category", "")
    # The old identifiers hold their category.
    return {
        "eprint": _field(verbatim(name)),
        "archiveprefix": _braced("arXiv"),
        "primaryclass": _braced(category) if "/" not in name else "",
    }


def _note(result: SearchResult) -> str:
    reference = result.details.get("journal_ref", "")
    published = f"Published in {reference}" if reference else ""
    return "; ".join(filter(None, ("Retracted" if result.retracted else "", published)))


def _year(result: SearchResult) -> str:
    return result.published[:4] if re.match("[0-9]{4}", result.published) else ""


def _people(result: SearchResult) -> list[tuple[str, str]]:
    """Return family name and what goes before it of each author; of a group, its name and nothing."""
    families = result.details.get("family_names", "").split("; ")
    if len(families) != len(result.authors):
        families = [""] * len(result.authors)
    return [
        _split(name.strip(), family.strip())
        for name, family in zip(result.authors, families, strict=True)
        if name.strip()
    ]


def _split(name: str, family: str) -> tuple[str, str]:
    if family and family in name:
        before, _, after = name.rpartition(family)
        if after.strip():
            return family, f"{after.strip()}, {before.strip()}"  # BibTeX: family, suffix, given
        return family, before.strip()
    if " " not in name or "," in name or _GROUP.search(name) or " and " in name:
        return name, ""
    *given, last = name.split()
    particles: list[str] = []
    while len(given) > 1 and given[-1][0].islower():
        particles.insert(0, given.pop())
    return " ".join((*particles, last)), " ".join(given)


def _author(family: str, given: str) -> str:
    if not given:
        return f"{{{escaped(family)}}}"  # one name, not to be taken apart
    parts = [escaped(family), *map(escaped, given.split(", ", 1) if ", " in given else [given])]
    return ", ".join(f"{{{part}}}" if re.search(r"(?i)\band\b|,", part) else part for part in parts)


def _field(written: str) -> str:
    return f"{{{written}}}" if written else ""


def _braced(text: str) -> str:
    return _field(escaped(text))


def _ascii(text: str) -> str:
    folded = unicodedata.normalize("NFKD", text.translate(_FOLDED))
    return re.sub("[^A-Za-z0-9]", "", folded)
