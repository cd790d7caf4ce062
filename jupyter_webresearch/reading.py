"""Which part of a long text one answer shows.

A text is read on by character offsets into one stored body, so that parts neither overlap nor leave gaps, and nothing
is downloaded twice.
"""

from __future__ import annotations

from jupyter_webresearch.errors import BadInput
from jupyter_webresearch.models import Window

__all__ = ["MAX_BYTES", "MAX_CHARS", "MIN_BYTES", "check_window", "window"]

MAX_CHARS = 40_000
"""Most characters of one answer."""

MAX_BYTES = 128 * 1024
"""Most UTF-8 bytes of one answer, whatever is asked."""

MIN_BYTES = 4
"""Fewest UTF-8 bytes that may be asked for: one character, so that every answer makes progress."""


def check_window(offset: int, max_bytes: int | None) -> None:
    """Refuse what :func:`window` would refuse of any text, before there is one.

    Parameters
    ----------
    offset
        Characters from the start of the text.
    max_bytes
        UTF-8 bytes; None is the default.

    Raises
    ------
    BadInput
        ``bad_offset`` or ``bad_request``.
    """
    if max_bytes is not None and max_bytes < MIN_BYTES:
        raise BadInput("bad_request", f"max_bytes must be at least {MIN_BYTES}, not {max_bytes}")
    if offset < 0:
        raise BadInput("bad_offset", f"offset {offset} is negative")


def window(text: str, offset: int, max_bytes: int) -> tuple[str, Window]:
    """Cut the part of a text that an answer shows.

    Parameters
    ----------
    text
        The whole text.
    offset
        Character at which to begin.
    max_bytes
        Most UTF-8 bytes to show; more than :data:`MAX_BYTES` is lowered to it, and the window says so.

    Returns
    -------
    tuple
        The part, and the :class:`~jupyter_webresearch.models.Window` that says where it lies. It ends at a character
        and, if a block ends in its last tenth, behind that block.

    Raises
    ------
    BadInput
        ``bad_offset`` when the offset is negative or not inside the text; ``bad_request`` when ``max_bytes`` is too
        small to show one character.
    """
    check_window(offset, max_bytes)
    if offset and offset >= len(text):
        raise BadInput("bad_offset", f"offset {offset} is not inside the text, which has {len(text)} characters")
    note = ""
    if max_bytes > MAX_BYTES:
        note = f"max_bytes {max_bytes} was lowered to {MAX_BYTES}"
        max_bytes = MAX_BYTES
    part = _fitting(text[offset : offset + MAX_CHARS], max_bytes)
    if offset + len(part) < len(text):
        part = part[: _block_end(part)]
    end = offset + len(part)
    return part, Window(
        offset=offset,
        end=end,
        total=len(text),
        shown_bytes=len(text[:end].encode()),
        total_bytes=len(text.encode()),
        note=note,
    )


def _fitting(text: str, max_bytes: int) -> str:
    encoded = text.encode()
    if len(encoded) <= max_bytes:
        return text
    return encoded[:max_bytes].decode(errors="ignore")


def _block_end(part: str) -> int:
    """Return the end of the last block that ends in the last tenth of a part, or the part's own end."""
    tenth = len(part) - len(part) // 10
    blank = part.rfind("\n\n", tenth)
    if blank >= 0:
        return blank + 2
    line = part.rfind("\n", tenth)
    return line + 1 if line >= 0 else len(part)
