"""Work done by this process, where no server of ours knows the kernel."""

from __future__ import annotations

import atexit
import concurrent.futures
import logging
import os
import queue
import secrets
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from jupyter_webresearch.caller import Caller
from jupyter_webresearch.errors import Failed, WebResearchError
from jupyter_webresearch.kernel.cancellation import Cancellation
from jupyter_webresearch.kernel.client import TICK, Client, OnEvent, ignore_event, ignore_phase
from jupyter_webresearch.kernel.own_notebook import OwnNotebook
from jupyter_webresearch.kernel.saving import SaveTarget
from jupyter_webresearch.models import FetchRequest, OnPhase, Verdict
from jupyter_webresearch.page import Page
from jupyter_webresearch.search.question import SearchRequest
from jupyter_webresearch.search.response import SearchResponse
from jupyter_webresearch.surfaces import offered, report_of

if TYPE_CHECKING:
    from jupyter_webresearch.config import Settings
    from jupyter_webresearch.engine import Engine
    from jupyter_webresearch.policy.policy_change import PolicyChange
    from jupyter_webresearch.session import Session

__all__ = ["LocalClient"]

_log = logging.getLogger(__name__)

T = TypeVar("T")

CHUNK = 256 * 1024


class LocalClient(Client):
    """Runs an :class:`~jupyter_webresearch.engine.Engine` in this process, started by the first operation.

    Parameters
    ----------
    settings
        Validated settings.
    engine
        An engine to use instead of a new one; the caller closes it.
    channel
        Who asks: code of a kernel, or the command line.
    shell
        The IPython shell, whose notebook may narrow what is read.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        engine: Engine | None = None,
        channel: Literal["kernel", "cli"] = "kernel",
        shell: Any = None,
    ) -> None:
        self._settings = settings
        self._engine = engine
        self._owns_engine = engine is None
        self._channel: Literal["kernel", "cli"] = channel
        self._notebook = OwnNotebook(shell)
        self._lock = threading.Lock()
        self.session_id = f"local:{os.getpid()}-{secrets.token_hex(8)}"

    @property
    def engine(self) -> Engine:
        """The engine, made on first access."""
        with self._lock:
            if self._engine is None:
                from jupyter_webresearch.config_sources import environment_as_started
                from jupyter_webresearch.engine import Engine
                from jupyter_webresearch.policy.budgets.file import shared_file

                self._engine = Engine(
                    self._settings,
                    budget_file=shared_file(),
                    environ=environment_as_started(),
                )
                _before_exit(self.close)
                for warning in self._engine.warnings():
                    _log.warning("Web Research: %s", warning)
            return self._engine

    def fetch(
        self,
        request: FetchRequest,
        on_phase: OnPhase = ignore_phase,
        *,
        cancellation: Cancellation | None = None,
    ) -> Page:
        """Read one URL; see :meth:`Client.fetch`."""
        engine, caller = self.engine, self._caller()
        try:
            page = self._wait(
                self._heeding(lambda session, tell: engine.fetch(session, request, tell, caller=caller)),
                on_phase,
                cancellation,
            )
        except WebResearchError as error:
            raise self.attach_error(error, request) from error.__cause__
        return self.attach(page, request)

    def fetch_many(
        self,
        requests: Sequence[FetchRequest],
        on_event: OnEvent = ignore_event,
        *,
        cancellation: Cancellation | None = None,
    ) -> list[Page | WebResearchError]:
        """Read many URLs; see :meth:`Client.fetch_many`."""
        engine, caller = self.engine, self._caller()
        outcomes = self._wait(
            self._heeding(lambda session, tell: engine.fetch_many(session, requests, tell, caller=caller)),
            on_event,
            cancellation,
        )
        return [
            self.attach(outcome, request) if isinstance(outcome, Page) else self.attach_error(outcome, request)
            for request, outcome in zip(requests, outcomes, strict=True)
        ]

    def extract(
        self,
        data: bytes,
        *,
        url: str,
        content_type: str | None = None,
        on_phase: OnPhase = ignore_phase,
        cancellation: Cancellation | None = None,
    ) -> Page:
        """Make a Page of bytes; see :meth:`Client.extract`."""
        engine, caller = self.engine, self._caller()
        return self._wait(
            lambda tell: engine.extract(
                data,
                url=url,
                content_type=content_type,
                on_phase=tell,
                session=engine.session(self.session_id),
                caller=caller,
            ),
            on_phase,
            cancellation,
        )

    def check_urls(self, urls: Sequence[str]) -> list[Verdict]:
        """Return verdicts; see :meth:`Client.check_urls`."""
        engine = self.engine

        async def judged(session: Session, _tell: Callable[..., None]) -> list[Verdict]:
            """Judge by what the notebook asks now."""
            return [engine.check_url(url, session.id) for url in urls]

        return self._wait(self._heeding(judged))

    def save(
        self,
        request: FetchRequest,
        folder: str | os.PathLike[str],
        name: str | None = None,
        force: bool = False,
        on_phase: OnPhase = ignore_phase,
        *,
        cancellation: Cancellation | None = None,
    ) -> Page:
        """Stream a body to a file; see :meth:`Client.save`."""
        engine = self.engine
        request = replace(request, save=True)
        with SaveTarget(folder, name, force) as target:
            page = self.fetch(request, on_phase, cancellation=cancellation)
            if page.saved is None:  # an answer that is not kept, e.g. a status that any_status lets through
                return page
            session = engine.session(self.session_id)
            try:
                path = engine.submit(engine.saved(session, page.saved.key)).result()
                saved = target.write(page.saved, _chunks(path))
            finally:
                engine.submit(engine.discard_saved(session, page.saved.key)).result()
        return replace(page, saved=saved)

    def search(
        self,
        request: SearchRequest,
        on_phase: OnPhase = ignore_phase,
        *,
        cancellation: Cancellation | None = None,
    ) -> SearchResponse:
        """Search; see :meth:`Client.search`."""
        engine, caller = self.engine, self._caller()
        response = self._wait(
            self._heeding(lambda session, tell: engine.search(session, request, tell, caller=caller)),
            on_phase,
            cancellation,
        )
        return self.attach_response(response)

    def providers(self) -> list[dict[str, Any]]:
        """Return the search providers; see :meth:`Client.providers`."""
        engine = self.engine
        return self._wait(lambda _: engine.providers())

    def operations(self) -> tuple[str, ...]:
        """Return what is on; see :meth:`Client.operations`. No engine is started for it."""
        from jupyter_webresearch.policy.switch import Switch

        with self._lock:
            engine = self._engine
        return offered((engine or Switch(self._settings.policy)).operations())

    def policy(self) -> dict[str, Any]:
        """Return what bounds this session; see :meth:`Client.policy`."""
        engine = self.engine
        return report_of(self._wait(self._heeding(lambda session, _: engine.policy(session))))

    def change_policy(self, change: PolicyChange) -> dict[str, Any]:
        """Change what this session asks; see :meth:`Client.change_policy`."""
        engine, caller = self.engine, self._caller()
        return report_of(self._wait(self._heeding(lambda session, _: engine.change_policy(session, change, caller))))

    def events(self, **filters: Any) -> list[dict[str, Any]]:
        """Return events of this session's; see :meth:`Client.events`."""
        engine = self.engine
        return self._wait(lambda _: engine.events(session=self.session_id, **filters))

    def close(self) -> None:
        """Close the engine that this client made: operations end, workers exit, stored texts are deleted."""
        if not self.session_id.startswith(f"local:{os.getpid()}-"):
            return  # in a forked child there is no engine's thread to end, and the lock may never be released
        with self._lock:
            engine, self._engine = self._engine, None
        if engine is not None and self._owns_engine:
            engine.close()

    def _caller(self) -> Caller:
        return Caller(self._channel, self._notebook.kernel, self._notebook.name)

    def _heeding(
        self, work: Callable[[Session, Callable[..., None]], Coroutine[Any, Any, T]]
    ) -> Callable[[Callable[..., None]], Coroutine[Any, Any, T]]:
        """Have work done in this process's session, by what its notebook asks now."""
        session, ask = self.engine.session(self.session_id), self._notebook.ask()

        async def heeding(tell: Callable[..., None]) -> T:
            """Put in force what the notebook asks, then work."""
            session.asks.notebook = ask
            return await work(session, tell)

        return heeding

    def _wait(
        self,
        work: Callable[[Callable[..., None]], Coroutine[Any, Any, T]],
        tell: Callable[..., None] = ignore_phase,
        cancellation: Cancellation | None = None,
    ) -> T:
        """Run work on the engine's loop and its phases here, until it ends or is ended."""
        happened: queue.SimpleQueue[tuple[Any, ...] | None] = queue.SimpleQueue()
        future = self.engine.submit(work(lambda *event: happened.put(event)))
        future.add_done_callback(lambda _: happened.put(None))
        try:
            with (cancellation or Cancellation()).stopping_with(future.cancel):
                for event in _events(happened):
                    tell(*event)
                return future.result()
        except concurrent.futures.CancelledError:
            raise Failed("cancelled", "the operation was interrupted") from None
        finally:
            future.cancel()


def _before_exit(function: Callable[[], None]) -> None:
    """Have a function called when the interpreter ends, while threads can still be started.

    What ``atexit`` holds runs only after ``concurrent.futures`` has closed; the engine needs threads to delete files
    and end workers. The executors themselves use the same hook of :mod:`threading`, which has no public name.
    """
    getattr(threading, "_register_atexit", atexit.register)(function)


def _events(happened: queue.SimpleQueue[tuple[Any, ...] | None]) -> Iterator[tuple[Any, ...]]:
    while True:
        try:
            event = happened.get(timeout=TICK)
        except queue.Empty:
            continue
        if event is None:
            return
        yield event


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from iter(lambda: file.read(CHUNK), b"")
