"""The routes below ``webresearch/``; ``openapi.yaml`` describes them for callers."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from jupyter_server.auth.decorator import allow_unauthenticated
from tornado.iostream import StreamClosedError
from tornado.web import HTTPError

from jupyter_webresearch import __version__
from jupyter_webresearch.errors import BadInput, Failed, Refused, WebResearchError
from jupyter_webresearch.kernel.connection import PROTOCOL
from jupyter_webresearch.kernel.proof import SERVER_HEADER
from jupyter_webresearch.page import Page
from jupyter_webresearch.server.base import WebResearchHandler
from jupyter_webresearch.server.operation import OperationHandler
from jupyter_webresearch.server.policy_handlers import (
    JournalHandler,
    OperationsHandler,
    PolicyHandler,
    SwitchHandler,
)
from jupyter_webresearch.server.request_body import read_batch, read_fetch, read_urls
from jupyter_webresearch.server.search_handlers import ProvidersHandler, SearchHandler

__all__ = ["ROUTES"]

CHUNK = 256 * 1024


class HelloHandler(WebResearchHandler):
    """Who is there: the server's answer to a kernel's proof is its own."""

    @allow_unauthenticated  # prepare() has let the caller in; so below
    async def post(self) -> None:
        """Answer with versions, the caller's session, deadlines (seconds), the largest body (bytes) and what is on."""
        if self.kernel is not None:
            self.set_header(SERVER_HEADER, self.kernel.server_proof)
        fetch, search = self.extension.web_settings.fetch, self.extension.web_settings.search
        await self.send_json(
            {
                "protocol": PROTOCOL,
                "version": __version__,
                "session": self.session_id,
                "timeout": fetch.timeout,
                "save_timeout": fetch.save_timeout,
                "search_timeout": max(search.timeout, *search.provider_timeouts.values()),
                "max_body": fetch.max_body,
                "operations": list(self.extension.operations()),
            }
        )


class FetchHandler(OperationHandler):
    """Read one URL."""

    @allow_unauthenticated
    async def post(self) -> None:
        """Answer with the Page."""
        request = await asyncio.to_thread(read_fetch, self.request.body)
        engine, session, caller = await self.operation()
        await self.answer(lambda tell: engine.fetch(session, request, tell, caller=caller))


class BatchHandler(OperationHandler):
    """Read many URLs."""

    @allow_unauthenticated
    async def post(self) -> None:
        """Answer with phases and outcomes as they happen, then ``{"result": "done"}``."""
        requests = await asyncio.to_thread(read_batch, self.request.body)
        engine, session, caller = await self.operation()

        def line(index: int, news: str | Page | WebResearchError) -> dict[str, Any]:
            """Make the line of a phase or an outcome."""
            kind = "phase" if isinstance(news, str) else "result" if isinstance(news, Page) else "error"
            return {"index": index, kind: news}

        async def all_of_them() -> dict[str, Any]:
            """Send phases and outcomes and return the last line."""
            await self.run(
                lambda tell: engine.fetch_many(
                    session,
                    requests,
                    tell,
                    lambda index, outcome: asyncio.wrap_future(tell(index, outcome)),
                    caller=caller,
                ),
                line,
            )
            return {"result": "done"}

        await self.stream(all_of_them)


class ExtractHandler(OperationHandler):
    """Make a Page of the request's body."""

    @property
    def body_limit(self) -> int:
        """As many bytes as are kept of a fetched body, and some: what is more is cut and said so."""
        return self.extension.web_settings.fetch.max_body + 1024 * 1024

    @allow_unauthenticated
    async def post(self) -> None:
        """Answer with the Page.

        Raises
        ------
        BadInput
            ``bad_request`` for a query that is unknown, repeated or without ``url``; what the extraction raises.
        """
        known = {"url", "content_type", "token", "_xsrf", "no_track_activity"}  # the last three are Jupyter's own
        for name, values in self.request.query_arguments.items():
            if name not in known:
                raise BadInput("bad_request", f"{name[:80]!r} is not known here")
            if len(values) > 1:
                raise BadInput("bad_request", f"{name} is given more than once")
        url = self.get_query_argument("url", None)
        if url is None:
            raise BadInput("bad_request", "url is missing")
        content_type = self.get_query_argument("content_type", None)
        engine, session, caller = await self.engine(), await self.session(), await self.caller()
        data = self.request.body
        await self.answer(
            lambda tell: engine.extract(
                data, url=url, content_type=content_type, on_phase=tell, session=session, caller=caller
            )
        )


class CheckURLHandler(WebResearchHandler):
    """The policy's verdict."""

    @allow_unauthenticated
    async def post(self) -> None:
        """Answer with one verdict a URL, in order."""
        urls = await asyncio.to_thread(read_urls, self.request.body)
        engine, session, _ = await self.operation()
        verdicts = await asyncio.to_thread(lambda: [engine.check_url(url, session.id).to_json() for url in urls])
        await self.send_json({"verdicts": verdicts})


class SavedHandler(OperationHandler):
    """A body that was fetched with ``save``, once, for the session that fetched it."""

    @allow_unauthenticated
    async def get(self, key: str) -> None:
        """Answer with the octets; they are deleted here whether or not all of them arrived.

        Raises
        ------
        Failed
            ``not_found`` when this session has no such body.
        Refused
            ``disabled`` when nothing may be fetched any more.
        """
        if "fetch" not in self.extension.operations():
            raise Refused("disabled", "fetch was switched off; the saved body is not handed out")
        engine, session = await self.engine(), await self.session()
        path = await self.run(lambda _: engine.saved(session, key))
        try:
            file = await asyncio.to_thread(path.open, "rb")
        except FileNotFoundError:  # another request took it a moment ago
            raise Failed("not_found", "this session has no saved body of that name") from None
        last = b""
        try:
            with file:
                size = (await asyncio.to_thread(path.stat)).st_size
                self.set_header("Content-Type", "application/octet-stream")
                self.set_header("Content-Disposition", "attachment")
                self.set_header("Content-Length", str(size))
                while chunk := await asyncio.to_thread(file.read, CHUNK):
                    self.write(last)
                    await self.flush()
                    last = chunk
        except StreamClosedError:
            return
        finally:  # before the last octets go out, so that who has them all finds nothing here any more
            await asyncio.wrap_future(engine.submit(engine.discard_saved(session, key)))
        with contextlib.suppress(StreamClosedError):
            await self.finish(last, set_content_type="application/octet-stream")


class UnknownHandler(WebResearchHandler):
    """Whatever else is asked for below our prefix."""

    async def prepare(self) -> None:  # type: ignore[override] # as APIHandler's own
        """Answer that there is nothing, to whom may know."""
        await super().prepare()
        raise HTTPError(404)


ROUTES: list[tuple[str, type[WebResearchHandler]]] = [
    (r"/webresearch/hello", HelloHandler),
    (r"/webresearch/fetch", FetchHandler),
    (r"/webresearch/batch", BatchHandler),
    (r"/webresearch/extract", ExtractHandler),
    (r"/webresearch/check-url", CheckURLHandler),
    (r"/webresearch/search", SearchHandler),
    (r"/webresearch/providers", ProvidersHandler),
    (r"/webresearch/saved/([0-9a-f]{1,64})", SavedHandler),
    (r"/webresearch/operations", OperationsHandler),
    (r"/webresearch/policy", PolicyHandler),
    (r"/webresearch/switch", SwitchHandler),
    (r"/webresearch/journal", JournalHandler),
    (r"/webresearch(?:/.*)?", UnknownHandler),
]
"""Patterns below the base URL, the last one for all the rest."""
