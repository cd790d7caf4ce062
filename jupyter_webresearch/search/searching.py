"""One search from the request to the response: who is asked, all at once, and what came in time."""

from __future__ import annotations

import asyncio
import logging
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, Protocol

from jupyter_webresearch.caller import Caller
from jupyter_webresearch.clock import Clock
from jupyter_webresearch.config_search import WebSearch
from jupyter_webresearch.errors import BadInput, Failed, WebResearchError
from jupyter_webresearch.models import OnPhase
from jupyter_webresearch.operations import Operation, Operations
from jupyter_webresearch.policy.urls import canonical_host
from jupyter_webresearch.search.answer import ProviderAnswer, ProviderError
from jupyter_webresearch.search.merge import Hit, merge
from jupyter_webresearch.search.question import KINDS, MOST_RESULTS, Kind, Question, SearchRequest
from jupyter_webresearch.search.response import Failure, Result, SearchResponse, Tally
from jupyter_webresearch.search.service import Service
from jupyter_webresearch.session import Session

__all__ = ["Choose", "Searcher", "Searching", "question_of"]

MOST_REMEMBERED = 512
"""Answers that are remembered."""

MAX_QUERY = 2000
"""Characters of a query; providers take fewer and say so themselves."""

_SPAN = re.compile(r"([0-9]{1,4})([dwmy])", re.IGNORECASE)
_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}
_DATE = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?")

_log = logging.getLogger(__name__)


class Searching(Protocol):
    """A provider as the searcher sees it: one that comes with the package, or a plugin in its wrapping."""

    @property
    def name(self) -> str:
        """The name by which it is called."""
        ...

    @property
    def display_name(self) -> str:
        """The name that people are shown."""
        ...

    async def ask(self, question: Question, service: Service) -> ProviderAnswer:
        """Search; see :meth:`jupyter_webresearch.search.builtin.BuiltinProvider.ask`."""
        ...


Choose = Callable[[Sequence[str], Kind], Sequence[Searching]]
"""Returns the providers to ask, given those that the caller names and the kind of results; may block."""


class Serve(Protocol):
    """Makes the service through which one provider is asked."""

    def __call__(self, provider: Searching, operation: Operation, deadline: float) -> Service:
        """Return it.

        Parameters
        ----------
        provider
            Who is asked.
        operation
            On whose behalf.
        deadline
            On the clock's monotonic scale.
        """
        ...


@dataclass(frozen=True)
class _Remembered:
    answer: ProviderAnswer
    at: float


@dataclass(frozen=True)
class _Outcome:
    """What became of asking one provider."""

    provider: Searching
    answer: ProviderAnswer | None
    failure: Failure | None
    seconds: float
    cached: bool = False


