"""Structure survives: tables, code, formulas, images, links, lists, notes, headings."""

from __future__ import annotations

import pytest

from jupyter_webresearch.extraction.document import Limits, extract_document
from jupyter_webresearch.models import Table
from jupyter_webresearch.plain import plain_text

WORDS = "<p>" + "Ordinary words of an article that is long enough to be taken for one. " * 6 + "</p>"


def extract(body, stage="article", head=""):
    source = f"<!doctype html><html lang=en><head><title>Title</title>{head}</head><body><article>{WORDS}{body}{WORDS}"
    return extract_document(
        source.encode(), url="https://site.example/a/b", content_type="text/html", stage=stage, limits=Limits()
    )


def between(body, stage="article"):
    """Return the Markdown of a piece of an article, without the words around it."""
    blocks = extract(body, stage).markdown.split("\n\n")
    return "\n\n".join(block for block in blocks if not block.startswith("Ordinary words"))


BOTH = pytest.mark.parametrize("stage", ["article", "page"])


# Tables


@BOTH
def test_a_table_is_a_rectangle_with_spanned_values_repeated(stage):
    body = """<table><caption>Rivers</caption><thead><tr><th rowspan=2>River<th colspan=2>Length</tr><tr><th>km<th>mi
        <tbody><tr><td>Elbe<td>1,094<td>680<tr><td rowspan=2>Oder|Odra<td>866<td>538<tr><td>840<td>522</table>"""
    extraction = extract(body, stage)
    assert extraction.tables == (
        Table(
            ("River", "Length", "Length"),
            (
                ("River", "km", "mi"),
                ("Elbe", "1,094", "680"),
                ("Oder|Odra", "866", "538"),
                ("Oder|Odra", "840", "522"),
            ),
            "Rivers",
        ),
    )
    assert "| Oder\\|Odra | 866 | 538 |" in extraction.markdown
    assert "Oder|Odra\t866\t538" in plain_text(extraction.markdown)


def test_a_cell_as_wide_as_the_table_stands_once():
    body = "<table><tr><th>a<th>b<th>c<tr><td colspan=3>Whole row<tr><td>1<td>2<td>3</table>"
    assert "| Whole row |  |  |" in between(body)


def test_ragged_rows_are_filled_up():
    assert extract("<table><tr><th>a<th>b<th>c<tr><td>1<tr><td>1<td>2</table>").tables[0].rows == (
        ("1", "", ""),
        ("1", "2", ""),
    )


@BOTH
def test_a_table_inside_a_cell_is_text_and_lays_out_what_is_around(stage):
    body = "<table><tr><td><p>Left words of a page.</p><td><table><tr><th>x<th>y<tr><td>1<td>2</table></table>"
    extraction = extract(body, stage)
    assert [table.header for table in extraction.tables] == [("x", "y")]
    assert "Left words of a page." in extraction.markdown


def test_blocks_and_lists_in_cells_are_one_line():
    body = """<table><tr><th>a<th>b<tr><td><p>one</p><p>two</p><td><ul><li>x<li>y</ul>
        <tr><td>p<br>q<td><pre>c\nd</pre></table>"""
    assert extract(body).tables[0].rows == (("one two", "x y"), ("p q", "c d"))


# Code

