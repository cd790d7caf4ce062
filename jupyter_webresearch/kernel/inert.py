"""The last wall between a page's text and the notebook's document.

JupyterLab runs scripts that stand in trusted Markdown output, lets MathJax read whatever looks like a formula, follows
``javascript:`` links, and draws fenced code whose language is ``mermaid``. Extraction writes Markdown in which a page's
text can be none of these. This module holds for any text, whoever wrote it and wherever it was cut: what is not plainly
harmless is written as something that is. Nothing is passed through as code: what one parser takes for code another
takes for text.
"""

from __future__ import annotations

import re

from jupyter_webresearch.extraction.escape import escape_block_start, escape_text, link_destination

__all__ = ["CLOSE", "DESTINATION", "OPEN", "entities", "formula", "guard_inline", "language_word", "link", "literal"]

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
    | \[\^([\w-]{1,40})\]:?             # a footnote, or its mark
    | \]:                               # a reference definition
    | \]\(                              # a link's destination
    | (?m:^[ \t>]*[=-](?=[=-]*[ \t]*$)) # a line that would make a heading of the one before
    """,
    re.VERBOSE,
)
# The rest of a link: an absolute URL that nothing can break out of.
DESTINATION = re.compile(r"<?((?:https?://|mailto:)[^\s()<>\"'`\\|]*)>?\)", re.IGNORECASE)
# Macros of MathJax's html, require and bbox packages, and whatever defines others: with them a formula is a link, a
# style or a class.
_MACRO = re.compile(
    r"\\(?:href|url|class|cssId|id|style|data|require|bbox|def|gdef|edef|let|newcommand|renewcommand|providecommand|"
    r"newenvironment|renewenvironment|DeclareMathOperator|unicode|mmlToken|texttip|mathtip|toggle|endtoggle|"
    r"includegraphics|color|colorbox|fcolorbox|input|catcode)(?![A-Za-z])",
    re.IGNORECASE,
)
# Escapes that do not hold in JupyterLab. Its parser (marked) takes the backslashes from brackets in a link's text and
# reads that text again, so that [\[x\](javascript:...)](https://...) holds a script. Two before "(" begin a formula.
_ENTITY = {"\\": "&#92;", "[": "&#91;", "]": "&#93;"}
_SPECIAL = re.compile(r"""[<>&"'`|$\\\[\]*_~!#{}:@^]|(?<=www)\.|^[-+=]|^\d+(?=[.)])""", re.IGNORECASE | re.MULTILINE)
_TELLING = re.compile(r"[<>&`|$\\\[\]!]")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9+#._-]{0,29}")
_DRAWN = frozenset({"mermaid", "math", "geojson", "topojson", "stl", "vega", "vega-lite"})


def language_word(info: str) -> str:
    """Return the language of a fence, or nothing: one plain word that no front end draws instead of showing."""
    match = _WORD.fullmatch(info)
    return info if match and info.lower() not in _DRAWN else ""


def entities(text: str) -> str:
    """Return a text as HTML that is also the same text when it is read as Markdown, in a table or not."""
    return _SPECIAL.sub(lambda match: "".join(f"&#{ord(c)};" for c in match.group()), text)


def literal(text: str) -> str:
    """Return Markdown that shows the characters of a text and nothing else."""
    return guard_inline(escape_block_start(escape_text(text)))


def link(text: str, url: str) -> str:
    """Return a link with a literal text, or the text alone when the URL is not one to click on.

    Parameters
    ----------
    text
        Shown literally.
    url
        Where it leads; only http, https and mailto can be clicked on.
    """
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
        return _code(markdown, match)
    if mark[0] == "$":
        return _formula(markdown, match)
    if mark == "<":
        return "&lt;", end
    if mark == "!":
        return "\\!", end
    if mark == "]:":
        return "&#93;:", end
    if mark == "](":
        destination = DESTINATION.match(markdown, end)
        if destination is None:
            return "&#93;(", end
        # JupyterLab takes formulas out of the source and puts them back, unescaped, where the placeholder has come to
        # stand: two dollar signs in two links would carry the text between them into an attribute.
        return f"]({destination[1].replace('$', '%24')})", destination.end()
    if match[1] is None:
        return f"{mark[:-1]}\\{mark[-1]}", end
    return f"<sup>{match[1]}</sup>", end


def _code(markdown: str, match: re.Match[str]) -> tuple[str, int]:
    ticks, end = match.group(), match.end()
    close = re.compile(rf"(?<!`){ticks}(?!`)").search(markdown, end) if len(ticks) <= 32 else None
    paragraph = markdown.find("\n\n", end)
    if close is None or 0 <= paragraph < close.start():
        return "&#96;" * len(ticks), end
    code = markdown[end : close.start()].replace("\n", " ")
    if _TELLING.search(code) is None:
        return f"{ticks}{code}{ticks}", close.end()
    return f"<code>{entities(code.strip())}</code>", close.end()


def _formula(markdown: str, match: re.Match[str]) -> tuple[str, int]:
    mark = match.group()
    close = markdown.find(mark, match.end())
    written = formula(markdown[match.end() : close], mark) if close > 0 else ""
    return (written, close + len(mark)) if written else ("\\$" * len(mark), match.end())


def formula(tex: str, mark: str) -> str:
    """Return a formula marked for MathJax, or nothing when it is none or is more than one.

    Parameters
    ----------
    tex
        What stands between the marks.
    mark
        ``$`` or ``$$``.
    """
    if not tex.strip() or "\n\n" in tex or "$" in tex or "@@" in tex or "`" in tex or _MACRO.search(tex):
        return ""
    return _FORMULA.format(mark + tex.replace("<", "\\lt ").replace("](", "]{}(").replace("]:", "]{}:") + mark)
