"""What all routes share: who asks, and how an answer or an error goes out."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import http.client
import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from jupyter_core.utils import ensure_async
from jupyter_server.auth.utils import HTTP_METHOD_TO_AUTH_ACTION
from jupyter_server.base.handlers import APIHandler
from tornado.iostream import StreamClosedError
from tornado.web import HTTPError

from jupyter_webresearch.caller import Caller
from jupyter_webresearch.errors import CODES, BadInput, Failed, Refused, WebResearchError
from jupyter_webresearch.kernel.proof import SCHEME
from jupyter_webresearch.server.json_encoding import encode_in_thread

if TYPE_CHECKING:
    from jupyter_webresearch.engine import Engine
    from jupyter_webresearch.policy.asks import NotebookAsk
    from jupyter_webresearch.server.app import WebResearchApp
    from jupyter_webresearch.server.kernel_auth import VerifiedKernel
    from jupyter_webresearch.session import Session

__all__ = ["AUTH_RESOURCE", "WebResearchHandler"]

AUTH_RESOURCE = "webresearch"
"""What Jupyter's Authorizer is asked about."""

HASH_IN_THREAD = 256 * 1024  # bytes from which a body is hashed off the loop

WAITS = (429, 503)  # what Retry-After goes with (RFC 6585 section 4, RFC 9110 section 15.6.4)

_NOTEBOOK_UNKNOWN = (
    "Jupyter can't tell which notebook this kernel has, and its metadata might allow less than is allowed without it; "
    "try again, or restart the server"
)

_STATUS_CODES = {403: "unauthorized", 404: "not_found", 413: "request_too_large"}