CODE = "def f(x):\n    return  x < 1 && '`'\n\n\tif y:"
ESCAPED = CODE.replace("&", "&amp;").replace("<", "&lt;")
LINES = ESCAPED.split("\n")
BLOCKS = {
    "plain": f"<pre>{ESCAPED}</pre>",
    "code class": f"<pre><code class='hljs language-python'>{ESCAPED}</code></pre>",
    "pre class": f"<pre class='brush: python'>{ESCAPED}</pre>",
    "data-lang": f"<div class=highlight><pre data-lang=python>{ESCAPED}</pre></div>",
    "GitHub": f"<div class='highlight highlight-source-python'><pre>{ESCAPED}</pre></div>",
    "spans": "<pre class=python><span class=k>" + ESCAPED.replace(" ", "</span> <span>") + "</span></pre>",
    "lines in spans": "<pre class=python>" + "".join(f"<span class=line>{x}\n</span>" for x in LINES) + "</pre>",
    "lines in spans without breaks": "<pre class=python><code>"
    + "".join(f"<span class=line>{x}</span>" for x in LINES)
    + "</code></pre>",
    "lines in blocks": "<pre class=python>" + "".join(f"<div class=cl>{x or '<br>'}</div>" for x in LINES) + "</pre>",
    "line breaks": f"<pre class=python>{'<br>'.join(LINES)}</pre>",
    "numbers in spans": "<pre class=python>"
    + "\n".join(f"<span class=lineno>{i}</span>{x}" for i, x in enumerate(LINES, 1))
    + "</pre>",
    "numbers in a cell": "<table class='highlight python'><tr><td class=gutter><pre>1\n2\n3\n4</pre>"
    f"<td class=code><pre class=python>{ESCAPED}</pre></table>",
    "copy button": f"<div><pre class=python><button>Copy</button><code>{ESCAPED}</code></pre></div>",
    "code around pre": f"<code class=language-python><pre>{ESCAPED}</pre></code>",
    "editor": "<div class='CodeMirror-code language-python'>"
    + "".join(f"<div class=CodeMirror-line>{x or '<br>'}</div>" for x in LINES)
    + "</div>",
}


@BOTH
@pytest.mark.parametrize("name", BLOCKS)
def test_code_is_verbatim(name, stage):
    language = "" if name == "plain" else "python"
    assert between(BLOCKS[name], stage) == f"```{language}\n{CODE}\n```"


@pytest.mark.parametrize("inside", ["```", "````\nx", "~~~", "x ` y"])
def test_a_fence_is_longer_than_any_run_inside(inside):
    markdown = between(f"<pre>{inside}</pre>")
    fence = markdown.split("\n")[0]
    assert fence not in inside
    assert plain_text(markdown) == inside


def test_code_in_text():
    assert between("<p>Call <code>f(`x`)</code> or <kbd>a|b</kbd> now.</p>") == "Call ``f(`x`)`` or `a|b` now."


def test_code_in_lists_and_quotes_survives_both_ways():
    body = (
        f"<ol><li>One<pre>{ESCAPED}</pre></li></ol><blockquote>Two<ul><li>Three<pre>{ESCAPED}</pre></ul></blockquote>"
    )
    assert plain_text(between(body)).count(CODE) == 2


# Formulas

TEX = r"\frac{a}{b}+x^{2}"
MATHML = "<math{0}><mfrac><mi>a</mi><mi>b</mi></mfrac><mo>+</mo><msup><mi>x</mi><mn>2</mn></msup>{1}</math>"
ANNOTATION = f"<annotation encoding='application/x-tex'>{TEX}</annotation>"
FORMULAS = {
    "MathML": MATHML.format("", ""),
    "annotation": MATHML.format("", ANNOTATION),
    "alttext": MATHML.format(f" alttext='{TEX}'", ""),
    "KaTeX": f"<span class=katex><span class=katex-mathml>{MATHML.format('', ANNOTATION)}</span>"
    "<span class=katex-html aria-hidden=true>abx2</span></span>",
    "MathJax script": "<span class=MathJax_Preview>abx2</span><span class=MathJax>abx2</span>"
    f"<script type=math/tex>{TEX}</script>",
    "MathJax 3": "<mjx-container><svg>abx2</svg>"
    f"<mjx-assistive-mml>{MATHML.format('', ANNOTATION)}</mjx-assistive-mml></mjx-container>",
    "MediaWiki": f"<span class=mwe-math-element><span style='display: none'>{MATHML.format('', ANNOTATION)}</span>"
    "<img src=x.svg class=mwe-math-fallback-image-inline alt='abx2'></span>",
    "data-latex": f"<span data-latex='{TEX}'>abx2</span>",
    "image": f"<img class=latex src=x.png alt='{TEX}'>",
}


@BOTH
@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_are_tex(name, stage):
    assert between(f"<p>Given {FORMULAS[name]} here and now.</p>", stage) == f"Given ${TEX}$ here and now."


