"""JSON in lines, for reading."""

from __future__ import annotations

import json
import re

__all__ = ["indented"]

_LONGEST = 200_000  # characters; what is longer is shown as it came
_GROWTH = 4  # times as long as the source, to which deep nesting may lead and no further
_STEP = "  "
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s"{}\[\],:]+')


def indented(text: str, columns: int) -> str:
    """Return JSON with a line for each value.

    Every token stays as it was written: numbers keep their digits, and a name that stands twice does so here.

    Parameters
    ----------
    text
        What may be JSON.
    columns
        Characters of the longest line that is short enough as it is.

    Returns
    -------
    str
        Empty when the text is in short lines already, is not JSON, or is too long or too deep to be shown so.
    """
    if len(text) > _LONGEST or max(map(len, text.splitlines()), default=0) <= columns:
        return ""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return ""
    out: list[str] = []
    room = _GROWTH * len(text)
    depth = 0
    before = ""
    for token in _TOKEN.findall(text):
        if token in ("}", "]"):
            depth -= 1
        piece = _between(before, token, depth) + token
        room -= len(piece)
        if room < 0:
            return ""
        out.append(piece)
        if token in ("{", "["):
            depth += 1
        before = token
    return "".join(out)


def _between(before: str, token: str, depth: int) -> str:
    """Return the white space between two tokens; ``depth`` is that of the second."""
    if before == ":":
        return " "
    if before in ("{", "[") and token not in ("}", "]"):
        return "\n" + _STEP * depth
    if before == "," or (token in ("}", "]") and before not in ("{", "[")):
        return "\n" + _STEP * depth
    return ""