class WebResearchHandler(APIHandler):
    """Base of the routes.

    A request is let in by the proof of one of this server's kernels, or by Jupyter's own authentication and Authorizer.
    Both are decided in :meth:`prepare`, before any verb: a subclass marks its verbs ``@allow_unauthenticated`` for
    Jupyter's check, which knows nothing of kernels. The ``authorized`` decorator isn't used, because it keeps the
    resource and action of its first call.
    """

    auth_resource = AUTH_RESOURCE
    kernel: VerifiedKernel | None = None

    @property
    def extension(self) -> WebResearchApp:
        """The extension that these routes belong to."""
        return cast("WebResearchApp", self.settings["webresearch"])

    async def engine(self) -> Engine:
        """Return the engine, made by the first request that needs it."""
        return await self.extension.engine()

    async def session(self) -> Session:
        """Return what the caller owns: a kernel its own session, a user theirs."""
        engine = await self.engine()
        if self.kernel is not None:  # once more: it may have ended, and been swept, since it was recognised
            self.extension.life.saw_kernel(self.kernel.kernel_id)
        return engine.session(self.session_id)

    async def operation(self) -> tuple[Engine, Session, Caller]:
        """Return what an operation of the caller's needs, with what its notebook now asks of the policy in force.

        Raises
        ------
        Failed
            ``config`` when the kernel's notebook can't be told or read: it might ask for less than is let through
            without it.
        """
        engine, session, notebooks = await self.engine(), await self.session(), await self._notebooks()
        if self.kernel is not None:
            if notebooks is None:
                raise Failed("config", _NOTEBOOK_UNKNOWN, setting="")
            ask = await self.extension.metadata.ask(self.kernel.kernel_id, notebooks)
            if session.asks.notebook is not ask:
                await asyncio.wrap_future(engine.submit(_heed(session, ask)))
        return engine, session, self._caller(notebooks)

    async def caller(self) -> Caller:
        """Return who asks: a kernel with its notebook's path of now, or a user."""
        return self._caller(await self._notebooks())

    def _caller(self, notebooks: Sequence[str] | None) -> Caller:
        if self.kernel is None:
            return Caller("rest")
        return Caller("kernel", self.kernel.kernel_id, notebooks[0] if notebooks else "")

    async def _notebooks(self) -> Sequence[str] | None:
        return () if self.kernel is None else await self.extension.notebooks.paths(self.kernel.kernel_id)

    @property
    def session_id(self) -> str:
        """``kernel:<kernel id>``, ``user:<user name>``, or ``token`` for whoever holds the server's own token.

        Jupyter gives a new name to each request that brings that token and no cookie.
        """
        if self.kernel is not None:
            return f"kernel:{self.kernel.kernel_id}"
        if self.token_authenticated:
            token = self.identity_provider.get_token(self)
            if token and self.token and hmac.compare_digest(token.encode(), self.token.encode()):
                return "token"
        return f"user:{self.current_user.username}"

    @property
    def body_limit(self) -> int:
        """Most bytes of request body; JSON may need six for one (RFC 8259 section 7)."""
        return 6 * self.extension.web_settings.fetch.max_request_body + 1024 * 1024

    async def prepare(self) -> None:  # type: ignore[override] # as APIHandler's own
        """Let the request in, or raise.

        Raises
        ------
        Refused
            ``unauthorized``.
        BadInput
            ``request_too_large``.
        """
        self.current_user = self._jupyter_current_user = None  # known to Jupyter's log if the request ends early
        if len(self.request.body) > self.body_limit:
            raise BadInput("request_too_large", f"a request to this route has at most {self.body_limit} bytes")
        await self._recognise_kernel()
        await super().prepare()
        if self.request.method != "OPTIONS":
            await self._authorize()

    async def _recognise_kernel(self) -> None:
        header = self.request.headers.get("Authorization", "")
        if header.split(" ", 1)[0] != SCHEME:
            return
        parts = (header, str(self.request.method), str(self.request.uri), self.request.body)
        verify = self.extension.verifier.verify
        if len(self.request.body) < HASH_IN_THREAD:
            self.kernel = verify(*parts)
        else:
            self.kernel = await asyncio.to_thread(verify, *parts)
        self.extension.life.saw_kernel(self.kernel.kernel_id)

    async def _authorize(self) -> None:
        if self.kernel is not None:
            return
        if not self.current_user:
            raise Refused("unauthorized", "log in to this server, or ask from one of its kernels")
        action = HTTP_METHOD_TO_AUTH_ACTION[str(self.request.method)]
        if not await ensure_async(self.authorizer.is_authorized(self, self.current_user, action, AUTH_RESOURCE)):
            raise Refused("unauthorized", f"this user may not {action} {AUTH_RESOURCE} on this server")
        self.extension.life.saw_user(self.session_id)

    def check_xsrf_cookie(self) -> None:
        """Check as Jupyter does, except for a kernel: no browser can be made to send its proof."""
        if self.kernel is None:
            super().check_xsrf_cookie()

    def set_default_headers(self) -> None:
        """Have no browser guess a type or keep an answer."""
        super().set_default_headers()
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Cache-Control", "no-store")
        self.set_header("Content-Type", "application/json")

    async def send_json(self, value: Any) -> None:
        """Answer with JSON, encoded off the loop; one who has hung up meanwhile gets none."""
        with contextlib.suppress(StreamClosedError):
            await self.finish(await encode_in_thread(value))

    def log_exception(self, typ: Any, value: Any, tb: Any) -> None:
        """Log faults of ours with their traceback; an error of the vocabulary is an answer, not a fault."""
        if not isinstance(value, WebResearchError):
            super().log_exception(typ, value, tb)

    def tell_operator(self, error: WebResearchError) -> None:
        """Log the reason of what only whoever runs this server can mend, once for all requests."""
        if error.code == "config":
            self.extension.tell_once(error.message)

    def set_error_status(self, error: WebResearchError) -> None:
        """Set the status that an error answers with, and when to ask again.

        499, which HTTP does not name, gets the code for a phrase.
        """
        self.tell_operator(error)
        self.set_status(error.status, None if error.status in http.client.responses else error.code)
        if error.retry_after is not None and error.status in WAITS:
            self.set_header("Retry-After", str(math.ceil(error.retry_after)))

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Answer with ``message``, ``reason`` and ``code``, whoever raised."""
        error = kwargs.get("exc_info", (None, None))[1]
        if isinstance(error, WebResearchError):
            self.set_error_status(error)
            body = error.to_json()
        else:
            body = _foreign_error(status_code, error)
        self.finish(json.dumps(body))


async def _heed(session: Session, ask: NotebookAsk) -> None:
    """Put in force what a notebook asks; on the engine's loop, as all that touches a session."""
    session.asks.notebook = ask


def _foreign_error(status: int, error: BaseException | None) -> dict[str, Any]:
    """Return the body for an error of Jupyter's or tornado's, or for a fault of ours."""
    code = _STATUS_CODES.get(status, "bad_request" if 400 <= status < 500 else "internal")
    message = CODES[code].meaning
    if status == 405:
        message = "this route does not take that method"
    elif isinstance(error, HTTPError) and error.log_message and status < 500:
        message = error.log_message % error.args  # without arguments, too: tornado has doubled the percent signs
    return {"message": message, "reason": CODES[code].meaning, "code": code, "retryable": CODES[code].retryable}
