"""An OpenAI-compatible chat API on loopback, as picky as the real ones are.

Use:
    async with ChatAPI(key="secret") as api:
        api.base                        # http://127.0.0.1:PORT/v1
        api.says = '{"verdict": ...}'   # what the model answers from now on; or a callable of the request's payload
        api.payloads                    # what was asked, in order
        api.status = 500                # answers with this status
        api.silent = True               # never answers
        api.delay = 5                   # answers after so many seconds
        api.held = True                # answers once released: await api.asked(1); api.release()
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Callable
from typing import Any

from tests.sites.site import Exchange, Site

PATH = "/v1/chat/completions"


def verdict(
    verdict: Any = "allow", score: Any = 0.1, category: Any = "other", reason: Any = "fine", **more: Any
) -> str:
    """A model's answer."""
    return json.dumps({"verdict": verdict, "score": score, "category": category, "reason": reason, **more})


class ChatAPI(Site):
    """The API.

    Parameters
    ----------
    key
        Asked for as a bearer token.
    model
        The one model that there is.
    json_mode, temperature
        Whether ``response_format`` and ``temperature`` are taken; otherwise the API answers 400 to them.
    tls
        Serve https with this context.
    """

    def __init__(
        self,
        *,
        key: str = "",
        model: str = "judge",
        json_mode: bool = True,
        temperature: bool = True,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(tls=tls)
        self.says: str | Callable[[dict[str, Any]], str] = verdict()
        self.status = 200
        self.silent = False
        self.delay = 0.0
        self.held = False
        self.payloads: list[dict[str, Any]] = []
        self._key = key
        self._model = model
        self._taken = {"response_format": json_mode, "temperature": temperature}

    @property
    def base(self) -> str:
        return self.url("/v1")

    async def asked(self, count: int) -> None:
        """Wait until that many questions have arrived."""
        await self.arrived(PATH, count)

    def shown(self, number: int = -1) -> dict[str, Any]:
        """What the model was shown of a request."""
        return json.loads(self.payloads[number]["messages"][-1]["content"])  # type: ignore[no-any-return]

    async def _answer(self, exchange: Exchange) -> None:
        request = exchange.request
        if request.path != PATH or request.method != "POST":
            await super()._answer(exchange)
            return
        if self._key and request.header("authorization") != f"Bearer {self._key}":
            await _fail(exchange, 401, "Incorrect API key provided")
            return
        payload = json.loads(request.body)
        self.payloads.append(payload)
        if self.silent:
            await exchange.hang()
        if self.delay:
            await asyncio.sleep(self.delay)
        if self.held:
            await self.opened()
        fault = self._fault(payload)
        if fault or self.status != 200:
            await _fail(exchange, self.status if not fault else 400, fault)
            return
        says = self.says(payload) if callable(self.says) else self.says
        message = {"role": "assistant", "content": says}
        completion = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1700000000,
            "model": self._model,
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
        await exchange.answer(json.dumps(completion), "application/json")

    def _fault(self, payload: dict[str, Any]) -> str:
        for name, taken in self._taken.items():
            if name in payload and not taken:
                return f"Unsupported parameter: {name!r}"
        if set(payload) - {"model", "messages", "temperature", "response_format"}:
            return "Unrecognized request argument supplied"
        if payload.get("model") != self._model:
            return "The model does not exist"
        messages = payload.get("messages")
        if not messages or any(
            set(message) != {"role", "content"}
            or message["role"] not in ("system", "user", "assistant")
            or not isinstance(message["content"], str)
            for message in messages
        ):
            return "Invalid value: 'messages'"
        wants_json = payload.get("response_format") == {"type": "json_object"}
        if wants_json and not any("json" in message["content"].lower() for message in messages):
            return "JSON mode needs the word JSON in a message"
        return ""


async def _fail(exchange: Exchange, status: int, message: str) -> None:
    body = json.dumps({"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}})
    await exchange.answer(body, "application/json", status=status)
