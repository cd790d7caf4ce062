"""A provider that is not ours, asked like one of ours; its class and what it returns stay as they are."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from jupyter_webresearch.redaction import redact_text
from jupyter_webresearch.search.answer import Extract, ProviderAnswer, ProviderError
from jupyter_webresearch.search.builtin import About
from jupyter_webresearch.search.foreign_answers import kind_of_failure, pages_of, results_of
from jupyter_webresearch.search.foreign_calls import ForeignCalls, ForeignLoop, Hangs, Raised
from jupyter_webresearch.search.question import MOST_RESULTS, Question
from jupyter_webresearch.search.registration import Registered
from jupyter_webresearch.search.service import Service
from jupyter_webresearch.search.text import plain

__all__ = ["ForeignProvider"]

AVAILABLE_SECONDS = 2.0
"""For ``is_available``, which asks no network."""

T = TypeVar("T")


class ForeignProvider:
    """Has the methods of :class:`~jupyter_webresearch.search.builtin.BuiltinProvider`.

    Its plain functions run on threads of their own and its coroutines on a loop of their own, so that none of them can
    hold up ours.

    Parameters
    ----------
    registered
        What the plugin has registered.
    variables
        Environment variables that it needs.
    environ
        Where it finds them.
    available_seconds
        Longest wait for ``is_available``.
    """

    base_is_configured = False
    base_url = ""

    def __init__(
        self,
        registered: Registered,
        variables: Sequence[str] = (),
        environ: Mapping[str, str] = os.environ,
        *,
        available_seconds: float = AVAILABLE_SECONDS,
    ) -> None:
        self._registered = registered
        self._instance = registered.instance
        self._variables = tuple(variables)
        self._environ = environ
        self._available_seconds = available_seconds
        self._calls = ForeignCalls(registered.name)
        self._loop = ForeignLoop(registered.name)
        self._hung = ""
        self.about = About(
            name=registered.name,
            display_name=registered.display_name,
            base_url="",
            keys=self._variables[:1],
            also_needs=self._variables[1:],
            keyless=not self._variables,
            extracts=registered.extracts,
        )

    @property
    def name(self) -> str:
        """See :class:`~jupyter_webresearch.search.provider.WebSearchProvider`; so below."""
        return self._registered.name

    @property
    def display_name(self) -> str:
        """The name that people are shown."""
        return self._registered.display_name

    @property
    def hanging(self) -> int:
        """How many of its calls were given up and have not ended since."""
        return self._calls.hanging + self._loop.hanging

    def state(self) -> tuple[tuple[str, ...], str]:
        """Return what is missing before it can be asked, and what is wrong with it. May block for two seconds."""
        if self._hung:
            return (), self._hung
        try:
            available = self._calls.run(self._is_available, self._available_seconds)
        except Hangs as error:
            self._hung = f"is_available hangs: {error}"
            return (), self._hung
        except Raised as error:
            return (), f"is_available failed: {self._told(error)}"
        if available:
            return (), ""
        unset = tuple(name for name in self._variables if not self._environ.get(name))
        return unset or ("it says that it is not available",), ""

    def missing(self) -> tuple[str, ...]:
        """Return what is missing or wrong; empty when it can be asked. May block as :meth:`state`."""
        missing, fault = self.state()
        return (fault,) if fault else missing

    def is_available(self) -> bool:
        """Whether it can be asked. May block as :meth:`state`."""
        return not self.missing()

    def supports_search(self) -> bool:
        """Whether :meth:`ask` can be called."""
        return self._registered.searches

    def supports_extract(self) -> bool:
        """Whether :meth:`read` can be called."""
        return self._registered.extracts

    async def ask(self, question: Question, service: Service) -> ProviderAnswer:
        """Search; see :meth:`~jupyter_webresearch.search.builtin.BuiltinProvider.ask`.

        Parameters
        ----------
        question
            Its kind is ``web``.
        service
            Only tells the time that is left: a plugin's requests are its own.

        Raises
        ------
        ProviderError
            When there is no answer.
        """
        if not self.supports_search() or question.kind not in self.about.kinds:
            raise ProviderError("unsupported", f"{self.display_name} does not search for {question.kind}")
        limit = MOST_RESULTS if question.site else question.limit  # what is of other sites is left out
        return await self._answer(
            lambda: self._instance.search(question.query, limit),
            lambda said: results_of(said, question, self.name, self.display_name),
            service.seconds_left,
        )

    async def read(
        self,
        urls: Sequence[str],
        service: Service,
        *,
        mode: str = "page",
        max_pages: int = 10,
        formats: Sequence[str] = ("markdown",),
    ) -> list[Extract]:
        """Read pages; see :meth:`~jupyter_webresearch.search.builtin.BuiltinProvider.read`.

        Parameters
        ----------
        urls, mode, max_pages, formats
            As there; the last three are handed on where they are not the defaults and the plugin takes them.
        service
            Only tells the time that is left.

        Raises
        ------
        ProviderError
            ``unsupported``, or when there is no answer at all.
        """
        if not self.supports_extract():
            raise ProviderError("unsupported", f"{self.display_name} does not read pages")
        wanted = list(dict.fromkeys(urls))
        options: dict[str, Any] = {}
        if mode == "crawl":
            options |= {"mode": mode, "max_pages": max_pages}
        if tuple(formats) != ("markdown",):
            options["formats"] = list(formats)
        taken = _taken(self._instance.extract, options)
        if mode == "crawl" and "mode" not in taken:
            raise ProviderError("unsupported", f"{self.display_name} does not crawl")
        most = max_pages if mode == "crawl" else None
        pages = await self._answer(
            lambda: self._instance.extract(list(wanted), **taken),
            lambda said: pages_of(said, wanted, self.display_name, most),
            service.seconds_left,
        )
        return [replace(page, error=self._redacted(page.error)) if page.error else page for page in pages]

    def close(self) -> None:
        """End its loop."""
        self._loop.close()

    async def _answer(self, call: Callable[[], Any], read: Callable[[Any], T], seconds: float) -> T:
        """Call a method on a thread; what it returns to be awaited is awaited on the plugin's loop."""
        begun = asyncio.get_running_loop().time()

        def called() -> tuple[Awaitable[T] | None, T | None]:
            said = call()
            return (_awaited(said, read), None) if inspect.isawaitable(said) else (None, read(said))

        try:
            work, answer = await self._calls.ask(called, seconds)
            if work is not None:
                left = seconds - (asyncio.get_running_loop().time() - begun)
                answer = await self._loop.ask(work, max(left, 0.0))
        except Hangs as error:
            raise ProviderError("timeout", f"{self.display_name} gave no answer: {error}") from None
        except Raised as error:
            raise self._failure(error) from None
        return answer  # type: ignore[return-value]  # the one or the other has given it

    def _is_available(self) -> bool:
        available = self._instance.is_available()
        if inspect.iscoroutine(available):
            available.close()
            raise TypeError("is_available must be a plain method")
        return bool(available)

    def _failure(self, raised: Raised) -> ProviderError:
        error = raised.error
        if isinstance(error, ProviderError):
            return ProviderError(
                error.kind,
                self._redacted(error.message),
                http_status=error.http_status,
                code=error.code,
                retry_after=error.retry_after,
            )
        told = self._told(raised)
        if isinstance(error, NotImplementedError):
            return ProviderError("unsupported", f"{self.display_name} can't do this: {told}")
        kind = "timeout" if isinstance(error, TimeoutError | asyncio.TimeoutError) else kind_of_failure(told)
        return ProviderError(kind, f"{self.display_name} failed: {told}")

    def _told(self, raised: Raised) -> str:
        return self._redacted(str(raised))

    def _redacted(self, words: str) -> str:
        """Return words without the plugin's keys, and what else looks like a secret."""
        for name in self._variables:
            if value := self._environ.get(name):
                words = words.replace(value, "***")
        return plain(redact_text(words[:2000]), 300)


async def _awaited(said: Awaitable[Any], read: Callable[[Any], T]) -> T:
    return read(await said)


def _taken(method: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that a method takes, by its signature."""
    try:
        parameters = inspect.signature(method).parameters.values()
    except (TypeError, ValueError):
        return {}
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return dict(options)
    names = {parameter.name for parameter in parameters if parameter.kind is not parameter.POSITIONAL_ONLY}
    return {name: value for name, value in options.items() if name in names}
