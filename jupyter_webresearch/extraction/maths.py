"""Formulas as TeX: from what MathJax, KaTeX, MediaWiki, LaTeXML and MathML leave in a page.

Where only rendered glyphs remain they stay ordinary text: half a formula between dollar signs is worse than none. TeX
is a program, and MathJax knows macros that make links and styles; a formula with a macro outside
:data:`~jupyter_webresearch.extraction.tex.MACROS` is shown as code.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qs, unquote_plus, urlsplit

from lxml import etree

from jupyter_webresearch.extraction.mathml import tex_of_mathml
from jupyter_webresearch.extraction.tex import is_safe, tidy
from jupyter_webresearch.extraction.tree import Formula, PageTree, element_text, finder, remove, tag_of

__all__ = ["standardise"]

_CLASSES = etree.XPath("//@class", smart_strings=False)
_CLASS_HINT = re.compile("katex|MathJax|mwe-math|ltx_|latex|math|tex(?!t)")
_SOURCE_HINT = re.compile(r"latex|codecogs|cht=tx|/tex", re.IGNORECASE)
_DATA = finder("//*[@data-math or @data-latex]")
_SCRIPTS = finder("//script[starts-with(@type,'math/tex') or starts-with(@type,'math/latex')]")
_RENDERED_BY_SCRIPT = finder(
    "//*[contains(@class,'MathJax_Preview') or contains(@class,'MathJax_Display') or contains(@class,'MathJax_SVG') or "
    "contains(@class,'MathJax_CHTML') or @class='MathJax' or starts-with(@class,'MathJax ')]"
)
_WRAPPED = finder(
    "//*[contains(concat(' ',@class,' '),' katex ') or self::mjx-container or self::math-renderer or "
    "contains(concat(' ',@class,' '),' mwe-math-element ') or ((@data-math or @data-latex) and not(self::math))]"
)
_MATH = finder("//*[local-name()='math']")
_FIRST_MATH = finder("(.//*[local-name()='math'])[1]")
_EQUATION_TABLES = finder("//table[contains(@class,'ltx_equation') or contains(@class,'ltx_eqn')]")
_TEX_ATTRIBUTES = ("data-latex", "data-math", "data-tex", "alttext")
_IMAGE_CLASS = re.compile(r"\b(?:latex|math|tex)\b", re.IGNORECASE)
_IMAGE_SOURCE = re.compile(r"latex\.php|codecogs|chart\?cht=tx|/latex", re.IGNORECASE)
_LOOKS_LIKE_TEX = re.compile(r"[\\^_= ]")


def standardise(page: PageTree) -> None:
    """Find formulas and record them in ``page.formulas``; their elements become spans that hold the TeX as text."""
    root = page.root
    if not _may_hold_formulas(root):
        return
    scripts = _SCRIPTS(root)
    for script in scripts:
        _record(page, script, element_text(script), "display" in (script.get("type") or ""))
    if scripts:
        for element in _RENDERED_BY_SCRIPT(root):
            if element.getparent() is not None and page.formulas.keys().isdisjoint(element.iter()):
                remove(element)
    for element in _WRAPPED(root):
        if not _inside_formula(page, element):
            _record(page, element, _tex_of_wrapper(element), _is_display(element))
    for element in _MATH(root):
        if element not in page.formulas and not _inside_formula(page, element):
            equation = any("ltx_eq" in (t.get("class") or "") for t in element.iterancestors("table"))
            _record(page, element, _tex_of(element), _is_display(element) or equation)
    for table in _EQUATION_TABLES(root):
        _merge_equation(page, table)
    for image in list(root.iter("img")):
        tex = _tex_of_image(image)
        if tex:
            _record(page, image, tex, "display" in (image.get("class") or ""))


def _may_hold_formulas(root: etree._Element) -> bool:
    """Rule most pages out at little cost."""
    if next(root.iter("math", "{*}math", "mjx-container", "math-renderer"), None) is not None or _DATA(root):
        return True
    if any((script.get("type") or "").startswith("math/") for script in root.iter("script")):
        return True
    classes = _CLASSES(root)
    if isinstance(classes, list) and _CLASS_HINT.search(" ".join(map(str, classes))):
        return True
    return any(_SOURCE_HINT.search((image.get("src") or "")[:300]) for image in root.iter("img"))


def _inside_formula(page: PageTree, element: etree._Element) -> bool:
    return any(ancestor in page.formulas for ancestor in element.iterancestors())


def _record(page: PageTree, element: etree._Element, tex: str, display: bool) -> None:
    tex = tidy(tex)
    if not tex:
        return
    tail = element.tail
    element.clear()
    element.tag = "span" if is_safe(tex) else "code"
    element.text = tex
    element.tail = tail
    if element.tag == "span":
        page.formulas[element] = Formula(tex, display)


def _tex_of_wrapper(element: etree._Element) -> str:
    for name in ("data-latex", "data-math"):
        if element.get(name):
            return element.get(name) or ""
    math = _FIRST_MATH(element)
    if math:
        return _tex_of(math[0])
    image = element.find(".//img")
    if image is not None and image.get("alt"):
        return image.get("alt") or ""
    text = element_text(element).strip() if element.tag == "math-renderer" else ""
    return text.strip("$") if text.startswith("$") else ""


def _tex_of(math: etree._Element) -> str:
    """Return the TeX that a MathML element carries, or a translation of it."""
    for element in math.iter():
        name = tag_of(element).rpartition("}")[2].rpartition(":")[2]
        if name == "annotation" and "tex" in (element.get("encoding") or "").lower():
            return element_text(element)
    for name in _TEX_ATTRIBUTES:
        if math.get(name):
            return math.get(name) or ""
    return tex_of_mathml(math)


def _is_display(element: etree._Element) -> bool:
    for node in (element, *_FIRST_MATH(element)):
        if node.get("display") in ("block", "true") or "display" in (node.get("mode") or ""):
            return True
    image = element.find(".//img")
    if image is not None and "image-display" in (image.get("class") or ""):
        return True
    parent = element.getparent()
    return any("katex-display" in (n.get("class") or "") for n in (element, parent) if n is not None)


def _merge_equation(page: PageTree, table: etree._Element) -> None:
    """Make one display formula of each row of a LaTeXML equation table."""
    for row in list(table.iter("tr")):
        cells = [element for element in row.iter("span") if element in page.formulas]
        if cells:
            tex = " ".join(page.formulas[cell].tex for cell in cells)
            page.formulas[cells[0]] = Formula(tidy(tex), True)
            cells[0].text = tex
            for cell in cells[1:]:
                del page.formulas[cell]
                remove(cell)
    for element in [table, *table.iter("tbody", "tr", "td", "th")]:
        element.tag = "span" if element.tag == "td" else "div"


def _tex_of_image(image: etree._Element) -> str:
    source = image.get("src") or ""
    names = f"{image.get('class') or ''} {image.get('id') or ''}"
    if not _IMAGE_SOURCE.search(source[:300]) and not _IMAGE_CLASS.search(names):
        return ""
    tex = (image.get("alt") or "").strip()
    if not tex or (len(tex) > 3 and not _LOOKS_LIKE_TEX.search(tex)):
        try:
            query = urlsplit(source).query
        except ValueError:
            return tex
        fields = parse_qs(query)
        tex = (fields.get("latex") or fields.get("chl") or [""])[0] or tex or unquote_plus(query)
    return tex.strip().strip("$")
