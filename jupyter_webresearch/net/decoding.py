"""Content decoders that can't be made to explode.

A server may send 400 bytes that decode to 256 MiB, ten thousand gzip members, or encodings within encodings. Every
decoder here therefore works in steps: one step takes at most :data:`STEP_IN` bytes, gives at most :data:`STEP_OUT`
and is over in well under a millisecond, so that the reader can count, stop, and let the event loop run in between.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import brotli

from jupyter_webresearch.errors import Failed

__all__ = ["ACCEPT_ENCODING", "MAX_ENCODINGS", "MAX_MEMBERS", "STEP_IN", "STEP_OUT", "ContentDecoder", "encodings_of"]

ACCEPT_ENCODING = "gzip, deflate, br"
"""What is asked for: the encodings whose decoders can be bounded."""

MAX_ENCODINGS = 2
"""Encodings of one body, ``identity`` included."""

MAX_MEMBERS = 10_000
"""Members of one gzip stream. BGZF files, the largest honest users, hold one per 64 KiB."""

STEP_IN = 4096
"""Bytes that a decoder takes in one step. Small, because zlib copies what follows each of many tiny gzip members."""

STEP_OUT = 64 * 1024
"""Most bytes that a step gives."""

# Brotli's output buffer grows by 32 KiB and then 64 KiB, and stops growing once it is as large as the limit: a limit
# below its first block (32 KiB less a header) makes one step give that block.
_BROTLI_LIMIT = 30_000

_ALIASES = {"x-gzip": "gzip"}  # RFC 9110, 8.4.1.3
_GZIP_MAGIC = b"\x1f\x8b"


def encodings_of(values: Sequence[str]) -> tuple[str, ...]:
    """Read the Content-Encoding fields of an answer.

    Parameters
    ----------
    values
        The fields' values, in order.

    Returns
    -------
    tuple of str
        ``gzip``, ``deflate`` or ``br``, in the order in which they were applied (RFC 9110, 8.4).

    Raises
    ------
    Failed
        ``bad_encoding`` when there are more than :data:`MAX_ENCODINGS` or one is unknown.
    """
    names = [name.strip().lower() for value in values for name in value.split(",")]
    names = [_ALIASES.get(name, name) for name in names if name]
    if len(names) > MAX_ENCODINGS:
        raise Failed(
            "bad_encoding",
            f"the body is encoded {len(names)} times over; at most {MAX_ENCODINGS} content encodings are undone",
        )
    for name in names:
        if name not in _STAGES and name != "identity":
            raise Failed("bad_encoding", f"the body's content encoding {name[:40]!r} is not one that was asked for")
    return tuple(name for name in names if name != "identity")


class _Stage(Protocol):
    finished: bool

    def feed(self, data: bytes) -> Iterator[bytes]: ...

    def ended(self) -> bool: ...


class _Inflater:
    """One zlib stream, pulled in steps."""

    def __init__(self, wbits: int) -> None:
        self._zlib = zlib.decompressobj(wbits)

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    def feed(self, data: bytes) -> Iterator[bytes]:
        while not self._zlib.eof:
            piece = self._zlib.decompress(data, STEP_OUT)
            data = self._zlib.unconsumed_tail
            yield piece
            # A full piece may have left output behind although all input is consumed.
            if not data and len(piece) < STEP_OUT:
                return

    def rest(self) -> bytes:
        return self._zlib.unused_data


class _Gzip:
    """RFC 1952: one or more members; what follows the last one and is no member is ignored, as browsers do."""

    def __init__(self) -> None:
        self.finished = False
        self._member: _Inflater | None = _Inflater(31)
        self._members = 0
        self._between = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        data = self._between + data
        self._between = b""
        while data and not self.finished:
            if self._member is None:
                if len(data) < len(_GZIP_MAGIC):
                    self._between = data
                    return
                if not data.startswith(_GZIP_MAGIC):
                    self.finished = True
                    return
                self._member = _Inflater(31)
            yield from self._member.feed(data)
            if not self._member.eof:
                return
            data = self._member.rest()
            self._member = None
            self._members += 1
            if self._members > MAX_MEMBERS:
                raise Failed("bad_encoding", f"the gzip body has more than {MAX_MEMBERS:,} members")

    def ended(self) -> bool:
        return self._member is None


class _Deflate:
    """``deflate`` is the zlib format (RFC 9110, 8.4.1.2), but some servers send the bare one (RFC 1951)."""

    def __init__(self) -> None:
        self.finished = False
        self._inflater: _Inflater | None = None
        self._head = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._inflater is None:
            data = self._head + data
            if len(data) < 2:
                self._head = data
                return
            self._inflater = _Inflater(15 if _is_zlib_header(data) else -15)
        yield from self._inflater.feed(data)
        self.finished = self._inflater.eof

    def ended(self) -> bool:
        return self.finished


def _is_zlib_header(data: bytes) -> bool:
    """Tell a zlib header (RFC 1950, 2.2) from the start of a bare deflate stream."""
    return data[0] & 0x0F == 8 and data[0] >> 4 <= 7 and (data[0] << 8 | data[1]) % 31 == 0


class _Brotli:
    """RFC 7932. Bytes after the end of the stream are an error of the decoder's and stay one."""

    def __init__(self) -> None:
        self.finished = False
        self._decompressor = brotli.Decompressor()

    def feed(self, data: bytes) -> Iterator[bytes]:
        piece = self._decompressor.process(data, output_buffer_limit=_BROTLI_LIMIT)
        yield piece
        # Until nothing comes: all input may be consumed while output still waits inside.
        while piece or not self._decompressor.can_accept_more_data():
            piece = self._decompressor.process(b"", output_buffer_limit=_BROTLI_LIMIT)
            yield piece
        self.finished = self._decompressor.is_finished()

    def ended(self) -> bool:
        return self.finished


