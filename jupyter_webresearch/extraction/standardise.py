"""One form for what pages write in many: hidden text and permalinks out, lazy images, code and formulas resolved."""

from __future__ import annotations

import re

from lxml import etree

from jupyter_webresearch.extraction import code, footnotes, images, maths
from jupyter_webresearch.extraction.tree import HEADINGS, PageTree, element_text, finder, remove, tester, text_length

__all__ = ["standardise"]

_HIDDEN_STYLE = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|opacity\s*:\s*0(?:\.0*)?\s*(?:;|!|$)"
    r"|font-size\s*:\s*0(?:\.0*)?(?:px|em|rem|pt|%)?\s*(?:;|!|$)"
    r"|(?:max-)?(?:height|width)\s*:\s*[01](?:px)?\s*;(?=.*overflow\s*:\s*hidden)"
    r"|clip\s*:\s*rect\(\s*[01](?:px)?[\s,]|text-indent\s*:\s*-\d{3,}|(?:left|top)\s*:\s*-\d{4,})",
    re.IGNORECASE,
)
_HIDDEN = finder("//*[@hidden]|//*[@style]|//dialog|//template")
_NEVER_SEEN = finder("//style|//script[not(@type='application/ld+json')]")
_NOSCRIPT = finder("//noscript")
_CONTAINERS = finder("//button|//svg|//canvas|//object|//audio|//video|//map|//select|//datalist")
_HOLDS_BLOCKS = tester(".//p|.//div|.//table|.//ul|.//ol|.//li|.//h1|.//h2|.//h3|.//pre|.//blockquote")
_LOOSE_OPTIONS = finder("//option[not(ancestor::select or ancestor::datalist)]|//optgroup[not(ancestor::select)]")
_LONGEST_LABEL = 300  # characters that a button or a fallback text may have; more is a page inside an unclosed tag
_COMMENTS = finder("//comment()")
_PERMALINK_CLASS = re.compile("anchor|headerlink|permalink")
_PERMALINK_TEXT = frozenset({"link", "permalink", "🔗", "#", "¶", "§", ""})
_EDIT_LINKS = finder("//span[contains(@class,'mw-editsection')]")
_CONTROLS = finder("//*[@aria-controls or @data-target or @data-bs-target]|//a[starts-with(@href,'#')]")
_CONTROL_ATTRIBUTES = ("aria-controls", "data-target", "data-bs-target", "href")
_MOST_OF_THE_PAGE = 0.5


def standardise(page: PageTree) -> None:
    """Bring a tree into the form that selection and rendering read; changes it in place."""
    images.unwrap_noscript(page.root)
    maths.standardise(page)
    for element in _COMMENTS(page.root):
        page.hidden += bool((element.text or "").strip())
        remove(element)
    for element in _NEVER_SEEN(page.root):
        remove(element)
    _remove_hidden(page)
    _settle_noscript(page)
    _open_containers(page)
    code.standardise(page)
    footnotes.standardise(page)
    images.resolve_lazy(page.root)
    for element in _EDIT_LINKS(page.root):
        remove(element)
    for heading in page.body.iter(*HEADINGS):
        for anchor in list(heading.iter("a")):
            if (anchor.get("href") or "").startswith("#") or _PERMALINK_CLASS.search(anchor.get("class") or ""):
                text = element_text(anchor).strip().lower()
                if text in _PERMALINK_TEXT or (len(text) == 1 and not text.isalnum()):
                    remove(anchor)


def _remove_hidden(page: PageTree) -> None:
    """Remove what a style or attribute hides.

    Two things stay: what a visible control opens (tabs, accordions), since readers find it; and what is most of the
    page, since a script reveals it.
    """
    candidates = [element for element in _HIDDEN(page.body) if _is_hidden(element) and element is not page.body]
    if not candidates:
        return
    opened = _opened_by_controls(page)
    total = text_length(page.body)
    hidden = set(candidates)
    for element in candidates:
        if any(parent in hidden for parent in element.iterancestors()):
            continue
        if element.get("id") in opened or (element.get("role") == "tabpanel" and element.get("aria-labelledby")):
            hidden.discard(element)
        elif text_length(element) <= _MOST_OF_THE_PAGE * total:
            remove(element)
            page.hidden += 1
        else:
            hidden.discard(element)


def _opened_by_controls(page: PageTree) -> set[str]:
    return {
        value.lstrip("#")
        for element in _CONTROLS(page.body)
        for value in (element.get(name) for name in _CONTROL_ATTRIBUTES)
        if value
    }


def _settle_noscript(page: PageTree) -> None:
    """Show the text for readers without scripts where it is most of the page, else drop it."""
    for element in _NOSCRIPT(page.root):
        if text_length(element) > _MOST_OF_THE_PAGE * text_length(page.body):
            element.tag = "div"
        else:
            remove(element)


def _open_containers(page: PageTree) -> None:
    """Drop buttons, drawings and players; one that was never closed holds the page and becomes a plain block."""
    for element in _CONTAINERS(page.body):
        long = text_length(element) > _LONGEST_LABEL
        if long and (element.tag == "button" or _HOLDS_BLOCKS(element)):
            element.tag = "div"
        elif element.tag in ("button", "svg"):
            remove(element)
    for element in _LOOSE_OPTIONS(page.body):
        element.tag = "div"


def _is_hidden(element: etree._Element) -> bool:
    if element.tag in ("html", "body"):
        return False
    if element.tag == "template":
        return True
    if element.tag == "dialog":
        return element.get("open") is None
    hidden = element.get("hidden")
    if hidden is not None and hidden != "until-found":
        return True
    return _HIDDEN_STYLE.search(element.get("style") or "") is not None
