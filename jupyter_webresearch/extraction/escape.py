r"""Text and URLs as inert Markdown.

A CommonMark renderer with GFM extensions and a formula renderer behind it must show exactly the characters of the page:
no tag, link, emphasis, fence, rule or formula can be begun by text. ``<`` and ``\`` are written as entities: JupyterLab
and nbconvert look for ``\\(`` in the source and would take an escaped backslash for the start of a formula.
"""

from __future__ import annotations

import re
from urllib.parse import quote

__all__ = ["code_span", "escape_block_start", "escape_text", "fence_for", "link_destination"]

# What is always escaped, wherever it stands, at the speed of str.replace; the backslash first, since others add one.
_ALWAYS = (("\\", "&#92;"), ("<", "&lt;"), *((mark, "\\" + mark) for mark in "`*[]~|$"))
# "&" counts where it can begin an entity, or ends the piece of text, since what follows is not known.
_AMPERSAND = re.compile(r"&(?=#?\w{1,32};|#?\w{0,32}$)")
# Anywhere in a line, but only between certain neighbours. "_" inside a word is ordinary. Every branch begins with its
# literal character and looks behind only after it: the engine then skips to the next candidate.
_INLINE = re.compile(
    r"_(?<![^\W_]_)|_(?![^\W_])|!$"
    # GFM's extended autolinks: the colon of a scheme, the dot after www, the at sign of an address.
    r"|:(?<![\s\S]:)(?=//)|@(?<![\s\S]@)(?=\w)|:(?<=http:)(?=//)|:(?<=https:)(?=//)|:(?<=ftp:)(?=//)|\.(?<=www\.)"
    r"|@(?<=[\w.+-]@)(?=\w)|:(?<=mailto:)|:(?<=xmpp:)",
    re.IGNORECASE,
)
# At the start of a line: quote, heading, list item, rule, setext underline.
_BLOCK = re.compile(
    r"^([ \t]*)(?:(>|#{1,6}(?=\s|$)|[+\-](?=\s|$)|-(?=[ \t]*-)|=|:(?=-))|(\d{1,9})([.)])(?=\s|$))", re.MULTILINE
)
_TICKS = re.compile(r"`+")
_SAFE_IN_URL = "!#%&*+,/:;=?@[]~-._"
_ENTITY_IN_URL = re.compile(r"&(?=#?\w{1,32};)")


def escape_text(text: str) -> str:
    """Escape what could be read as inline markup."""
    if "&" in text:
        text = _AMPERSAND.sub("&amp;", text)
    for mark, escaped in _ALWAYS:
        text = text.replace(mark, escaped)
    # None of these looks at a neighbour that was just written for another.
    return _INLINE.sub(r"\\\g<0>", text)


def escape_block_start(text: str) -> str:
    """Escape what could begin a block at the start of each line of already escaped text."""
    return _BLOCK.sub(_escaped_start, text)


def _escaped_start(match: re.Match[str]) -> str:
    space, mark, number, dot = match.groups()
    return f"{space}\\{mark}" if mark else f"{space}{number}\\{dot}"


def fence_for(code: str) -> str:
    """Return a fence of backticks longer than any run inside the code, at least three."""
    longest = max((len(run) for run in _TICKS.findall(code)), default=0)
    return "`" * max(3, longest + 1)


def code_span(code: str) -> str:
    """Return a code span that nothing inside can end; ``code`` is one line, not blank."""
    longest = max((len(run) for run in _TICKS.findall(code)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if code.startswith("`") or code.endswith("`") else ""
    return f"{ticks}{pad}{code}{pad}{ticks}"


def link_destination(url: str) -> str:
    """Percent-encode what could end a link destination or begin a formula; the URL is an absolute one already."""
    return quote(url, safe=_SAFE_IN_URL)
