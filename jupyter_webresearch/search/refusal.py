"""What it means when a provider's service refuses, said so that a person knows what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jupyter_webresearch.search.answer import ErrorKind, ProviderError
from jupyter_webresearch.search.builtin import About
from jupyter_webresearch.search.rows import mapping, text
from jupyter_webresearch.search.service import Reply, Service

__all__ = ["Refusal", "accepted", "explained", "no_key"]

LONGEST = 200
"""Characters of a service's own words in a message."""


@dataclass(frozen=True)
class Refusal:
    """What a service says when it refuses.

    Attributes
    ----------
    said
        Its words.
    code
        Its own name for the fault.
    kind
        What it means where its status does not tell.
    """

    said: object = ""
    code: str = ""
    kind: ErrorKind | None = None


Read = Callable[[int, Mapping[str, Any]], Refusal]
"""Finds a service's words in its status and body."""


async def accepted(reply: Reply, about: About, key: str, read: Read) -> Mapping[str, Any]:
    """Return the object that a service answered with.

    Parameters
    ----------
    reply
        Its answer.
    about
        Whose it is.
    key
        The key that was sent, or an empty string.
    read
        Finds its words in a refusal.

    Raises
    ------
    ProviderError
        For every status but 2xx, and ``bad_payload`` when there is no object.
    """
    if 200 <= reply.status <= 299:
        payload = await reply.json()
        if not isinstance(payload, dict):
            raise ProviderError("bad_payload", "the answer is no object", http_status=reply.status)
        return payload
    try:
        refusal = read(reply.status, mapping(await reply.json()))
    except ProviderError:
        refusal = read(reply.status, {})
    kinds: dict[int, ErrorKind] = {} if refusal.kind is None else {reply.status: refusal.kind}
    try:
        Service.check(reply, kinds)
    except ProviderError as error:
        raise explained(about, key, refusal, error) from None
    raise AssertionError("a status of failure was checked and found good")


def explained(about: About, key: str, refusal: Refusal, error: ProviderError) -> ProviderError:
    """Return an error that says what to do.

    Parameters
    ----------
    about
        Whose service refused.
    key
        The key that was sent, or an empty string; it is taken out of the service's words.
    refusal
        What it said.
    error
        What its status means.
    """
    return ProviderError(
        error.kind,
        _message(about, key, refusal, error),
        http_status=error.http_status,
        code=refusal.code,
        retry_after=error.retry_after,
    )


def no_key(about: About, purpose: str = "") -> ProviderError:
    """Return the error for a provider that was asked for what it does with a key only.

    Parameters
    ----------
    about
        Whose key is missing.
    purpose
        What it is needed for.
    """
    return ProviderError("no_key", f"{about.display_name} needs a key{purpose}: {_how(about)}")


def _message(about: About, key: str, refusal: Refusal, error: ProviderError) -> str:
    name, said = about.display_name, _words(refusal.said, key)
    status = f", status {error.http_status}" if error.http_status >= 400 else ""  # some refuse in a 200
    match error.kind:
        case "no_key":
            return str(no_key(about))
        case "bad_key":
            return f"{name} does not accept the key in {_variables(about)}; get one at {about.get_key}"
        case "quota":
            return f"what the plan of {name} allows is used up{said}; " + (
                f"see {about.get_key}" if key else f"for more, {_how(about)}"
            )
        case "rate_limited":
            when = "later" if error.retry_after is None else f"in {error.retry_after:g} s"
            return f"{name} takes no more requests for now{said}; try again {when}" + (
                "" if key or not about.keys else f", or {_how(about)}"
            )
        case "forbidden":
            return f"{name} forbids the request{said}" + ("; does the plan of the key allow it?" if key else "")
        case "timeout":
            return f"{name} gave up waiting{said}; try again"
        case "unreachable":
            return f"{name} is out of order{status}{said}; try again later"
        case _:
            return f"{name} refuses the request{status}{said}"


def _words(said: object, key: str) -> str:
    words = text(said, LONGEST)
    if key:
        words = words.replace(key, "***")
    return f" ({words})" if words else ""


def _how(about: About) -> str:
    return f"set {_variables(about)}, a key is to be had at {about.get_key}"


def _variables(about: About) -> str:
    return " or ".join(about.keys)
