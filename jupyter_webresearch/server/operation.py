"""Running one of the engine's operations for a request, with its phases if the caller asks for them."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import json
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from tornado.iostream import StreamClosedError

from jupyter_webresearch.errors import CODES, Failed, WebResearchError
from jupyter_webresearch.server.base import WebResearchHandler
from jupyter_webresearch.server.json_encoding import encode_in_thread

__all__ = ["NDJSON", "OperationHandler"]

T = TypeVar("T")

PIECE = 1024 * 1024

NDJSON = "application/x-ndjson"
"""One JSON object a line, sent as it happens."""

_NEVER = frozenset({"q=0", "q=0.0", "q=0.00", "q=0.000"})  # RFC 9110 section 12.4.2

Tell = Callable[..., Any]
"""Called by the engine with what :meth:`OperationHandler.run` hands to its ``on_event``.

It returns a :class:`concurrent.futures.Future` that is done when the event has been sent.
"""


class OperationHandler(WebResearchHandler):
    """Base of the routes that run an operation; it ends when the caller hangs up."""

    _running: concurrent.futures.Future[Any] | None = None
    _hung_up = False

    @property
    def wants_stream(self) -> bool:
        """Whether the caller takes NDJSON."""
        accepted = self.request.headers.get("Accept", "").lower().replace(" ", "")
        parts = [part.split(";") for part in accepted.split(",")]
        return any(name == NDJSON and not _NEVER.intersection(parameters) for name, *parameters in parts)

    async def run(
        self, work: Callable[[Tell], Coroutine[Any, Any, T]], on_event: Callable[..., dict[str, Any]] | None = None
    ) -> T:
        """Run work on the engine's loop.

        Parameters
        ----------
        work
            Given a function to tell events with, the coroutine to run there.
        on_event
            Makes the NDJSON line of an event; None sends no events.

        Raises
        ------
        WebResearchError
            ``cancelled`` when it was ended, by the caller's hanging up among others; whatever the work raises.
        """
        loop = asyncio.get_running_loop()
        happened: asyncio.Queue[tuple[tuple[Any, ...], concurrent.futures.Future[None]] | None] = asyncio.Queue()

        def post(event: tuple[tuple[Any, ...], concurrent.futures.Future[None]] | None) -> None:
            """Hand an event, or None at the end, over to the server's loop."""
            with contextlib.suppress(RuntimeError):  # the server's loop has closed
                loop.call_soon_threadsafe(happened.put_nowait, event)

        def tell(*event: Any) -> concurrent.futures.Future[None]:
            """Hand an event over, and tell when it was sent: who makes large ones waits for that."""
            sent: concurrent.futures.Future[None] = concurrent.futures.Future()
            post((event, sent))
            return sent

        engine = await self.engine()
        future = self._running = engine.submit(work(tell))
        future.add_done_callback(lambda _: post(None))
        if self._hung_up:  # while the engine was made
            future.cancel()
        try:
            while (news := await happened.get()) is not None:
                event, sent = news
                if on_event is not None:
                    await self.send_line(on_event(*event))
                    await asyncio.sleep(0)  # neither a full queue nor a socket that takes all lets others have a turn
                if sent.set_running_or_notify_cancel():
                    sent.set_result(None)
            outcome: T = future.result()
        except (concurrent.futures.CancelledError, StreamClosedError):
            raise Failed("cancelled", "the operation was interrupted") from None
        else:
            return outcome
        finally:
            future.cancel()

    def on_connection_close(self) -> None:
        """End what runs for a caller who is gone."""
        super().on_connection_close()
        self._hung_up = True
        if self._running is not None:
            self._running.cancel()

    async def send_line(self, value: dict[str, Any]) -> None:
        """Send one line now, a long one in pieces: each is copied on the loop, and waits until the caller takes it."""
        small = "phase" in value
        line = json.dumps(value).encode() if small else await encode_in_thread(value)
        for start in range(0, len(line), PIECE):
            self.write(line[start : start + PIECE])
            await self.flush()
        self.write(b"\n")
        await self.flush()

    async def stream(self, operation: Callable[[], Awaitable[dict[str, Any]]]) -> None:
        """Answer with NDJSON: the lines that an operation sends, then the one that it returns, or its error."""
        self.set_header("Content-Type", NDJSON)
        self.set_header("X-Accel-Buffering", "no")  # nginx would hold the lines back
        try:
            last = await operation()
        except WebResearchError as error:
            self.tell_operator(error)
            last = {"error": error}
        except StreamClosedError:
            return
        except Exception:
            self.log.exception("Web Research: a fault while answering %s", self.request.path)
            last = {"error": WebResearchError("internal", CODES["internal"].meaning)}
        with contextlib.suppress(StreamClosedError):
            await self.send_line(last)
            await self.finish(set_content_type=NDJSON)

    async def answer(self, work: Callable[[Tell], Coroutine[Any, Any, Any]]) -> None:
        """Run work and answer with what it gives: as JSON, or as NDJSON with the phases before."""

        async def with_phases() -> dict[str, Any]:
            """Send the phases and return the last line."""
            return {"result": await self.run(work, lambda phase: {"phase": phase})}

        if self.wants_stream:
            await self.stream(with_phases)
            return
        try:
            outcome = await self.run(work)
        except WebResearchError as error:
            outcome = error
            self.set_error_status(error)
        await self.send_json(outcome)