def test_a_displayed_formula_is_a_block_of_its_own():
    body = f"<p>Given <math display=block>{ANNOTATION}</math> here and now.</p>"
    assert between(body) == f"Given\n\n$$\n{TEX}\n$$\n\nhere and now."


@pytest.mark.parametrize(
    "tex",
    [
        r"\href{javascript:alert(1)}{x}", r"\style{x}{y}", r"\class{x}{y}", r"\require{html}", r"\def\a{b}", r"\url{x}",
        r"\newcommand{\x}{y}", r"\begin{document}x\end{document}", "x $ y", "{x", r"\cssId{x}{y}", r"\data{x}",
        r"\let\x\y", r"\includegraphics{x}", r"\mmlToken{mi}{x}", r"\htmlClass{x}{y}", r"\catcode`x", r"\begin",
        r"\unicode{65}", "x" * 20_000,
    ],
)  # fmt: skip
def test_a_formula_that_could_do_more_than_typeset_is_code(tex):
    markdown = between(f"<p>Given <span data-latex='{tex}'></span> here.</p>")
    assert "`" in markdown
    assert "$" not in markdown.replace(tex.strip(), "")


def test_glyphs_without_a_source_stay_text():
    assert "$" not in between("<p>Given <span class=MathJax><span>a</span><span>b</span></span> here and now.</p>")


def test_prices_are_no_formulas():
    assert between("<p>From $5 to $10 a day.</p>") == "From \\$5 to \\$10 a day."


# Images


@pytest.mark.parametrize(
    ("image", "url"),
    [
        ("<img src=/i.png alt=A>", "https://site.example/i.png"),
        ("<img src='data:image/gif;base64,R0' data-src=i.png alt=A>", "https://site.example/a/i.png"),
        ("<img src=/blank.gif data-lazy-src=//cdn.example/i.png alt=A>", "https://cdn.example/i.png"),
        (
            "<img src=/placeholder.svg data-srcset='s.png 320w, l.png 1200w, m.png 640w' alt=A>",
            "https://site.example/a/l.png",
        ),
        ("<img alt=A srcset='s.png 1x, l.png 2x'>", "https://site.example/a/l.png"),
        ("<picture><source srcset='s.webp 1x, l.webp 2x'><img alt=A></picture>", "https://site.example/a/l.webp"),
        ("<img src='data:x' alt=A><noscript><img src=n.png alt=A></noscript>", "https://site.example/a/n.png"),
    ],
)
def test_images_are_links_to_what_a_reader_would_have_seen(image, url):
    markdown = between(f"<p>Before the picture {image} after the picture.</p>")
    assert markdown == f"Before the picture [image: A]({url}) after the picture."


@pytest.mark.parametrize(
    "image",
    [
        "<img src=t.gif width=1 height=1 alt=x>",
        "<img src='data:image/png;base64,AAAA' alt=x>",
        "<img alt=x>",
        "<img src='javascript:x' alt=x>",
    ],
)
def test_pixels_and_placeholders_are_no_images(image):
    assert "image" not in between(f"<p>Before the picture {image} after the picture.</p>")


def test_a_figure_keeps_its_picture_and_caption():
    body = "<figure><img src=i.png alt=''><figcaption>The caption of the picture.</figcaption></figure>"
    assert between(body, "page") == "[image](https://site.example/a/i.png)\n\nThe caption of the picture."


# Links, lists, notes, headings


def test_a_link_around_blocks_goes_to_its_first_words():
    body = (
        "<p>See also these words:</p><a href=/c><h3>Heading words</h3><p>And a longer text of the linked card.</p></a>"
    )
    assert "### [Heading words](https://site.example/c)" in between(body, "page")


def test_emphasis_is_written_where_it_can_be_read():
    body = """<p>a<b>: b</b>c <b> d </b>e <i><b>f</b></i> <b><b>g</b></b> <b>h</b><b>i</b> <i></i> <del>j</del>k
        <b>l<br>m</b></p>"""
    assert between(body) == "a: bc **d** e ***f*** **g** **hi** ~~j~~k l  \nm"


