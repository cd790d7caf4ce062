"""BibTeX: entries that BibTeX takes, and that print what the result says, whatever it says."""

from __future__ import annotations

import random

import pytest

from jupyter_webresearch.search.answer import SearchResult
from jupyter_webresearch.search.bibtex import bibtex, bibtex_key
from jupyter_webresearch.search.latex import title, verbatim
from tests.search.bib_reader import Entry, people, printed, read

ARTICLE = SearchResult(
    url="https://doi.org/10.1371/journal.pone.0033693",
    title="Exposure of DNA in Mice & men_100%",
    published="2012-03-21",
    kind="paper",
    ids={"doi": "10.1371/journal.pone.0033693", "issn": "1932-6203"},
    authors=("Shankar Sadasivan", "Gabriel García Márquez Jr.", "The Mouse Consortium", "Ludwig van Beethoven"),
    container="PLoS ONE",
    details={
        "type": "journal-article",
        "volume": "7",
        "issue": "3",
        "pages": "12 - 25",
        "publisher": "PLoS",
        "family_names": "Sadasivan; García Márquez; The Mouse Consortium; van Beethoven",
    },
)
PREPRINT = SearchResult(
    url="https://arxiv.org/abs/2202.12139v2",
    title="Testing models",
    published="2022-02-24T15:05:19Z",
    kind="paper",
    ids={"arxiv": "2202.12139v2", "doi": "10.1109/x_y"},
    authors=("Mohit Kumar Ahuja", "Jan de la Cruz", "ATLAS Collaboration", "Plato"),
    container="arXiv",
    details={"type": "preprint", "category": "cs.SE", "journal_ref": "Workshops, 2022"},
    retracted=True,
)


def entry(result: SearchResult, key: str = "") -> Entry:
    (found,) = read(bibtex(result, key))
    return found


def paper(**given: object) -> SearchResult:
    return SearchResult(**{"url": "https://example.org/", "title": "T", "kind": "paper", **given})


def test_an_article() -> None:
    found = entry(ARTICLE)
    assert (found.kind, found.key) == ("article", "Sadasivan2012Exposure")
    assert found.fields == {
        "title": r"Exposure of {DNA} in {Mice} \& men\_100\%",
        "author": "Sadasivan, Shankar and García Márquez, Jr., Gabriel and {The Mouse Consortium}"
        " and van Beethoven, Ludwig",
        "journal": "PLoS ONE",
        "publisher": "PLoS",
        "year": "2012",
        "month": "mar",
        "volume": "7",
        "number": "3",
        "pages": "12--25",
        "issn": "1932-6203",
        "doi": "10.1371/journal.pone.0033693",
        "url": "https://doi.org/10.1371/journal.pone.0033693",
    }


def test_a_preprint() -> None:
    found = entry(PREPRINT)
    assert (found.kind, found.key) == ("misc", "Ahuja2022Testing")
    assert found.fields == {
        "title": "Testing models",
        "author": "Ahuja, Mohit Kumar and de la Cruz, Jan and {ATLAS Collaboration} and {Plato}",
        "year": "2022",
        "month": "feb",
        "doi": "10.1109/x_y",
        "eprint": "2202.12139v2",
        "archiveprefix": "arXiv",
        "primaryclass": "cs.SE",
        "url": "https://arxiv.org/abs/2202.12139v2",
        "note": "Retracted; Published in Workshops, 2022",
    }


def test_an_old_identifier_holds_its_class() -> None:
    fields = entry(paper(ids={"arxiv": "hep-th/9901001v3"}, details={"category": "hep-th"})).fields
    assert fields["eprint"] == "hep-th/9901001v3"
    assert "primaryclass" not in fields


def test_a_page_of_the_web() -> None:
    page = SearchResult(
        url="https://en.wikipedia.org/wiki/C%2B%2B_(a)?x={1}&y=\\z^2#f", title="C++", container="Wikipedia"
    )
    found = entry(page)
    assert (found.kind, found.key) == ("misc", "en")
    assert found.fields == {
        "title": "C++",
        "howpublished": "Wikipedia",
        "url": "https://en.wikipedia.org/wiki/C%2B%2B_(a)?x=%7B1%7D&y=%5Cz%5E2#f",
    }


@pytest.mark.parametrize(
    ("named", "container", "kind", "field"),
    [
        ("journal-article", "Nature", "article", "journal"),
        ("JournalArticle", "Nature", "article", "journal"),
        ("Journal Article", "Nature", "article", "journal"),
        ("Clinical Trial", "Nature", "article", "journal"),
        ("", "Nature", "article", "journal"),
        ("article", "", "misc", "title"),
        ("proceedings-article", "Proc. X", "inproceedings", "booktitle"),
        ("Conference", "Proc. X", "inproceedings", "booktitle"),
        ("book-chapter", "Book", "incollection", "booktitle"),
        ("reference-entry", "Ecology", "incollection", "booktitle"),
        ("monograph", "Series", "book", "series"),
        ("book", "", "book", "publisher"),
        ("dissertation", "", "phdthesis", "school"),
        ("report", "", "techreport", "institution"),
        ("posted-content", "bioRxiv", "misc", "howpublished"),
        ("dataset", "Zenodo", "misc", "howpublished"),
        ("", "", "misc", "title"),
    ],
)
def test_types(named: str, container: str, kind: str, field: str) -> None:
    found = entry(paper(container=container, details={"type": named, "publisher": "P"}))
    assert found.kind == kind
    assert field in found.fields


