"""Plain text from what providers send: text with some HTML, JATS or MathML in it, of any length, by anybody."""

from __future__ import annotations

import html
import re

from jupyter_webresearch.extraction.sanitise import clean

__all__ = ["plain"]

_SPACES = re.compile(r"\s+")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
# Each pattern looks no further than the next place at which it could begin, so that all of them are linear. An
# attribute needs a value: "if p <a and b> q" is text.
_UNSEEN = re.compile(
    r"""
    <!--(?:(?!<!--|-->).)*-->
    | <(?P<name>script|style|template|(?:\w{1,9}:)?annotation(?:-xml)?)\b[^<>]*>
      (?:(?!<(?P=name)\b|</(?P=name)\b).)*
      </(?P=name)\s*>
    | <(?P<jats>(?:jats:)?tex-math)\b[^<>]*>(?:(?!</?(?P=jats)\b).)*</(?P=jats)\s*>(?=\s*<(?:\w{1,9}:)?math\b)
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_TAG = re.compile(
    r"""
    <!\[CDATA\[ | \]\]>
    | </?(?:(?P<prefix>[A-Za-z][\w.-]{0,15}):)?(?P<name>[A-Za-z][A-Za-z0-9-]{0,31})
      (?:\s+[A-Za-z_:][\w:.-]{0,63}\s*=(?:(?:[^<>"']|"[^"<]*"|'[^'<]*')*|[^<>]*))?
      \s*/?>
    """,
    re.VERBOSE,
)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Names that are tags; List<String> is not. Those within a line part no words.
_INLINE = _names(
    "a abbr acronym b bdi bdo big cite code data del dfn em font hlword i ins kbd label mark nobr q s samp small span"
    " strike strong sub sup time tt u var wbr"
    " bold ext-link inline-formula italic monospace named-content overline roman sans-serif sc scp styled-content"
    " tex-math underline xref"
    " math menclose mfenced mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow ms mspace msqrt"
    " mstyle msub msubsup msup mtext munder munderover none semantics"
)
_BLOCK = _names(
    "address article aside audio blockquote body br button canvas caption center col colgroup dd details dialog div dl"
    " dt embed fieldset figcaption figure footer form frame h1 h2 h3 h4 h5 h6 head header hr html iframe img input"
    " legend li link main map meta nav noscript object ol optgroup option p param picture pre script section select"
    " source style summary svg table tbody td template textarea tfoot th thead title tr track ul video"
    " abstract alternatives def-list disp-formula disp-quote fig mtable mtd mtr sec table-wrap"
)
_PREFIXES = frozenset(("jats", "mml", "m", "xlink", "svg"))


def plain(text: object, limit: int = 1000) -> str:
    """Return one line of plain text: tags out, entities undone, no control or bidirectional character.

    Takes time linear in ``limit`` whatever the text is. What only looks like a tag stays, as in ``a < b`` or
    ``List<String>``: the result is plain text, to be escaped by whoever shows it.

    Parameters
    ----------
    text
        As the provider sent it; what is no text gives none.
    limit
        Most characters of the result, at least 1; one that was cut ends with ``…``.
    """
    if not isinstance(text, str):
        return ""
    head = _seen(text[: 16 * limit + 1000])
    if "<" in head:
        head = _TAG.sub(_space, _UNSEEN.sub(" ", head))
    head = _ENTITY.sub(lambda entity: html.unescape(entity[0]), head)
    line = _SPACES.sub(" ", _seen(head)).strip()
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _seen(text: str) -> str:
    return clean(_SURROGATE.sub("\ufffd", text))[0]


def _space(tag: re.Match[str]) -> str:
    name = tag["name"]
    if name is None:
        return ""
    if (tag["prefix"] or "jats").lower() not in _PREFIXES:
        return tag[0]
    lower = name.lower()
    if lower in _INLINE:
        return ""
    return " " if lower in _BLOCK else tag[0]
