"""Which elements a start tag ends although their end tag was left out."""

from __future__ import annotations

__all__ = [
    "CLOSED_BY_PARSER",
    "CLOSED_BY_US",
    "ENDING",
    "LIST_ITEMS",
    "PASSED_IN_LISTS",
    "PHRASING",
    "TABLE_LIMITS",
    "TABLE_PARTS",
    "TABLE_SCOPE",
]

PHRASING = frozenset({
    "a", "abbr", "acronym", "b", "bdo", "big", "cite", "code", "del", "dfn", "em", "font", "i", "ins", "kbd", "label",
    "mark", "nobr", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var",
})  # fmt: skip
"""Elements inside a line of text, which end with the block that they stand in."""

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_LISTS = ("address", "dir", "menu", "p", "pre")

CLOSED_BY_PARSER: dict[str, frozenset[str]] = {
    name: frozenset(closed)
    for names, closed in (
        (("a",), ("a",)),
        (("fieldset",), ("a", *_HEADINGS, "legend", "p", "pre")),
        (("table",), ("a", *_HEADINGS, "p", "pre")),
        (("td", "th"), ("a", "b", "font", "i", "p", "span", "td", "th", "u")),
        (("dd", "dl"), ("dt", *_LISTS)),
        (("dt",), ("dd", *_LISTS)),
        (("form",), ("dl", "form", "ol", "ul", *_HEADINGS, *_LISTS)),
        (("li",), ("address", "dl", "li", "p", "pre", *_HEADINGS)),
        (("ul",), _LISTS),
        (("center",), ("b", "font", "i", "p")),
        (("p",), ("b", "big", *_HEADINGS, "i", "p", "s", "small", "strike", "tt", "u")),
        (("colgroup",), ("caption", "colgroup", "p")),
        (("tbody",), ("caption", "colgroup", "p", "tbody", "td", "tfoot", "th", "thead", "tr")),
        (("tfoot",), ("caption", "colgroup", "p", "tbody", "td", "th", "thead", "tr")),
        (("thead",), ("caption", "colgroup")),
        (("tr",), ("caption", "colgroup", "p", "td", "th", "tr")),
        (("optgroup", "option"), ("option",)),
        (("address", "menu", "pre"), ("p", "ul")),
        (("blockquote", "caption", "dir", "div", "frameset", "hr", "ol", *_HEADINGS), ("p",)),
    )
    for name in names
}  # fmt: skip
"""By start tag: which of the innermost open elements libxml2 (2.14) ends, one after the other."""

_ROW_GROUPS = ("tbody", "thead", "tfoot")
_RUBY = ("rb", "rt", "rp", "rtc")
_ENDS_P = (
    "address", "article", "aside", "blockquote", "center", "details", "dialog", "dir", "dl", "fieldset", "figcaption",
    "figure", "footer", "form", *_HEADINGS, "header", "hgroup", "hr", "main", "menu", "nav", "ol", "p", "pre",
    "search", "section", "summary", "table", "ul",
)  # fmt: skip

CLOSED_BY_US: dict[str, frozenset[str]] = {
    **dict.fromkeys(_ENDS_P, frozenset({"p"})),
    **dict.fromkeys(_HEADINGS, frozenset({"p", *_HEADINGS})),
    "a": frozenset({"a"}),
    "li": frozenset({"li", "p"}),
    **dict.fromkeys(("dt", "dd"), frozenset({"dt", "dd", "p"})),
    "option": frozenset({"option"}),
    "select": frozenset({"option", "optgroup", "select"}),
    "optgroup": frozenset({"option", "optgroup"}),
    **dict.fromkeys(_RUBY, frozenset(_RUBY)),
    **dict.fromkeys(("td", "th"), frozenset({"td", "th", "p"})),
    "tr": frozenset({"tr", "td", "th", "p"}),
    **dict.fromkeys(_ROW_GROUPS, frozenset({*_ROW_GROUPS, "tr", "td", "th", "p"})),
}
"""By start tag: which open elements it ends by the HTML Standard (13.1.2.4 and 13.2.6.4.7) that libxml2 leaves open."""

ENDING = CLOSED_BY_PARSER.keys() | CLOSED_BY_US.keys()
"""Elements whose start tag ends any other."""

LIST_ITEMS = frozenset({"li", "dt", "dd"})
"""Elements that end their kind over more than phrasing."""

PASSED_IN_LISTS = PHRASING | {"address", "div"}
"""What they reach over."""

TABLE_PARTS = frozenset({"td", "th", "tr", *_ROW_GROUPS})
"""Elements that end their kind over anything inside the same table."""

TABLE_LIMITS = ("table", "template")
"""What they don't reach over."""

TABLE_SCOPE = ("table", "td", "th", "caption", "template")
"""Elements over which no end tag reaches (HTML Standard, "has an element in scope")."""