@pytest.mark.parametrize(
    ("published", "year", "month"),
    [("2024", "2024", None), ("2024-05", "2024", "may"), ("2024-12-01T00:00:00Z", "2024", "dec"), ("", None, None)],
)
def test_dates(published: str, year: str | None, month: str | None) -> None:
    fields = entry(paper(published=published)).fields
    assert (fields.get("year"), fields.get("month")) == (year, month)


@pytest.mark.parametrize(
    ("authors", "published", "name", "key"),
    [
        (("Jörg Müller-Lüdenscheidt",), "2020", "Über die Größe", "MullerLudenscheidt2020Uber"),
        (("Ł. Kowalski",), "2020-05", "On the Origin of Species", "Kowalski2020Origin"),
        (("Søren Ærø",), "", "A", "Aero"),
        (("李明",), "2021", "深度学习 for all", "example2021all"),
        ((), "2021", "$x$", "example2021"),
        (("The Mouse Consortium",), "2021", "Mice", "Consortium2021Mice"),
    ],
)
def test_keys(authors: tuple[str, ...], published: str, name: str, key: str) -> None:
    result = paper(authors=authors, published=published, title=name)
    assert bibtex_key(result).lower() == key.lower()
    assert entry(result).key.isascii()


def test_a_key_may_be_given_and_the_same_is_always_the_same() -> None:
    assert entry(ARTICLE, "Sadasivan2012Exposurea").key == "Sadasivan2012Exposurea"
    assert bibtex(ARTICLE) == bibtex(ARTICLE)
    assert [found.key for found in read(bibtex(ARTICLE) + "\n" + bibtex(PREPRINT))] == [
        "Sadasivan2012Exposure",
        "Ahuja2022Testing",
    ]


def test_family_names_that_belong_to_others_are_not_taken() -> None:
    assert entry(paper(authors=("A. B",), details={"family_names": "X; Y"})).fields["author"] == "B, A."
    assert entry(paper(authors=("A. B",), details={"family_names": "X"})).fields["author"] == "B, A."


@pytest.mark.parametrize(
    "name",
    ["Smith and Sons", "Smith, John", "Barnes and Noble, Inc.", "A} and {B", "\\input{x} Smith", "and", "%", "~"],
)
def test_a_strange_author_is_one_author(name: str) -> None:
    value = entry(paper(authors=(name, "Ada Lovelace"))).fields["author"]
    names = people(value)
    assert len(names) == 2
    assert names[1] == "Lovelace, Ada"
    assert sorted(printed(names[0]).replace(",", "").split()) == sorted(name.replace(",", "").split())


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("Deep learning", "Deep learning"),
        ("DNA in mice", "{DNA} in mice"),
        ("Deep Learning for COVID-19", "Deep {Learning} for {COVID-19}"),
        ("Über Größe und Öl", "Über {Größe} und {Öl}"),
        ("iPhone at AT&T", r"{iPhone} at {AT\&T}"),
        ("for <T> only", r"for {{\textless{}T\textgreater{}}} only"),
        ("a {b", r"a \textbraceleft{}b"),
        (r"On $\mathcal{N}=4$ SYM", r"On {$\mathcal{N}=4$} {SYM}"),
        (r"$SU(2)$ theory", r"{$SU(2)$} theory"),
        ("costs $5 and $6", r"costs \$5 and \$6"),
        (r"bad $\input{/etc/passwd}$", r"bad \$\textbackslash{}input\textbraceleft{}/etc/passwd\textbraceright{}\$"),
        ("", ""),
    ],
)
def test_titles(said: str, written: str) -> None:
    assert title(said) == written


@pytest.mark.parametrize(
    "mathematics",
    [
        r"\input{x}",
        r"\write18{rm x}",
        r"^^5cinput{x}",
        r"x^^5cinput",
        r"\csname input\endcsname x",
        r"\def\a{\a}\a",
        r"a}b{",
        r"{a",
        r"a%b",
        r"a&b",
        r"a#1",
        r"a~b",
        r"\alphainput",
        "a\\",
        r"\\",
        r"\@x",
        "α",
    ],
)
def test_mathematics_that_could_do_something_is_printed_as_text(mathematics: str) -> None:
    said = f"On ${mathematics}$ x"
    assert printed(title(said)) == said


def test_any_text_is_printed_as_it_is() -> None:
    chance = random.Random(20260101)
    letters = "aB {}\\$&#^_%~<>|\"'@=,éß漢-–."
    for _ in range(2000):
        said = "".join(chance.choices(letters, k=chance.randint(1, 40)))
        one_line = " ".join(said.split())
        fields = entry(
            paper(title=said, container=said, authors=("Ada Lovelace", said), details={"pages": said})
        ).fields
        if "$" not in said:
            assert printed(fields.get("title", "")) == said
            assert " ".join(printed(fields.get("journal", "")).split()) == one_line
        for name in ("journal", "pages", "author"):
            printed(fields.get(name, ""))


def test_identifiers_stay_as_they_are_but_for_what_ends_a_field() -> None:
    assert verbatim("10.1002/(SICI)1097_x<1::AID>3.0.CO;2-O%20#") == "10.1002/(SICI)1097_x<1::AID>3.0.CO;2-O%20#"
    assert verbatim('{}\\^" ') == "%7B%7D%5C%5E%22%20"