_STAGES: dict[str, Callable[[], _Stage]] = {"gzip": _Gzip, "deflate": _Deflate, "br": _Brotli}


class ContentDecoder:
    """Undoes up to two content encodings in bounded steps.

    Parameters
    ----------
    encodings
        What :func:`encodings_of` returned.

    Attributes
    ----------
    allowance
        Bytes that each stage may take in. A body that takes more to encode than it decodes to is no page but work for
        its own sake (empty deflate blocks within gzip), so the reader sets this a little above what it will keep.
    """

    def __init__(self, encodings: Sequence[str]) -> None:
        self.allowance = 1024 * 1024
        self._stages: list[_Stage] = [_STAGES[name]() for name in reversed(encodings)]
        self._taken = [0] * len(self._stages)

    @property
    def finished(self) -> bool:
        """Whether the encoded stream has ended, so that nothing more need be read."""
        return bool(self._stages) and any(stage.finished for stage in self._stages)

    def complete(self) -> bool:
        """Return whether the text came to its end, or nothing came at all; False for a body cut on the way."""
        return not any(self._taken) or self._stages[-1].ended()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decode the next raw bytes.

        Yields
        ------
        bytes
            At most :data:`STEP_OUT` bytes a step; empty when a step only took bytes in.

        Raises
        ------
        Failed
            ``bad_encoding`` when the data are damaged or take more than the allowance.
        """
        for start in range(0, len(data), STEP_OUT if not self._stages else STEP_IN):
            if self.finished:
                return
            if not self._stages:
                yield data[start : start + STEP_OUT]
                continue
            try:
                yield from self._through(0, data[start : start + STEP_IN])
            except (zlib.error, brotli.error) as error:
                raise Failed("bad_encoding", "the body's content encoding is damaged and can't be undone") from error

    def _through(self, index: int, data: bytes) -> Iterator[bytes]:
        if index == len(self._stages):
            yield data
            return
        self._taken[index] += len(data)
        if self._taken[index] > self.allowance:
            raise Failed("bad_encoding", "the encoded body is larger than all that could be kept of it decoded")
        for piece in self._stages[index].feed(data):
            if index + 1 == len(self._stages):
                yield piece
                continue
            for start in range(0, len(piece), STEP_IN):
                yield from self._through(index + 1, piece[start : start + STEP_IN])
            if not piece:
                yield b""