class Searcher:
    """Searches for sessions. Used on the engine's loop only.

    Parameters
    ----------
    settings
        Times and numbers.
    operations
        Policy and journal.
    choose, serve
        Who is asked, and through what.
    clock
        Ages and deadlines.
    """

    def __init__(self, settings: WebSearch, operations: Operations, choose: Choose, serve: Serve, clock: Clock) -> None:
        self._settings = settings
        self._operations = operations
        self._choose = choose
        self._serve = serve
        self._clock = clock
        self._known: OrderedDict[tuple[Any, ...], _Remembered] = OrderedDict()

    async def search(
        self, session: Session, request: SearchRequest, on_phase: OnPhase, caller: Caller
    ) -> SearchResponse:
        """Search; see :meth:`jupyter_webresearch.engine.Engine.search`."""
        if session.closed:
            raise Failed("cancelled", "the session has ended")
        opened = self._operations.open("search", session, caller, arguments=vars(request))
        with session.running():
            async with opened as operation:
                response = await self._search(operation, session, request, on_phase)
        return replace(response, notes=(*response.notes, *self._operations.journal_note(session)))

    def forget(self, session: str) -> None:
        """Forget what a session that has ended was told."""
        for key in [key for key in self._known if key[0] == session]:
            del self._known[key]

    async def _search(
        self, operation: Operation, session: Session, request: SearchRequest, on_phase: OnPhase
    ) -> SearchResponse:
        operation.gate.check_search()
        question, notes = question_of(request, self._settings.max_results, self._clock.now().date())
        # On a thread: plugins' code says whether it is available.
        chosen = await asyncio.to_thread(self._choose, request.providers, question.kind)
        known = {} if request.fresh else {p.name: self._recent(session.id, p, question) for p in chosen}
        asked = [provider for provider in chosen if known.get(provider.name) is None]
        outcomes = [
            _Outcome(provider, answer, None, 0.0, cached=True)
            for provider in chosen
            if (answer := known.get(provider.name)) is not None
        ]
        if asked:
            await operation.start()
            await operation.gate.admit_search(question.query, [provider.name for provider in asked])
            on_phase("receiving")
            patience = None if request.providers else self._settings.timeout
            outcomes += await self._ask_all(operation, asked, question, patience)
        for outcome in outcomes:
            if outcome.answer is not None and not outcome.cached:
                self._remember(session.id, outcome.provider, question, outcome.answer)
        order = {provider.name: at for at, provider in enumerate(chosen)}
        outcomes.sort(key=lambda outcome: order[outcome.provider.name])
        response = await asyncio.to_thread(_response, question, outcomes, notes)
        if not response.answered:
            raise _nobody(response.failed)
        operation.complete_search(response, source="live" if asked else "cache")
        return response

    # ------------------------------------------------------------------ asking

    async def _ask_all(
        self, operation: Operation, providers: Sequence[Searching], question: Question, patience: float | None
    ) -> list[_Outcome]:
        """Ask all at once. Whoever is not done by its own time, or that of all, is named among the failed."""
        tasks = [asyncio.ensure_future(self._ask(operation, provider, question, patience)) for provider in providers]
        try:
            return list(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _ask(
        self, operation: Operation, provider: Searching, question: Question, patience: float | None
    ) -> _Outcome:
        begun = self._clock.monotonic()
        seconds = self.seconds_for(provider)
        if patience is not None:
            seconds = min(seconds, patience)
        try:
            service = self._serve(provider, operation, begun + seconds)
            answer = await asyncio.wait_for(provider.ask(question, service), seconds + 0.5)
        except ProviderError as error:
            failure = Failure(provider.name, error.kind, error.message, error.retry_after)
        except WebResearchError as error:
            failure = Failure(provider.name, "forbidden", error.message, error.retry_after)
        except (TimeoutError, asyncio.TimeoutError):
            failure = Failure(provider.name, "timeout", f"it did not answer within {seconds:g} s")
        except Exception as error:  # a fault in one provider takes no other's answer along
            _log.exception("a fault while %s was asked", provider.name)
            failure = Failure(provider.name, "bad_payload", f"a fault of ours or the plugin's: {type(error).__name__}")
        else:
            return _Outcome(provider, answer, None, self._clock.monotonic() - begun)
        return _Outcome(provider, None, failure, self._clock.monotonic() - begun)

    def seconds_for(self, provider: Searching) -> float:
        """Return the time for one call of a provider."""
        given: Mapping[str, float] = self._settings.provider_timeouts
        return float(given.get(provider.name, self._settings.timeout))

    # ------------------------------------------------------------------ remembering

    def _recent(self, session: str, provider: Searching, question: Question) -> ProviderAnswer | None:
        key = _key(session, provider, question)
        known = self._known.get(key)
        if known is None or self._clock.monotonic() - known.at >= self._settings.cache_seconds:
            self._known.pop(key, None)
            return None
        self._known.move_to_end(key)
        return known.answer

    def _remember(self, session: str, provider: Searching, question: Question, answer: ProviderAnswer) -> None:
        key = _key(session, provider, question)
        self._known[key] = _Remembered(answer, self._clock.monotonic())
        self._known.move_to_end(key)
        while len(self._known) > MOST_REMEMBERED:
            self._known.popitem(last=False)


def question_of(request: SearchRequest, usual: int, today: date) -> tuple[Question, tuple[str, ...]]:
    """Read what a caller wrote.

    Parameters
    ----------
    request
        As written.
    usual
        Results where none is asked for.
    today
        From which spans count back.

    Returns
    -------
    Question, tuple of str
        And what the caller should know of how it was read.

    Raises
    ------
    BadInput
        ``bad_request``, saying what is wrong and how it is written.
    """
    query = " ".join(request.query.split())
    if not query:
        raise BadInput("bad_request", "the query is empty")
    if len(query) > MAX_QUERY:
        raise BadInput("bad_request", f"the query has {len(query):,} characters; at most {MAX_QUERY:,} are sent")
    if request.kind not in KINDS:
        raise BadInput("bad_request", f"{request.kind[:40]!r} is none of {', '.join(KINDS)}")
    limit = usual if request.max_results is None else request.max_results
    if limit < 1:
        raise BadInput("bad_request", f"{limit} results can't be asked for; give a number from 1 to {MOST_RESULTS}")
    notes = (f"at most {MOST_RESULTS} results are given; {limit} were asked for",) if limit > MOST_RESULTS else ()
    site = ""
    if request.site:
        try:
            site = canonical_host(request.site)
        except WebResearchError as error:
            raise BadInput("bad_request", f"the site {request.site[:100]!r} is no host: {error.message}") from error
    kind = next(kind for kind in KINDS if kind == request.kind)
    return Question(query, min(limit, MOST_RESULTS), kind, _since(request.since, today), site), notes


def _since(text: str, today: date) -> date | None:
    text = text.strip()
    if not text:
        return None
    since: date | None = None
    try:
        if span := _SPAN.fullmatch(text):
            since = today - timedelta(days=int(span[1]) * _DAYS[span[2].lower()])
        elif found := _DATE.fullmatch(text):
            since = date(int(found[1]), int(found[2] or 1), int(found[3] or 1))
    except (ValueError, OverflowError):  # no such day
        since = None
    if since is not None and since > today:
        raise BadInput("bad_request", f"--since {text}: that day is still to come")
    if since is not None:
        return since
    message = f"--since {text[:40]!r} is none of 2024, 2024-05, 2024-05-01, 7d, 4w, 6m and 1y"
    raise BadInput("bad_request", message)


def _key(session: str, provider: Searching, question: Question) -> tuple[Any, ...]:
    return (session, provider.name, question.query, question.limit, question.kind, question.since, question.site)


def _response(question: Question, outcomes: Sequence[_Outcome], notes: Sequence[str]) -> SearchResponse:
    answered = [outcome for outcome in outcomes if outcome.answer is not None]
    answers = [outcome.answer for outcome in answered if outcome.answer is not None]
    infobox = next(({**answer.infobox, "provider": answer.provider} for answer in answers if answer.infobox), {})
    several = len(outcomes) > 1
    said = [
        *notes,
        *(
            f"{answer.provider} searched for {answer.query_altered!r} instead"
            for answer in answers
            if answer.query_altered
        ),
        *(f"{answer.provider}: {warning}" if several else warning for answer in answers for warning in answer.warnings),
    ]
    failed = [outcome.failure for outcome in outcomes if outcome.failure is not None]
    failed += [
        Failure(f"{answer.provider}: {engine}", "blocked", reason)
        for answer in answers
        for engine, reason in answer.failed
    ]
    return SearchResponse(
        query=question.query,
        kind=question.kind,
        results=tuple(_result(number, hit) for number, hit in enumerate(merge(answers, question.limit), 1)),
        answers=tuple((answer.provider, text) for answer in answers for text in answer.answers),
        infobox=infobox,
        suggestions=tuple(dict.fromkeys(s for answer in answers for s in (*answer.corrections, *answer.suggestions))),
        answered=tuple(_tally(outcome) for outcome in answered),
        failed=tuple(failed),
        notes=tuple(dict.fromkeys(said)),
        raw={answer.provider: answer.raw for answer in answers},
    )


def _result(number: int, hit: Hit) -> Result:
    found = hit.result
    return Result(
        number=number,
        url=found.url,
        title=found.title,
        snippet=found.snippet,
        published=found.published,
        kind=found.kind,
        generated=found.generated,
        ids=dict(found.ids),
        authors=tuple(found.authors),
        container=found.container,
        details=dict(found.details),
        pdf_url=found.pdf_url,
        open_access=found.open_access,
        retracted=found.retracted,
        image_url=found.image_url,
        ranks=dict(hit.ranks),
        raw={provider: dict(raw) for provider, raw in hit.raws.items()},
    )


def _tally(outcome: _Outcome) -> Tally:
    answer = outcome.answer
    if answer is None:
        raise TypeError("there is no answer to count")
    return Tally(
        answer.provider,
        outcome.provider.display_name,
        len(answer.results),
        round(outcome.seconds, 3),
        outcome.cached,
        answer.total,
        answer.cost,
    )


def _nobody(failed: Sequence[Failure]) -> WebResearchError:
    """Return the error for a search that nobody answered: of one provider its own reason, of several all of them."""
    told = "; ".join(f"{failure.provider}: {failure.reason}" for failure in failed)
    waits = [failure.retry_after for failure in failed if failure.retry_after is not None]
    if len(failed) == 1 and failed[0].kind == "rate_limited":
        return Failed("rate_limited", told, retry_after=failed[0].retry_after, setting="")
    return Failed("search_failed", told or "no provider was asked", retry_after=min(waits, default=None), setting="")
