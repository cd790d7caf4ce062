"""Other people's pages, as they are, through the whole way: a site, a server, a kernel of it, and a cell's output."""

from __future__ import annotations

import collections
import gzip
import http.client
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.server.running import Caller, Kernel, ServerProcess, free_port, start_session
from tests.sites import Site

ARTICLES = 8
KANJI = r"[\u3400-\u9fff々]"
# As most servers: no charset, so that the page's own word or the detector decides.
HTML = "text/html"

IMPORTS = """
import json, sys
from jupyter_webresearch.kernel.client import connect
"""
FACTS = """
whole = page.whole()
print(json.dumps({"title": page.title, "markdown": whole.markdown, "text": whole.text, "truncated": whole.truncated,
                  "charset": page.charset.name, "url": page.source.url, "client": type(connect().client).__name__}))
"""


@dataclass
class Read:
    """What a cell printed and showed of one page."""

    name: str
    gold: dict[str, Any]
    facts: dict[str, Any]
    output: dict[str, str]

    @property
    def words(self) -> str:
        return in_words(self.facts["text"])


def in_words(text: str) -> str:
    """Reduce a text to its words: gold strings are cut from other tools' output, which differs in marks and spaces."""
    return " ".join(re.findall(r"\w+", text.lower()))


class Notebook:
    """A notebook that is open on a server, and the site that it reads."""

    def __init__(self, kernel: Kernel, site: Site) -> None:
        self.kernel = kernel
        self.site = site

    def cell(self, code: str) -> dict[str, str]:
        """Run a cell; return the bundle that it shows as its result."""
        shown: dict[str, str] = {}

        def keep(message: dict[str, Any]) -> None:
            if message["msg_type"] == "execute_result":
                shown.update(message["content"]["data"])

        reply = self.kernel.client.execute_interactive(code, timeout=60, output_hook=keep)
        content = reply["content"]
        assert content["status"] == "ok", content.get("evalue")
        return shown

    def read(self, path: str, name: str, gold: dict[str, Any]) -> Read:
        """Read a page as a person does: assign it, then look at it."""
        url = self.site.url(path)
        output = self.cell(f"page = %webfetch {url}\npage")
        facts = json.loads(self.kernel.run(FACTS))
        assert facts["url"] == url
        return Read(name, gold, facts, output)


