"""The last wall between a page's text and the notebook's document.

JupyterLab runs scripts that stand in trusted Markdown output, lets MathJax read whatever looks like a formula, follows
``javascript:`` links, and draws fenced code whose language is ``mermaid``. Extraction writes Markdown in which a page's
text can be none of these. This module holds for any text, whoever wrote it: what is not plainly harmless is escaped
once more.
"""

from __future__ import annotations

import re

from jupyter_webresearch.extract.escape import escape_text, link_destination

__all__ = ["CLOSE", "OPEN", "guard_inline", "language_word", "link", "literal"]

# MathJax 3 and 2 leave alone what is inside the first class and read formulas only inside the second.
OPEN = '<div class="mathjax_ignore tex2jax_ignore">'
CLOSE = "</div>"
_FORMULA = '<span class="mathjax_process tex2jax_process">{}</span>'

_TOKEN = re.compile(
    r"""
    \\[!-/:-@\[-`{-~]                   # a backslash escape
    | `+                                # a code span begins
    | \$\$? | <                         # a formula, a tag
    | !(?=\[)                           # an image
    | \[\^([\w-]{1,40})\](:?)           # a footnote, or its mark
    | (?m:^[ \t>]*\[(?=[^\]\n]*\]:))    # a reference definition
    | \]\(                              # a link's destination
    """,
    re.VERBOSE,
)
_DESTINATION = re.compile(r"<?((?:https?://|mailto:)[^\s()<>\"'`\\]*)>?\)", re.IGNORECASE)
# Macros of MathJax's html, require and bbox packages, and whatever defines others: with them a formula is a link, a
# style or a class.
_MACRO = re.compile(
    r"\\(?:href|url|class|cssId|id|style|data|require|bbox|def|gdef|edef|let|newcommand|renewcommand|providecommand|"
    r"newenvironment|renewenvironment|DeclareMathOperator|unicode|mmlToken|texttip|mathtip|toggle|endtoggle|"
    r"includegraphics|color|colorbox|fcolorbox|input|catcode)(?![A-Za-z])",
    re.IGNORECASE,
)
# Escapes that do not hold in JupyterLab. Its parser (marked) takes the backslashes from brackets in a link's text and
# reads that text again, so that [\[x\](javascript:...)](https://...) holds a script; and two before a "(" begin a formula.
_ENTITY = {"\\": "&#92;", "[": "&#91;", "]": "&#93;"}
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9+#._-]{0,29}")
_DRAWN = frozenset({"mermaid", "math", "geojson", "topojson", "stl", "vega", "vega-lite"})


def language_word(info: str) -> str:
    """Return the language of a fence, or nothing: one plain word that no front end draws instead of showing."""
    match = _WORD.fullmatch(info)
    return info if match and info.lower() not in _DRAWN else ""


def literal(text: str) -> str:
    """Return Markdown that shows the characters of a text and nothing else."""
    return guard_inline(escape_text(text))


def link(text: str, url: str) -> str:
    """Return a link with a literal text, or the text alone when the URL is not one to click on."""
    written = guard_inline(f"[x]({link_destination(url)})")
    return f"[{literal(text)}{written[2:]}" if written.startswith("[x](") else literal(text)


def guard_inline(markdown: str) -> str:
    """Escape all in a run of text outside of fences that could be more than text, emphasis, code, a link or a formula.

    Formulas are marked for MathJax, footnotes become small numbers (as a definition, ``[^1]: x`` is a link to ``x`` for
    renderers without footnotes), and a backslash of the page becomes an entity, so that none can begin a formula.
    """
    out: list[str] = []
    position = 0
    while match := _TOKEN.search(markdown, position):
        out.append(markdown[position : match.start()])
        written, position = _replaced(markdown, match)
        out.append(written)
    out.append(markdown[position:])
    return "".join(out)


def _replaced(markdown: str, match: re.Match[str]) -> tuple[str, int]:
    """Return what stands for a mark, and where to go on."""
    mark, end = match.group(), match.end()
    if mark[0] == "\\":
        return _ENTITY.get(mark[1], mark), end
    if mark[0] == "`":
        close = re.compile(rf"(?<!`){mark}(?!`)").search(markdown, end)
        paragraph = markdown.find("\n\n", end)
        if close is None or 0 <= paragraph < close.start():
            return "\\`" * len(mark), end
        return markdown[match.start() : close.end()].replace("\n", " "), close.end()
    if mark[0] == "$":
        return _formula(markdown, match)
    if mark == "<":
        return "&lt;", end
    if mark == "!":
        return "\\!", end
    if mark == "](":
        destination = _DESTINATION.match(markdown, end)
        if destination is None:
            return "\\](", end
        # JupyterLab takes formulas out of the source and puts them back, unescaped, where the placeholder has come to
        # stand: two dollar signs in two links would carry the text between them into an attribute.
        return f"]({destination[1].replace('$', '%24')})", destination.end()
    if match[1] is not None:
        return f"<sup>{match[1]}</sup>", end
    return mark[:-1] + "\\[", end  # a reference definition


def _formula(markdown: str, match: re.Match[str]) -> tuple[str, int]:
    mark = match.group()
    close = markdown.find(mark, match.end())
    tex = markdown[match.end() : close]
    harmless = close > 0 and "\n\n" not in tex and "$" not in tex and not _MACRO.search(tex) and "@@" not in tex
    if not tex.strip() or not harmless:
        return "\\$" * len(mark), match.end()
    return _FORMULA.format(f"{mark}{tex}{mark}"), close + len(mark)
