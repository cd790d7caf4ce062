"""One answer's body, decoded as it arrives and never larger in memory than what is kept of it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

import anyio.lowlevel
import anyio.to_thread
import httpx

from jupyter_webresearch.errors import Failed, Refused
from jupyter_webresearch.net.answer import ByteSink, Disposition
from jupyter_webresearch.net.content_type import is_textual
from jupyter_webresearch.net.decoding import ContentDecoder
from jupyter_webresearch.policy.redactor import Redactor

__all__ = ["Body", "BodyReader", "not_written", "too_large"]

SLICE_SECONDS = 0.002
"""How long decoding may hold the event loop before it lets others run."""

MAX_CRUMBS = 20_000
"""Raw pieces of fewer than :data:`CRUMB` bytes on average that are taken; each costs as much as one of 64 KiB."""

CRUMB = 16
"""Bytes; servers that flush each line stay above it."""

SINK_BUFFER = 1024 * 1024
"""Bytes that are gathered before a sink's thread is asked to write them."""

_GZIP_START = b"\x1f\x8b\x08"
# What a transport raises when a connection breaks rather than falls silent.
_BROKEN = frozenset({"bad_response", "tls", "unreachable"})


class Body:
    """What is kept of a body: gathers bytes up to the disposition's limit, in memory or into its sink."""

    def __init__(self, disposition: Disposition) -> None:
        self.size = 0
        self.truncated = False
        self._disposition = disposition
        self._room = disposition.limit
        self._sink: ByteSink | None = disposition.sink
        self._buffer = bytearray()
        self._digest = hashlib.sha256()

    @property
    def data(self) -> bytes:
        """The kept bytes; empty with a sink."""
        return b"" if self._sink is not None else bytes(self._buffer)

    @property
    def sha256(self) -> str:
        """Digest of the kept bytes, hexadecimal."""
        return self._digest.hexdigest()

    async def take(self, piece: bytes) -> bool:
        """Keep a decoded piece; return False once the limit is passed and nothing more is wanted.

        Raises
        ------
        Failed
            ``too_large`` when the body passes a limit at which it may not be cut.
        """
        if len(piece) > self._room:
            if self._disposition.overflow == "error":
                raise too_large(self._disposition)
            piece = piece[: self._room]
            self.truncated = True
        self._room -= len(piece)
        self.size += len(piece)
        self._digest.update(piece)
        self._buffer += piece
        if self._sink is not None and len(self._buffer) >= SINK_BUFFER:
            await self.flush()
        return not self.truncated

    async def flush(self) -> None:
        """Write what is gathered to the sink, if there is one, on a thread.

        Raises
        ------
        Refused
            ``save_refused`` when the disk does not take it.
        """
        if self._sink is None or not self._buffer:
            return
        data = bytes(self._buffer)
        self._buffer.clear()
        try:
            # A disk that hangs must not hold up the deadline: its thread is left behind.
            await anyio.to_thread.run_sync(self._sink.write, data, abandon_on_cancel=True)
        except OSError as error:
            raise not_written(error) from error


def not_written(error: OSError) -> Refused:
    """Return the error for a disk that does not take a body; it names no path."""
    reason = f": {error.strerror}" if error.strerror else ""
    return Refused("save_refused", f"the body can't be written to the temporary folder{reason}")


def too_large(disposition: Disposition) -> Failed:
    """Return the error for a body over a limit at which it may not be cut."""
    message = f"the body is larger than the limit of {disposition.limit:,} bytes and of a kind that can't be cut"
    return Failed("too_large", message, setting=disposition.setting)


class BodyReader:
    """Reads the raw stream of an answer and gives it decoded, piece by piece.

    Parameters
    ----------
    stream
        The raw bytes of the body, as the transport gives them.
    encodings
        Content encodings to undo.
    content_type
        As declared; compressed bytes under a textual type are refused, never read as text.
    redactor
        Takes out what must not come back; nothing else sees the bytes before it.
    """

    def __init__(
        self,
        stream: AsyncIterator[bytes],
        encodings: tuple[str, ...],
        content_type: str,
        redactor: Redactor | None = None,
    ) -> None:
        self._decoder = ContentDecoder(encodings)
        self._textual = is_textual(content_type)
        self._redactor = redactor
        self._pieces = self._redacted(stream)
        self._waiting: list[bytes] = []
        self._raw_pieces = self._raw_bytes = 0
        self._broken: Failed | None = None

    async def prefix(self, size: int) -> bytes:
        """Return the first ``size`` decoded bytes, or fewer when the body ends; :meth:`read` gives them again."""
        while sum(map(len, self._waiting)) < size:
            piece = await anext(self._pieces, None)
            if piece is None:
                break
            self._waiting.append(piece)
        return b"".join(self._waiting)[:size]

    async def read(self, disposition: Disposition) -> Body:
        """Read the body to its end or to the disposition's limit.

        Raises
        ------
        Failed
            ``too_large``, ``bad_encoding``; ``bad_response`` when it ends too early and may not be cut.
        Refused
            ``save_refused`` when the sink fails.
        """
        # What is encoded is smaller than what it decodes to, incompressible data by a thousandth apart.
        self._decoder.allowance = disposition.limit + disposition.limit // 8 + 64 * 1024
        body = Body(disposition)
        wanted = True
        while wanted:
            piece = self._waiting.pop(0) if self._waiting else await anext(self._pieces, None)
            if piece is None:
                break
            wanted = await body.take(piece)
        await body.flush()
        if wanted and (self._broken or not self._decoder.complete()):
            if disposition.overflow == "error" or not body.size:
                raise self._broken or Failed("bad_encoding", "the encoded body ends before its end")
            body.truncated = True
        return body

    async def aclose(self) -> None:
        """Stop reading."""
        await self._pieces.aclose()

    async def _redacted(self, stream: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        async with aclosing(self._decoded(stream)) as pieces:
            async for piece in pieces:
                shown = piece if self._redactor is None else self._redactor.feed(piece)
                if shown:
                    yield shown
        if self._redactor is not None:
            yield self._redactor.flush()

    async def _decoded(self, stream: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        start = b""
        looking = self._textual
        resumed = time.perf_counter()
        while not self._decoder.finished:
            raw = await self._next_raw(stream)
            if raw is None:
                return
            for piece in self._decoder.feed(raw):
                if looking:
                    start += piece
                    if start.startswith(_GZIP_START):
                        raise Failed("bad_encoding", "the body is compressed although its headers do not say so")
                    looking = len(start) < len(_GZIP_START)
                if piece:
                    yield piece
                if time.perf_counter() - resumed > SLICE_SECONDS:
                    await anyio.lowlevel.checkpoint()
                    resumed = time.perf_counter()

    async def _next_raw(self, stream: AsyncIterator[bytes]) -> bytes | None:
        """Return the next raw bytes, or None at the end; a connection that breaks is an end too, remembered as such."""
        if self._raw_pieces > max(MAX_CRUMBS, self._raw_bytes // CRUMB):
            self._broken = Failed("bad_response", "the body comes in crumbs of a few bytes")
            return None
        try:
            raw = await anext(stream, None)
        except httpx.TimeoutException as error:
            raise Failed("timeout", "the site stopped sending") from error
        except httpx.TransportError as error:
            self._broken = Failed("bad_response", "the answer breaks off before its end")
            self._broken.__cause__ = error
        except Failed as error:
            if error.code not in _BROKEN:
                raise
            self._broken = error
        else:
            self._raw_pieces += 1
            self._raw_bytes += len(raw or b"")
            return raw
        return None
