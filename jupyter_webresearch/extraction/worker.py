"""The worker process: pages in on descriptor 0, extractions out on descriptor 1, until its input ends.

It is started by :mod:`jupyter_webresearch.extraction.process`, warms up, fences itself in, says that it is ready, and
then answers one page after the other. Whatever goes wrong with a page is either an answer or the end of this process.
"""

from __future__ import annotations

import gc
import json
import os
import re
import sys
from collections.abc import Callable
from typing import Any

from jupyter_webresearch.extraction.frames import answer_lines, decode_lines, encode_lines, read_frame, write_frame
from jupyter_webresearch.extraction.sandbox import confine, die_with_parent, end_after
from jupyter_webresearch.models import Extraction

__all__ = ["SAMPLE", "Extract", "main"]

Extract = Callable[..., Extraction]
"""The signature of :func:`jupyter_webresearch.extraction.document.extract_document`."""

# A request is whatever the parent holds in memory already: no need for a limit of its own.
_ANY_LENGTH = 2**33

# Seconds that a stage may overrun before the worker ends itself: longer than any delay of the parent's kill.
_GRACE = 1.0

_WORD = re.compile(r"[^\W_]")

SAMPLE = (
    "<!doctype html><html lang=en><head><meta charset=utf-8><title>Sample</title>"
    "<meta name=author content='A. Writer'><meta property='article:published_time' content='2024-05-06'></head>"
    "<body><nav><a href=/>Home</a></nav><article><h1>Sample</h1>"
    + "<p>Enough words that this paragraph counts as the text of an article, with a <a href=/x>link</a> and "
    "<code>code</code>, <em>stress</em> and a price of $5.</p>"
    * 8
    + "<pre><code class=language-python>print(1)</code></pre><ul><li>one<li>two</ul>"
    "<table><tr><th>a<th>b<tr><td>1<td>2</table></article><footer>Legal</footer></body></html>"
).encode()
"""A page that goes through every part of the extraction, so that nothing is left to import afterwards."""


def main(load: Callable[[], Extract] | None = None) -> None:
    """Run the worker; ``sys.argv[1]`` is the JSON that the pool starts it with.

    Parameters
    ----------
    load
        Returns the function that extracts; for tests of what surrounds it.
    """
    settings = json.loads(sys.argv[1])
    die_with_parent(settings["parent"])
    sys.stdout = sys.stderr
    try:
        extract = (load or _load)()
        _warm_up(extract)
        fences = confine(settings["address_space"], settings["cpu_seconds"])
        _warm_up(extract)
    except Exception as error:
        _send(encode_lines({"failed": "start", "detail": _describe(error)}))
        return
    # Nothing but a walk over all that lives would come of it while a page is read; between pages it is done by hand.
    gc.disable()
    _send(encode_lines({"ready": True, "fences": fences}))
    while (frame := read_frame(lambda size: os.read(0, size), _ANY_LENGTH)) is not None:
        header, body = frame
        _answer(extract, next(decode_lines(header)), bytes(body))
        del frame, header, body
        gc.collect()


def _load() -> Extract:
    from jupyter_webresearch.extraction.document import extract_document, warm_up

    warm_up()
    return extract_document


def _warm_up(extract: Extract) -> None:
    """Have everything imported that a page can need; afterwards no file can be opened any more."""
    from jupyter_webresearch.extraction.limits import Limits

    for stage in ("article", "page", "text", "raw"):
        extract(
            SAMPLE, url="https://example.org/", content_type="text/html", charset_label="", stage=stage, limits=Limits()
        )
    gc.collect()
    gc.freeze()


def _answer(extract: Extract, request: dict[str, Any], body: bytes) -> None:
    from jupyter_webresearch.extraction.limits import Limits, TooLargeForArticle

    end_after(request["seconds"] + _GRACE)
    number = request["id"]
    try:
        extraction = extract(
            body,
            url=request["url"],
            content_type=request["content_type"],
            charset_label=request["charset_label"],
            stage=request["stage"],
            limits=Limits(**request["limits"]),
        )
        empty = extraction.kind == "html" and request["stage"] != "raw" and not _WORD.search(extraction.markdown)
        markdown = extraction.markdown.encode("utf-8", "replace")
        header = encode_lines({"id": number}, *answer_lines(extraction))
        del extraction
        if empty:
            header, markdown = encode_lines({"id": number, "failed": "empty"}), b""
        elif len(header) + len(markdown) > request["max_answer"]:
            header, markdown = encode_lines({"id": number, "failed": "size"}), b""
    except TooLargeForArticle:
        header, markdown = encode_lines({"id": number, "failed": "large"}), b""
    except MemoryError:
        header, markdown = encode_lines({"id": number, "failed": "memory"}), b""
    except Exception as error:
        header, markdown = encode_lines({"id": number, "failed": "error", "detail": _describe(error)}), b""
    _send(header, markdown)
    end_after(None)


def _describe(error: Exception) -> str:
    """Name the error without the text of the page that may be in it."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    where = f" at {frame.tb_frame.f_code.co_name}:{frame.tb_lineno}" if frame is not None else ""
    text = f": {error}" if isinstance(error, ImportError) else ""
    return type(error).__name__ + where + text


def _send(header: bytes, body: bytes = b"") -> None:
    write_frame(lambda part: os.write(1, part), header, body)
