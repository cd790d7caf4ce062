"""xAI's Responses API with its server-side web search: a model's words, and the sources that it met."""

from __future__ import annotations

import json
from typing import Any

from tests.search.local_api import Asked, LocalAPI, Said

KEY = "xai-0123456789abcdef"

ROWS = [
    {"title": "Cats &amp; <b>dogs</b>", "url": "https://example.test/cats/", "description": "About\u202e cats."},
    {"title": "Made up", "url": "https://invented.example/never-met", "description": "Nobody has seen it."},
    {"title": "Dogs", "url": "https://example.test/dogs", "description": "About dogs."},
]
NOTES = [
    {
        "type": "url_citation",
        "url": "https://example.test/dogs",
        "title": "2",
        "start_index": 0,
        "end_index": 4,
    },
    {
        "type": "url_citation",
        "url": "https://example.test/dogs#again",
        "title": "Dogs",
        "start_index": 5,
        "end_index": 9,
    },
    {"type": "url_citation", "url": "https://example.test/cats", "start_index": 5, "end_index": 9},
]
CITATIONS = ["https://example.test/cats", "https://example.test/other"]


class XAIAPI(LocalAPI):
    """Besides the modes: ``no_credits`` (403), ``error_in_200``, ``odd_error_in_200``, ``failed_in_200``.

    Attributes
    ----------
    text, notes, citations, status
        What the model answers.
    nested
        Whether lists of hosts stand within ``filters``; otherwise on the tool itself.
    """

    def __init__(self, mode: str = "ok", *, nested: bool = True) -> None:
        super().__init__(mode)
        self.nested = nested
        self.text = f"Cats <purr>.\n```json\n{json.dumps(ROWS)}\n```\nThat is all."
        self.notes: list[dict[str, Any]] = list(NOTES)
        self.citations: list[str] = list(CITATIONS)
        self.status = "completed"

    def answer(self, asked: Asked) -> Said:
        if asked.method != "POST" or asked.path != "/v1/responses" or asked.query:
            return Said(404, {"code": "not_found", "error": "no such endpoint"})
        if self.mode == "bad_key" or asked.headers.get("authorization") != f"Bearer {KEY}":
            return _bad("Incorrect API key provided: xa***ef. You can obtain an API key from https://console.x.ai.")
        body = asked.json
        if wrong := self._wrong(body):
            return _bad(wrong)
        if said := self._played():
            return said
        if self.mode == "empty":
            return Said(200, self._said("I found nothing.\n```json\n[]\n```", [], []))
        return Said(200, self._said(self.text, self.notes, self.citations))

    def _wrong(self, body: dict[str, Any]) -> str:
        if set(body) - {"model", "input", "tools", "include"} or not body.get("model"):
            return "unknown field, or no model"
        if [sorted(item) for item in body["input"]] != [["content", "role"]]:
            return "input: one message is wanted"
        (tool,) = body["tools"]
        lists = set(tool) - {"type", "filters"} if self.nested else set(tool) - {"type"}
        if tool["type"] != "web_search" or (self.nested and lists) or "filters" in lists:
            return f"tools: unknown field {sorted(lists)}"
        domains = (tool.get("filters", {}) if self.nested else tool).get("allowed_domains", [])
        return "allowed_domains: at most 5" if len(domains) > 5 else ""

    def _played(self) -> Said | None:
        match self.mode:
            case "quota":
                return Said(
                    429, {"code": "exhausted", "error": "Your team used all of its credits."}, {"Retry-After": "30"}
                )
            case "no_credits":
                code = "The caller does not have permission to execute the specified operation"
                return Said(403, {"code": code, "error": "Your newly created team doesn't have any credits yet."})
            case "rate_limited":
                return Said(429, {"code": "rate_limit", "error": "Too many requests for team."}, {"Retry-After": "30"})
            case "down":
                return Said(500, {"code": "internal", "error": "Service is unavailable."})
            case "malformed":
                return Said(200, b"event: response.created\ndata: {}\n\n")
            case "missing_list":
                return Said(200, {"id": "r1", "citations": CITATIONS, "usage": {}})
            case "error_in_200":
                return Said(200, {"error": {"message": "Rate limit reached for model.", "code": "rate_limit_exceeded"}})
            case "odd_error_in_200":
                return Said(200, {"error": {"message": f"no such model for {KEY}", "code": "model_not_found"}})
            case "failed_in_200":
                return Said(200, {"id": "r1", "status": "failed", "error": None, "output": []})
        return None

    def _said(self, text: str, notes: list[dict[str, Any]], citations: list[str]) -> dict[str, Any]:
        return {
            "id": "r1",
            "status": self.status,
            "error": None,
            "output": [
                {"type": "web_search_call", "id": "ws1", "action": {"type": "search", "query": "cats"}},
                {"type": "message", "content": [{"type": "output_text", "text": text, "annotations": notes}]},
            ],
            "citations": citations,
            "usage": {"input_tokens": 10, "output_tokens": 20},
        }


def _bad(error: str) -> Said:
    return Said(400, {"code": "Client specified an invalid argument", "error": error})
