"""The routes by which callers search, and see who can be asked."""

from __future__ import annotations

import asyncio

from jupyter_server.auth.decorator import allow_unauthenticated

from jupyter_webresearch.errors import Refused
from jupyter_webresearch.server.operation import OperationHandler
from jupyter_webresearch.server.request_body import read_search

__all__ = ["ProvidersHandler", "SearchHandler"]


class SearchHandler(OperationHandler):
    """Search."""

    @allow_unauthenticated  # prepare() has let the caller in; so below
    async def post(self) -> None:
        """Answer with the SearchResponse."""
        request = await asyncio.to_thread(read_search, self.request.body)
        engine, session, caller = await self.operation()
        await self.answer(lambda tell: engine.search(session, request, tell, caller=caller))


class ProvidersHandler(OperationHandler):
    """Who can be asked."""

    @allow_unauthenticated
    async def get(self) -> None:
        """Answer with every provider: what it can, whether it is configured, and what is missing.

        Raises
        ------
        Refused
            ``disabled`` when nothing may be searched.
        """
        if "search" not in self.extension.operations():
            raise Refused("disabled", "search is switched off")
        engine = await self.engine()
        await self.send_json({"providers": await self.run(lambda _: engine.providers())})
