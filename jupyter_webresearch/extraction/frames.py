"""Frames between the pool and a worker.

A frame is two unsigned 32-bit lengths (big endian), a header and a body. The header is JSON, one value a line; the body
is raw: the page on the way in, the Markdown as UTF-8 on the way out. Nothing is ever pickled: a worker that a page has
taken over can send wrong text, but no code.

An answer's header is many short lines instead of one long value because parsing JSON holds the interpreter's lock for
as long as one value lasts: 16 MB of links in one piece would stall every event loop of the server.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Iterator
from typing import Any

from jupyter_webresearch.models import Charset, Extraction, Link, Table

__all__ = ["FrameError", "answer_lines", "decode_lines", "encode_lines", "read_extraction", "read_frame", "write_frame"]

_LENGTHS = struct.Struct(">II")
_BATCH = 64 * 1024
_KINDS = frozenset({"html", "text", "markdown", "json", "xml", "csv"})


class FrameError(Exception):
    """A frame is too long or does not say what it should."""


def write_frame(write: Callable[[memoryview], int], header: bytes, body: bytes | memoryview) -> None:
    """Write one frame.

    Parameters
    ----------
    write
        Takes bytes and returns how many of them it took, like ``os.write`` on a descriptor.
    header, body
        The two parts, each shorter than 4 GiB.
    """
    for part in (_LENGTHS.pack(len(header), len(body)), header, body):
        rest = memoryview(part)
        while rest:
            rest = rest[write(rest) :]


def read_frame(read: Callable[[int], bytes], limit: int) -> tuple[bytearray, bytearray] | None:
    """Read one frame.

    Parameters
    ----------
    read
        Returns at most that many bytes, and none at the end, like ``os.read`` on a descriptor.
    limit
        Most bytes of header and body together.

    Returns
    -------
    tuple[bytearray, bytearray] or None
        Header and body; None when the stream ended before the frame began.

    Raises
    ------
    FrameError
        When the frame is longer than ``limit``.
    EOFError
        When the stream ends inside the frame.
    """
    prefix = _read_exactly(read, _LENGTHS.size)
    if not prefix:
        return None
    if len(prefix) < _LENGTHS.size:
        raise EOFError("the stream ended inside a frame")
    sizes = _LENGTHS.unpack(prefix)
    if sum(sizes) > limit:
        raise FrameError("a frame is longer than allowed")
    header, body = (_read_exactly(read, size) for size in sizes)
    if (len(header), len(body)) != sizes:
        raise EOFError("the stream ended inside a frame")
    return header, body


def _read_exactly(read: Callable[[int], bytes], size: int) -> bytearray:
    """Return that many bytes, or fewer at the end; memory grows with what came, not with what was announced."""
    buffer = bytearray()
    while len(buffer) < size and (chunk := read(min(size - len(buffer), 1024 * 1024))):
        buffer += chunk
    return buffer


def encode_lines(*values: dict[str, Any]) -> bytes:
    """Return a header of these values, one a line.

    A lone surrogate, which UTF-8 can't hold, becomes a question mark.
    """
    return b"\n".join(
        json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") for value in values
    )


def decode_lines(header: bytes | bytearray) -> Iterator[dict[str, Any]]:
    """Yield the values of a header.

    Raises
    ------
    FrameError
        When a line is not a JSON object.
    """
    start = 0
    while start < len(header):
        end = header.find(b"\n", start)
        end = len(header) if end < 0 else end
        try:
            value = json.loads(header[start:end])
        except (ValueError, RecursionError) as error:
            raise FrameError("a header is not JSON") from error
        if not isinstance(value, dict):
            raise FrameError("a header line is not an object")
        yield value
        start = end + 1


def answer_lines(extraction: Extraction) -> Iterator[dict[str, Any]]:
    """Yield the header of an answer: everything of the extraction but its Markdown, in pieces of bounded size."""
    yield {
        "kind": extraction.kind,
        "title": extraction.title,
        "metadata": extraction.metadata,
        "extractor": extraction.extractor,
        "kept_share": extraction.kept_share,
        "hidden": extraction.hidden,
        "charset": [extraction.charset.name, extraction.charset.origin],
        "limits": list(extraction.limits),
    }
    for links in _batches((x.text, x.url) for x in extraction.links):
        yield {"links": links}
    for table in extraction.tables:
        yield {"table": table.header, "caption": table.caption}
        for rows in _batches(table.rows):
            yield {"rows": rows}


def _batches(rows: Any) -> Iterator[list[tuple[str, ...]]]:
    batch: list[tuple[str, ...]] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += sum(map(len, row)) + 4 * len(row)
        if size > _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def read_extraction(lines: Iterator[dict[str, Any]], body: bytes | bytearray) -> Extraction:
    """Rebuild the extraction from the lines that :func:`answer_lines` yielded and the Markdown.

    Parameters
    ----------
    lines
        The header, line by line.
    body
        The Markdown in UTF-8.

    Raises
    ------
    FrameError
        When anything is not of the type and range that it should be.
    """
    try:
        first = next(lines)
        links: list[Link] = []
        tables: list[tuple[tuple[str, ...], str, list[tuple[str, ...]]]] = []
        for line in lines:
            if "links" in line:
                links.extend(Link(*_strings(pair, 2)) for pair in line["links"])
            elif "table" in line:
                tables.append((_strings(line["table"]), _string(line["caption"]), []))
            else:
                header, _, rows = tables[-1]
                rows.extend(_strings(row, len(header)) for row in line["rows"])
        kind, share, hidden = first["kind"], float(first["kept_share"]), int(first["hidden"])
        if kind not in _KINDS or not (math.isfinite(share) and 0 <= share <= 1) or hidden < 0:
            raise FrameError("an answer is out of range")
        return Extraction(
            kind=kind,
            markdown=str(body, "utf-8"),
            title=_string(first["title"]),
            metadata={_string(k): _string(v) for k, v in first["metadata"].items()},
            links=tuple(links),
            tables=tuple(Table(header, tuple(rows), caption) for header, caption, rows in tables),
            extractor=_string(first["extractor"]),
            kept_share=share,
            hidden=hidden,
            charset=Charset(*_strings(first["charset"], 2)),
            limits=_strings(first["limits"]),
        )
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError, StopIteration) as error:
        raise FrameError("an answer does not say what it should") from error


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a string")
    return value


def _strings(values: Any, count: int | None = None) -> tuple[str, ...]:
    if not isinstance(values, list) or (count is not None and len(values) != count):
        raise TypeError("not a list of that length")
    return tuple(_string(value) for value in values)
