"""A heading of a page as one line of HTML.

Written in Markdown, a heading would get an id of the page's choosing, by which a page can pass for an element of
JupyterLab, and a place in the notebook's table of contents. JupyterLab leaves out headings with the class below.
"""

from __future__ import annotations

import re

from jupyter_webresearch.kernel.inert import DESTINATION, entities, formula

__all__ = ["heading"]

_LONGEST = 1000  # characters; what is longer is no heading, and its rest is plain text

_PIECE = re.compile(
    r"""
    (?<!`)(?P<ticks>`{1,32})(?!`)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)
    | \[(?P<text>(?:\\.|`[^`]*`|[^\[\]\\])*)\]\((?P<to>[^\s()]*\))
    | \$(?P<tex>[^$]+)\$
    | \[\^(?P<note>[\w-]{1,40})\]
    | \\(?P<escaped>[!-/:-@\[-`{-~])
    | (?P<entity>&(?:lt|gt|amp|\#\d{1,7});)
    | (?P<emphasis>\*+|~~)
    """,
    re.VERBOSE,
)


def heading(markdown: str, level: int) -> str:
    """Return ``<h4 ...>...</h4>`` for the text of a heading in our own Markdown, at the level 1 to 6 that is given.

    Parameters
    ----------
    markdown
        The heading's text.
    level
        1 to 6.
    """
    inside = _inline(markdown[:_LONGEST]) + entities(markdown[_LONGEST:])
    if level > 4:  # front ends draw these as small as text
        inside = f"<strong>{inside}</strong>"
    return f'<h{level} class="jp-toc-ignore">{inside}</h{level}>'


def _inline(markdown: str) -> str:
    out: list[str] = []
    position = 0
    for match in _PIECE.finditer(markdown):
        out.append(entities(markdown[position : match.start()]))
        out.append(_piece(match))
        position = match.end()
    out.append(entities(markdown[position:]))
    return "".join(out)


def _piece(match: re.Match[str]) -> str:
    found = match.groupdict()
    if found["code"] is not None:
        return f"<code>{entities(found['code'].strip())}</code>"
    if found["text"] is not None:
        target = DESTINATION.match(found["to"])
        inside = _inline(found["text"])
        return f'<a href="{entities(target[1].replace("$", "%24"))}">{inside}</a>' if target else inside
    if found["tex"] is not None:
        return formula(found["tex"], "$") or entities(match.group())
    if found["note"] is not None:
        return f"<sup>{found['note']}</sup>"
    if found["escaped"] is not None:
        return entities(found["escaped"])
    return found["entity"] or ""  # emphasis is left out: a heading has its own