@pytest.fixture(scope="module")
def notebook(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    """A kernel of a server whose operator lets it read the site on loopback."""
    port = free_port()
    with Site() as site:
        arguments = (
            f"--port={port}",
            "--IdentityProvider.token=t",
            "--WebPolicy.allow_private_networks=['127.0.0.0/8']",
            f"--WebPolicy.allowed_ports=[{site.port}]",
        )
        with ServerProcess(tmp_path_factory.mktemp("jupyter"), *arguments) as server:
            connect = lambda: http.client.HTTPConnection("127.0.0.1", port, timeout=60)  # noqa: E731
            call = Caller(connect, "/", {"Authorization": "token t"})
            server.wait_for(call.connect)
            kernel = start_session(call, server.folders.runtime, "pages.ipynb")
            try:
                kernel.run("%load_ext jupyter_webresearch")
                kernel.run(IMPORTS)
                yield Notebook(kernel, site)
            finally:
                kernel.close()


@pytest.fixture(scope="module")
def encoded(notebook: Notebook, data_folder: Path) -> list[Read]:
    """Pages in charsets of their own."""
    folder = data_folder / "encodings"
    notebook.site.serve_folder("/encodings", folder)
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    return [notebook.read(f"/encodings/{quote(name)}", name, gold) for name, gold in manifest.items()]


@pytest.fixture(scope="module")
def articles(notebook: Notebook, data_folder: Path) -> list[Read]:
    """Articles of news sites."""
    folder = data_folder / "aeb"
    truth = json.loads((folder / "ground-truth.json").read_text("utf-8"))
    names = sorted(truth)[:: len(truth) // ARTICLES][:ARTICLES]
    for name in names:
        notebook.site.serve(f"/aeb/{name}", gzip.decompress((folder / "html" / f"{name}.html.gz").read_bytes()), HTML)
    return [notebook.read(f"/aeb/{name}", name, truth[name]) for name in names]


@pytest.fixture(scope="module")
def kinds(notebook: Notebook, data_folder: Path) -> dict[str, Read]:
    """The first page of each kind: article, forum, product and so on."""
    folder = data_folder / "wcxb" / "dev"
    read: dict[str, Read] = {}
    for file in sorted((folder / "ground-truth").glob("*.json")):
        known = json.loads(file.read_text("utf-8"))
        kind = known["_internal"]["page_type"]["primary"]
        if kind not in read:
            body = gzip.decompress((folder / "html" / f"{file.stem}.html.gz").read_bytes())
            notebook.site.serve(f"/wcxb/{file.stem}", body, HTML)
            read[kind] = notebook.read(f"/wcxb/{file.stem}", file.stem, known["ground_truth"])
    return read


def shows(read: Read) -> None:
    """A cell shows the page in both forms, with its title, and read it through the server."""
    assert read.facts["client"] == "ServerClient", read.name
    assert read.facts["title"], read.name
    assert not read.facts["truncated"], read.name
    assert set(read.output) == {"text/markdown", "text/plain"}, read.name
    title = in_words(read.facts["title"])
    for form in read.output.values():
        assert title.split()[0] in in_words(form), read.name
        assert len(form) > 200, read.name
    assert "<script" not in read.output["text/markdown"], read.name


def share(read: Read, which: str) -> float:
    """Return how many of a page's gold strings, 0 to 1, stand in its text."""
    strings = [in_words(string) for string in read.gold[which]]
    return sum(string in read.words for string in strings) / len(strings)


def mean(shares: list[float]) -> float:
    return sum(shares) / len(shares)


def holds_with_readings(text: str, string: str) -> bool:
    """Tell whether a Japanese text holds a string, which may have the readings of its kanji in between."""
    pattern = "".join(
        re.escape(letter) + (r"[ぁ-ゖ]*?" if re.match(KANJI, letter) else "") for letter in in_words(string)
    )
    return re.search(pattern, in_words(text)) is not None


def test_pages_in_charsets_of_their_own(encoded: list[Read]) -> None:
    assert len(encoded) == 10
    for read in encoded:
        shows(read)
        assert read.facts["charset"] == read.gold["encoding"], read.name
        assert "\ufffd" not in read.facts["markdown"], read.name
        if read.gold["lang"] == "ja":
            assert all(holds_with_readings(read.facts["text"], string) for string in read.gold["with"]), read.name
        else:
            assert share(read, "with") > 0.6, read.name
    others = [read for read in encoded if read.gold["lang"] != "ja"]
    assert mean([share(read, "with") for read in others]) > 0.9
    assert mean([share(read, "without") for read in encoded]) < 0.25


def test_articles_of_news_sites(articles: list[Read]) -> None:
    recalls, precisions = [], []
    for read in articles:
        shows(read)
        wanted = collections.Counter(in_words(read.gold["articleBody"]).split())
        had = collections.Counter(read.words.split())
        common = sum((wanted & had).values())
        recalls.append(common / sum(wanted.values()))
        precisions.append(common / sum(had.values()))
        assert min(recalls[-1], precisions[-1]) > 0.6, read.name
    assert mean(recalls) > 0.95
    assert mean(precisions) > 0.9


def test_pages_of_every_kind(kinds: dict[str, Read]) -> None:
    assert set(kinds) == {"article", "collection", "documentation", "forum", "listing", "product", "service"}
    for read in kinds.values():
        shows(read)
        title, known = (set(in_words(text).split()) for text in (read.facts["title"], read.gold["title"]))
        assert len(title & known) >= len(known) / 2, read.name
        assert share(read, "with") > 0.5, read.name
        assert share(read, "without") < 0.5, read.name
    assert mean([share(read, "with") for read in kinds.values()]) > 0.9
    assert mean([share(read, "without") for read in kinds.values()]) < 0.15


def test_the_kernel_did_none_of_it_itself(notebook: Notebook, articles: list[Read]) -> None:
    own_work = ("httpx", "lxml", "trafilatura", "jupyter_webresearch.engine", "jupyter_webresearch.extraction.document")
    assert articles
    assert notebook.kernel.run(f"print([name for name in {own_work!r} if name in sys.modules])").strip() == "[]"


def test_every_page_was_asked_for_once(
    notebook: Notebook, encoded: list[Read], articles: list[Read], kinds: dict[str, Read]
) -> None:
    robots, *asked = notebook.site.paths()
    assert robots == "/robots.txt", "asked first, and once"
    assert len(asked) == len(set(asked)) == len(encoded) + len(articles) + len(kinds)
