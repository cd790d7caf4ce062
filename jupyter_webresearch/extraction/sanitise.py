"""Characters that a reader can't see but a terminal, a renderer or a model obeys.

Control characters move cursors and colour terminals, bidirectional controls reorder what is read (CVE-2021-42574),
tag characters and zero-width characters carry text that nobody sees. All of them go; how many went is told.
"""

from __future__ import annotations

import re

__all__ = ["clean", "clean_source", "one_line", "words_key"]

_CONTROLS = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
_INVISIBLE_CLASS = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# Zero-width (non-)joiners stay between letters of scripts that are written with them, and between the parts of an
# emoji; variation selectors stay after a character that has such forms (VS15, VS16), not as a run.
_JOINED = "\u0600-\u07ff\u0860-\u0dff\u0f00-\u109f\u1780-\u18af\u2190-\u2bff\ufe0f\U0001f000-\U0001faff"
_JOINERS = f"(?<![{_JOINED}])[\u200c\u200d]|[\u200c\u200d](?![{_JOINED}])"
_SELECTORS = "[\ufe00-\ufe0d]|(?<=[\ufe00-\ufe0f\\s])[\ufe0e\ufe0f]|^[\ufe0e\ufe0f]"
_HIDDEN = re.compile(f"[{_CONTROLS}{_INVISIBLE_CLASS}]|{_JOINERS}|{_SELECTORS}")
_SUSPECT = re.compile(f"[{_CONTROLS}{_INVISIBLE_CLASS}\u200c\u200d\ufe00-\ufe0f]")
_CONTROL = re.compile(f"[{_CONTROLS}]")
_NEWLINES = re.compile(r"\r\n?|[\u2028\u2029\x85]")
_WORDS = re.compile(r"\w+")
_SPACES = re.compile(r"\s+")


def clean(text: str) -> tuple[str, int]:
    r"""Remove control, bidirectional, tag and zero-width characters.

    Returns
    -------
    tuple[str, int]
        The text with ``\n`` as its only line break, and the number of characters removed.
    """
    if "\r" in text or "\u2028" in text or "\u2029" in text or "\x85" in text:
        text = _NEWLINES.sub("\n", text)
    if _SUSPECT.search(text) is None:
        return text, 0
    return _HIDDEN.subn("", text)


def clean_source(text: str) -> tuple[str, int]:
    r"""Remove control characters only: for bodies that are passed on as they are.

    Line ends become one: a lone carriage return lets a terminal overwrite what it has shown.

    Returns
    -------
    tuple[str, int]
        The text with ``\n`` as its only line break, and the number of characters removed.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.subn("", text)


def one_line(text: str, limit: int = 500) -> str:
    """Return a value for a header line: clean, on one line, at most ``limit`` characters.

    Parameters
    ----------
    text
        As the page has it.
    limit
        Characters, at least 1.
    """
    value = _SPACES.sub(" ", clean(text[: 4 * limit])[0]).strip()
    return value if len(value) <= limit else value[: limit - 1].rstrip() + "…"


def words_key(text: str) -> str:
    """Return the words of a text in lower case, for telling whether two texts say the same."""
    return " ".join(_WORDS.findall(text.lower()))
