"""What commands write: UTF-8 whatever the locale, and no text from the web that could command a terminal."""

from __future__ import annotations

import io
import json
import re
import sys
from typing import Any

from jupyter_webresearch.errors import WebResearchError

__all__ = ["PhaseLine", "complain", "in_utf8", "one_line", "write_json", "write_line", "write_text"]

NAME = "jupyter webresearch"

# Control characters (C0, DEL, C1), line and paragraph separators, marks that reorder text (UAX #9), lone surrogates.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def in_utf8() -> None:
    """Make standard output and error take any character, whatever the locale says."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def one_line(text: str) -> str:
    r"""Return text with every character that isn't plainly shown as ``\u....``, line ends included."""
    return _UNPRINTABLE.sub(_escape, text)


def write_line(*columns: str) -> None:
    """Write one line to standard output, its columns between tabs and what is unprintable in them escaped."""
    sys.stdout.write("\t".join(map(one_line, columns)) + "\n")


def write_text(text: str) -> None:
    """Write text of several lines: to a terminal without what could command it, to a file or pipe as it is."""
    if sys.stdout.isatty():
        text = _UNPRINTABLE.sub(lambda match: match[0] if match[0] in "\n\t" else _escape(match), text)
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def write_json(value: Any, *, indent: int | None = None) -> None:
    """Write a value as JSON, unprintable characters as escapes."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    sys.stdout.write(_UNPRINTABLE.sub(lambda match: "\n" if match[0] == "\n" else _escape(match), text) + "\n")


def complain(error: WebResearchError) -> None:
    """Write the one line on standard error that says what went wrong."""
    setting = f" (setting {error.setting})" if error.setting and error.setting not in error.message else ""
    sys.stderr.write(f"{NAME}: {error.code}: {one_line(' '.join(error.message.split()))}{setting}\n")


class PhaseLine:
    """The phase of an operation on a line of a terminal, replaced as it changes and gone at the end.

    Without a terminal nothing is written.
    """

    def __enter__(self) -> PhaseLine:
        self._live = sys.stderr.isatty()
        self._width = 0
        return self

    def __call__(self, phase: str) -> None:
        """Show a phase."""
        self._replace(f"{phase} ...")

    def __exit__(self, *_exception: object) -> None:
        self._replace("")

    def _replace(self, text: str) -> None:
        if self._live:
            # By blanks, not by an escape sequence: a notebook's `!` cell is a terminal that knows no more than \r.
            sys.stderr.write(f"\r{text.ljust(self._width)}" + ("" if text else "\r"))
            sys.stderr.flush()
            self._width = len(text)


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"
