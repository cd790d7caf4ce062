"""Text and URLs as inert Markdown.

A CommonMark renderer with GFM extensions and MathJax must show exactly the characters of the page: no tag, link,
emphasis, fence, rule or formula can be begun by text.
"""

from __future__ import annotations

import re
from urllib.parse import quote

__all__ = ["code_span", "escape_block_start", "escape_text", "fence_for", "link_destination"]

# Anywhere in a line. "_" inside a word is ordinary; "&" only counts where it can begin an entity, or ends the piece of
# text, since what follows is not known. "<" is always an entity: no renderer takes "&lt;" for a tag.
_INLINE = re.compile(
    r"[\\`*\[\]~|$<{}]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w{1,32};|#?\w{0,32}$)|!(?=\[|$)"
    # GFM autolinks: the colon of a scheme, the dot after www, the at sign of an address.
    r"|(?<=http):(?=//)|(?<=https):(?=//)|(?<=ftp):(?=//)|(?<=www)\.|(?<=[\w.+-])@(?=\w)"
    r"|(?<=mailto):|(?<=xmpp):",
    re.IGNORECASE,
)
# At the beginning of a line: quote, heading, list, rule, setext underline, footnote or table row.
_BLOCK = re.compile(r"^([ \t]*)(?:([>#+\-=])|(\d{1,9})([.)])(?=\s|$))", re.MULTILINE)
_SPAN = re.compile(r"`+")
_SAFE_IN_URL = "!#$%&*+,/:;=?@[]~-._"


def escape_text(text: str) -> str:
    """Escape what could be read as inline markup; the text keeps its length in the eyes of the reader."""
    return _INLINE.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    character = match.group()
    if character == "<":
        return "&lt;"
    if character == "&":
        return "&amp;"
    return "\\" + character


def escape_block_start(text: str) -> str:
    """Escape what could begin a block at the start of each line of already escaped text."""
    return _BLOCK.sub(_escaped_start, text)


def _escaped_start(match: re.Match[str]) -> str:
    space, mark, number, dot = match.groups()
    return f"{space}\\{mark}" if mark else f"{space}{number}\\{dot}"


def fence_for(code: str) -> str:
    """Return a fence of backticks longer than any run inside the code, at least three."""
    longest = max((len(run) for run in _SPAN.findall(code)), default=0)
    return "`" * max(3, longest + 1)


def code_span(code: str) -> str:
    """Return a code span of one line that no character inside can end."""
    longest = max((len(run) for run in _SPAN.findall(code)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if code.startswith(("`", " ")) or code.endswith(("`", " ")) else ""
    return f"{ticks}{pad}{code}{pad}{ticks}"


def link_destination(url: str) -> str:
    """Percent-encode what could end a link destination; the URL must be an absolute one already."""
    return quote(url, safe=_SAFE_IN_URL)
