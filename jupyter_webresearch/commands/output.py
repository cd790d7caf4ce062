"""What commands write: UTF-8 whatever the locale, and no text from the web that could command a terminal."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import re
import sys
from collections.abc import Iterator
from typing import Any, TextIO

from jupyter_webresearch.errors import Failed, WebResearchError
from jupyter_webresearch.kernel.started_by import is_in_kernel

__all__ = [
    "PhaseLine",
    "complain",
    "give_up_output",
    "one_line",
    "prepare_streams",
    "remark",
    "telling_warnings",
    "write_json",
    "write_line",
    "write_text",
]

NAME = "jupyter webresearch"
LONGEST = 2000  # characters of a complaint

# Control characters (C0, DEL, C1), line and paragraph separators, marks that reorder text (UAX #9), lone surrogates.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def prepare_streams() -> None:
    """Make standard output and error take any character, whatever the locale says.

    Where a standard stream is closed its descriptor is taken, lest a socket or a worker's pipe get it.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest that is free: this one
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def give_up_output() -> None:
    """Let what is still to be written vanish: Python flushes once more at exit, which must not fail."""
    if sys.stdout is not None:
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _output() -> TextIO:
    if sys.stdout is None:
        raise Failed("internal", "standard output is closed; there is nowhere to write to")
    return sys.stdout


def one_line(text: str) -> str:
    r"""Return text with every character that isn't plainly shown as ``\u....``, line ends included."""
    return _UNPRINTABLE.sub(_escape, text)


def write_line(*columns: str) -> None:
    """Write one line to standard output, its columns between tabs and what is unprintable in them escaped."""
    _output().write("\t".join(map(one_line, columns)) + "\n")


def write_text(text: str) -> None:
    """Write text of several lines: to a terminal without what could command it, to a file or pipe as it is."""
    output = _output()
    if output.isatty():
        text = _UNPRINTABLE.sub(lambda match: match[0] if match[0] in "\n\t" else _escape(match), text)
    output.write(text if text.endswith("\n") else text + "\n")


def write_json(value: Any, *, indent: int | None = None) -> None:
    """Write a value as JSON, unprintable characters as escapes.

    Parameters
    ----------
    value
        What ``json`` can write.
    indent
        Spaces a level; None writes one line.
    """
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    _output().write(_UNPRINTABLE.sub(lambda match: "\n" if match[0] == "\n" else _escape(match), text) + "\n")


def complain(error: WebResearchError) -> None:
    """Write the one line on standard error that says what went wrong; where that can't be written, nothing."""
    if sys.stderr is None:
        return
    setting = f" (setting: {error.setting})" if error.setting and error.setting not in error.message else ""
    message = one_line(" ".join(error.message.split()))
    message = message if len(message) <= LONGEST else f"{message[:LONGEST]} ..."
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{NAME}: {error.code}: {message}{setting}\n")
        sys.stderr.flush()


def remark(text: str) -> None:
    """Write a line on standard error that is neither result nor error; where that can't be written, nothing."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            sys.stderr.write(f"{one_line(text)}\n")
            sys.stderr.flush()


@contextlib.contextmanager
def telling_warnings() -> Iterator[None]:
    """Write what our modules warn of on standard error, named as errors are; without this Python writes it bare."""
    handler, logger = _Teller(logging.WARNING), logging.getLogger("jupyter_webresearch")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


class _Teller(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage().removeprefix("Web Research: ")
        remark(f"{NAME}: warning: {message[:LONGEST]}")


def _is_live_terminal() -> bool:
    is_capable = os.name == "nt" or os.environ.get("TERM", "") not in ("", "dumb")
    return sys.stderr is not None and sys.stderr.isatty() and is_capable and not is_in_kernel()


class PhaseLine:
    """The phase of an operation on a line of a terminal, replaced as it changes and gone at the end.

    Nothing is written without a terminal that can replace it, nor in a notebook's ``!`` cell: there standard error is a
    terminal, but what is written stays in the notebook.

    Parameters
    ----------
    quiet
        Write nothing in any case.
    """

    def __init__(self, quiet: bool = False) -> None:
        self._live = not quiet and _is_live_terminal()
        self._width = 0

    def __enter__(self) -> PhaseLine:
        return self

    def __call__(self, phase: str) -> None:
        """Show a phase."""
        self._replace(f"{phase} ...")

    def __exit__(self, *_exception: object) -> None:
        self._replace("")

    def _replace(self, text: str) -> None:
        if self._live:
            # By blanks, not by an escape sequence, which some terminals don't know.
            sys.stderr.write(f"\r{text.ljust(self._width)}" + ("" if text else "\r"))
            sys.stderr.flush()
            self._width = len(text)


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"