@BOTH
def test_lists_nest(stage):
    body = """<p>The list of things follows:</p><ol start=3><li>One thing<ul><li>Inner thing<li>Another inner thing</ul>
        <li><p>Two things</p><p>More of two things</p><li>Three things</ol>"""
    assert between(body, stage).split("\n\n", 1)[1] == (
        "3. One thing\n   - Inner thing\n   - Another inner thing\n"
        "4. Two things\n\n   More of two things\n5. Three things"
    )


def test_footnotes():
    body = """<p>A claim of ours<sup><a href="#fn1" id=ref1>1</a></sup>
        and another one<a href="#fn2"><sup>[2]</sup></a>.</p>
        <section class=footnotes><ol><li id=fn1><p>The first note's text. <a href="#ref1">↩</a></p>
        <li id=fn2>The second note's text. <a href="#ref2">^</a></ol></section>"""
    markdown = extract(body).markdown
    assert "A claim of ours[^1] and another one[^2]." in markdown
    assert markdown.endswith("[^1]: The first note's text.\n\n[^2]: The second note's text.")


def test_headings_keep_their_level_and_lose_their_permalinks():
    body = """<h2>Two <a class=headerlink href='#two'>¶</a></h2><p>Words below the heading.</p>
        <h4><a href='#x'></a>Four</h4><p>And words below that.</p>"""
    assert between(body).startswith("## Two\n\nWords below the heading.\n\n#### Four")


def test_the_title_is_not_repeated():
    extraction = extract("", head="")
    assert extraction.title == "Title"
    source = f"<title>The long title of it - Site</title><article><h1>The long title of it</h1>{WORDS}</article>"
    extraction = extract_document(source.encode(), url="https://e.example/", content_type="text/html", limits=Limits())
    assert extraction.title == "The long title of it"
    assert not extraction.markdown.startswith("#")


def test_a_title_alone_is_still_text():
    source = b"<title>Only this</title><h1>Only this</h1>"
    extraction = extract_document(source, url="https://e.example/", content_type="text/html", limits=Limits())
    assert extraction.markdown == "# Only this"


# What is chosen


def test_the_article_without_the_page_around_it():
    source = f"""<nav><a href=/>Home</a><a href=/x>Contact us</a></nav>
        <div class=sidebar><a href=/y>Related thing</a></div><main><article><h2>Section</h2>
        {WORDS}<p>The last paragraph of the article, with some more words.</p></article></main>
        <footer>Copyright and legal notice</footer>"""
    extraction = extract_document(source.encode(), url="https://e.example/", content_type="text/html", limits=Limits())
    assert extraction.extractor == "article"
    assert extraction.markdown.startswith("## Section")
    assert "Contact" not in extraction.markdown
    assert "legal" not in extraction.markdown
    assert 0.5 < extraction.kept_share < 1


def test_no_article_is_the_whole_page():
    source = "<nav>Home</nav><ul>" + "".join(f"<li><a href=/{i}>Item {i}</a>" for i in range(5)) + "</ul>"
    extraction = extract_document(source.encode(), url="https://e.example/", content_type="text/html", limits=Limits())
    assert [link.text for link in extraction.links] == [f"Item {i}" for i in range(5)]


HIDDEN = {
    "display": "<p style='color:red; DISPLAY : NONE'>secret words</p>",
    "visibility": "<p style='visibility:hidden'>secret words</p>",
    "attribute": "<p hidden>secret words</p>",
    "opacity": "<p style='opacity:0'>secret words</p>",
    "size": "<p style='font-size:0px'>secret words</p>",
    "off the screen": "<p style='position:absolute;left:-9999px'>secret words</p>",
    "clipped": "<p style='clip: rect(0 0 0 0)'>secret words</p>",
    "template": "<template><p>secret words</p></template>",
    "comment": "<!-- secret words -->",
    "dialog": "<dialog>secret words</dialog>",
    "nested": "<div hidden><p hidden>secret words</p></div>",
}


