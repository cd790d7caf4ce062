"""The classifier: a model that judges requests against what the session is meant to do.

It is asked over an OpenAI-compatible chat API. What it is shown was written by pages, models and people, and so, in the
end, is what it answers: the answer is read strictly, and its reason is a text to show and nothing more.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from jupyter_webresearch.clock import Clock
from jupyter_webresearch.config import WebClassifier
from jupyter_webresearch.errors import Refused, WebResearchError
from jupyter_webresearch.models import READS
from jupyter_webresearch.net.endpoint import EndpointStatus
from jupyter_webresearch.policy.judgement import SYSTEM_PROMPT, Judgement, Question, read_judgement

__all__ = ["Classifier", "Judgement"]

REMEMBERED = 1000
"""Judgements of one session that are kept."""

# What some servers and models refuse with 400 or 422 is left out, one thing after another.
_FORMS: tuple[dict[str, Any], ...] = (
    {"temperature": 0, "response_format": {"type": "json_object"}},
    {"temperature": 0},
    {},
)
_NOT_UNDERSTOOD = (400, 422)

_log = logging.getLogger(__name__)


class JSONEndpoint(Protocol):
    """What :class:`~jupyter_webresearch.net.endpoint.Endpoint` is to the classifier."""

    async def post_json(self, path: str, payload: Mapping[str, Any], *, timeout: float) -> Any:
        """Send and receive JSON; see :meth:`jupyter_webresearch.net.endpoint.Endpoint.post_json`."""
        ...


@dataclass
class _Asking:
    """A question under way, and how many wait for its answer."""

    task: asyncio.Task[Judgement | None]
    waiting: int = 0


class Classifier:
    """Asks the model, once for the same question of a session. Used on the engine's loop only.

    Parameters
    ----------
    settings
        URL, model, threshold and time; off while there is no URL.
    endpoint
        The API; None while the classifier is off.
    clock
        Time for deadlines.
    """

    def __init__(self, settings: WebClassifier, endpoint: JSONEndpoint | None, clock: Clock) -> None:
        self._settings = settings
        self._endpoint = endpoint
        self._clock = clock
        self._form = 0
        self._known: dict[str, OrderedDict[bytes, Judgement]] = {}
        self._asking: dict[tuple[str, bytes], _Asking] = {}

    @property
    def is_on(self) -> bool:
        """Whether there is a model to ask."""
        return self._endpoint is not None and bool(self._settings.url)

    async def judge(
        self, *, session: str, kind: str, method: str, url: str, body: bytes | None, task: str
    ) -> Judgement | None:
        """Return the model's judgement of a request.

        Parameters
        ----------
        session
            Its id: the same question is asked once for each, apart from the kind.
        kind
            ``fetch``, ``search``, ``image``, ``browser`` ...
        method, url, body
            Of the request, secrets and all: they are redacted here.
        task
            What the session is meant to do, as far as anyone said; may be empty.

        Returns
        -------
        Judgement or None
            None when the model did not answer in time and readably, and while the classifier is off.
        """
        if not self.is_on:
            return None
        question = Question(kind, method.upper(), url, body, task)
        key = (session, await question.fingerprint())
        known = self._known.get(session)
        return known[key[1]] if known and key[1] in known else await self._shared(key, question)

    def decide(self, judgement: Judgement | None, method: str) -> None:
        """Return when the request may be sent.

        Parameters
        ----------
        judgement
            What :meth:`judge` returned.
        method
            Of the request.

        Raises
        ------
        Refused
            ``classifier``: judged against, or without a judgement and not GET or HEAD.
        """
        if not self.is_on:
            return
        if judgement is None:
            if method.upper() in READS:
                return
            raise Refused(
                "classifier",
                "the classifier did not answer, and without its judgement only GET and HEAD are sent; try again later",
                setting="WebClassifier.url",
            )
        if judgement.verdict == "refuse" or judgement.score >= self._settings.threshold:
            reason = f": {judgement.reason}" if judgement.reason else ""
            raise Refused(
                "classifier",
                f"the classifier judged against it ({judgement.category}, score {judgement.score:.2f}){reason}",
            )

    def forget(self, session: str) -> None:
        """Forget a session that has ended."""
        self._known.pop(session, None)
        for key in [key for key in self._asking if key[0] == session]:
            del self._asking[key]  # those who wait get their answer; nobody remembers it

    async def _shared(self, key: tuple[str, bytes], question: Question) -> Judgement | None:
        """Wait for the answer together with all who ask the same; when none of them waits any more, it is given up."""
        asking = self._asking.get(key)
        if asking is None:
            asking = self._asking[key] = _Asking(asyncio.create_task(self._ask(question)))
        asking.waiting += 1
        try:
            judgement = await asyncio.shield(asking.task)
            if judgement is not None and self._asking.get(key) is asking:
                self._remember(key, judgement)
            return judgement
        finally:
            asking.waiting -= 1
            if not asking.waiting:
                asking.task.cancel()
                if self._asking.get(key) is asking:
                    del self._asking[key]

    def _remember(self, key: tuple[str, bytes], judgement: Judgement) -> None:
        known = self._known.setdefault(key[0], OrderedDict())
        known[key[1]] = judgement
        while len(known) > REMEMBERED:
            known.popitem(last=False)

    async def _ask(self, question: Question) -> Judgement | None:
        messages = [
            {"role": "system", "content": SYSTEM_PROMPT},
            {"role": "user", "content": question.to_text()},
        ]
        try:
            answer = await self._complete(messages)
        except WebResearchError as error:
            _log.warning("the classifier did not answer: %s [%s]", error.message, error.code)
            return None
        judgement = read_judgement(answer)
        if judgement is None:
            _log.warning("the classifier's answer can't be read; is %r the right model?", self._settings.model)
        return judgement

    async def _complete(self, messages: Sequence[Mapping[str, str]]) -> Any:
        """Return the API's answer, asked for in the first form that it takes."""
        if self._endpoint is None:
            raise RuntimeError("the classifier is off")
        deadline = self._clock.monotonic() + self._settings.timeout
        form = self._form
        while True:
            payload = {"model": self._settings.model, "messages": messages, **_FORMS[form]}
            left = deadline - self._clock.monotonic()
            try:
                answer = await self._endpoint.post_json("/chat/completions", payload, timeout=left)
            except EndpointStatus as error:
                if error.answered not in _NOT_UNDERSTOOD or form + 1 == len(_FORMS):
                    raise
                form += 1
            else:
                self._form = form
                return answer
