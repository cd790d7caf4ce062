"""What a Markdown renderer makes of our text: CommonMark with GFM, raw HTML enabled, and no mercy."""

from __future__ import annotations

from lxml import html
from markdown_it import MarkdownIt

# Everything that our dialect can become, and not one element more.
EXPECTED = frozenset({
    "p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "table", "thead", "tbody",
    "tr", "th", "td", "a", "strong", "em", "s", "br",
})  # fmt: skip
_ATTRIBUTES = {"a": {"href"}, "code": {"class"}, "ol": {"start"}, "th": {"style"}, "td": {"style"}}

_RENDERER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
_RENDERER.validateLink = lambda url: True  # what gets past us must be seen


def render(markdown):
    """Return the root of the rendered document."""
    return html.fragment_fromstring(_RENDERER.render(markdown), create_parent="main")


def visible(markdown):
    """Return the text that a reader sees."""
    return render(markdown).text_content()


def assert_inert(markdown):
    """Fail on any element, attribute or link that a page must not be able to make."""
    for element in render(markdown).iterdescendants():
        assert isinstance(element.tag, str), f"not an element: {element}"
        assert element.tag in EXPECTED, f"<{element.tag}> in {markdown!r}"
        assert set(element.attrib) <= _ATTRIBUTES.get(element.tag, set()), f"{dict(element.attrib)} in {markdown!r}"
        if element.tag == "a":
            assert element.get("href").startswith(("https://", "http://", "mailto:")), element.get("href")