@BOTH
@pytest.mark.parametrize("name", HIDDEN)
def test_hidden_text_is_removed_and_counted(name, stage):
    extraction = extract(HIDDEN[name], stage)
    assert "secret" not in extraction.markdown
    assert extraction.hidden == 1


def test_what_a_script_would_reveal_is_read():
    source = f"<body style='display:none'><div hidden><article>{WORDS}</article></div>"
    extraction = extract_document(source.encode(), url="https://e.example/", content_type="text/html", limits=Limits())
    assert "Ordinary words" in extraction.markdown
    assert extraction.hidden == 0


def test_what_a_reader_can_open_is_read():
    body = """<p>A question of many readers: <a href='#answer'>open the answer</a></p>
        <p id=answer hidden>The words of the answer.</p>"""
    assert "words of the answer" in extract(body, "page").markdown


def test_text_for_readers_without_scripts():
    source = f"<div id=root></div><noscript>{WORDS}</noscript>"
    extraction = extract_document(source.encode(), url="https://e.example/", content_type="text/html", limits=Limits())
    assert "Ordinary words" in extraction.markdown


def test_a_button_that_was_never_closed_does_not_swallow_the_page():
    source = f"<header><button>Menu</header><main><article>{WORDS * 2}</article></main>"
    extraction = extract_document(source.encode(), url="https://e.example/", content_type="text/html", limits=Limits())
    assert "Ordinary words" in extraction.markdown


# Other kinds


@pytest.mark.parametrize(
    ("content_type", "kind"),
    [
        ("text/plain", "text"), ("application/json", "json"), ("application/ld+json; charset=utf-8", "json"),
        ("application/rss+xml", "xml"), ("text/csv", "csv"), ("text/markdown", "markdown"), ("text/x-python", "text"),
    ],
)  # fmt: skip
def test_other_kinds_are_as_they_are(content_type, kind):
    source = "<html>\r\n\t{'a': 1} \x1b[31m*x* \u202e é\r"
    extraction = extract_document(source.encode(), url="https://e.example/", content_type=content_type, limits=Limits())
    assert (extraction.kind, extraction.extractor, extraction.hidden) == (kind, "as-is", 1)
    assert extraction.markdown == "<html>\n\t{'a': 1} [31m*x* \u202e é\n"


def test_xhtml_is_a_page_and_raw_is_the_source():
    source = (
        f"<?xml version='1.0' encoding='utf-8'?><html xmlns='http://www.w3.org/1999/xhtml'><body>{WORDS}</body></html>"
    )
    extraction = extract_document(
        source.encode(), url="https://e.example/", content_type="application/xhtml+xml", limits=Limits()
    )
    assert extraction.kind == "html"
    assert extraction.markdown.startswith("Ordinary words")
    raw = extract_document(
        source.encode(), url="https://e.example/", content_type="text/html", stage="raw", limits=Limits()
    )
    assert (raw.kind, raw.markdown) == ("text", source)


@pytest.mark.parametrize("count", [2, 12, 300])
@pytest.mark.parametrize("tag", ["p", "div", "pre"])
def test_what_is_said_again_is_there_again(tag, count):
    verse = "A verse of its own number {} has more than enough words for a paragraph of a song that somebody wrote."
    line = "And the river runs on to the sea, runs on to the sea, as it did in my day."
    body = "".join(f"<p>{verse.format(i)}</p><{tag}>{line}</{tag}>" for i in range(count))
    markdown = extract(f"<nav><a href=/>Home</a></nav><article><h1>Song</h1>{body}</article>").markdown
    assert markdown.count("as it did in my day") == count


def test_what_holds_no_word_stays_between_paragraphs_and_mermaid_is_no_language():
    markdown = extract(
        "<p>%s</p><p>&&&& **</p><p>%s</p><pre><code class=language-mermaid>graph TD</code></pre>"
        % (("Some words of the first paragraph of it. " * 5,) * 2)
    ).markdown
    assert "&&&& \\*\\*" in markdown
    assert "```\ngraph TD\n```" in markdown
