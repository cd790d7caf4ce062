"""What an agent's tool is told of an error: enough to go on with, and nothing that maps a network or a policy.

A page can make an agent ask for any URL. Were its tool told what a person is, the page would learn which names resolve
inside, which ports are open and which hosts an operator forbids. So whatever the policy refuses is one error, and so is
whatever can't be reached. A person, at a cell, a terminal or the REST routes, is told the precise code.
"""

from __future__ import annotations

from collections.abc import Callable

from jupyter_webresearch.errors import CODES, BadInput, Failed, Refused, WebResearchError

__all__ = ["DISCLOSED", "as_told_to_agent"]


def _blocked(_error: WebResearchError) -> WebResearchError:
    return Refused("blocked", "the policy here does not allow this; another source may do, or the person can help")


def _unreachable(_error: WebResearchError) -> WebResearchError:
    return Failed("unreachable", "the host can't be reached; is the URL right?")


def _bare(error: WebResearchError) -> WebResearchError:
    """Keep the code alone: the message may name this machine's files, variables and servers."""
    return _like(error)(error.code, CODES[error.code].meaning, setting="")


def _whole(error: WebResearchError) -> WebResearchError:
    return _like(error)(
        error.code, error.message, setting=error.setting or "", retry_after=error.retry_after, page=error.page
    )


def _like(error: WebResearchError) -> type[WebResearchError]:
    return next((kind for kind in (BadInput, Refused) if isinstance(error, kind)), Failed)


_BY_FORM: dict[Callable[[WebResearchError], WebResearchError], str] = {
    # What was decided before any DNS query, here or for the target of a redirect.
    _blocked: """
        acting_not_allowed blocked blocked_host blocked_port classifier disabled insecure_redirect needs_approval
        not_allowed redirect_refused robots unsupported_scheme
    """,
    # What would tell closed from filtered, absent from private, and one protocol behind a port from another.
    _unreachable: """
        blocked_address proxy_auth proxy_failed timeout tls tls_intercepted unreachable unresolved
    """,
    # What this installation lacks.
    _bare: "budget_unavailable config credential_unavailable internal journal_unavailable",
    # What the agent itself wrote, what a site that was reached answered, and how much may be asked.
    _whole: """
        bad_encoding bad_offset bad_request bad_response blocked_header blocked_method body_dropped cancelled
        extraction_failed file_exists headers_too_large http_status invalid_url no_text not_found over_budget
        provider_unavailable rate_limited request_too_large save_refused search_failed too_complex too_large
        too_many_redirects unauthorized unsupported_content
    """,
}

DISCLOSED = {code: form for form, codes in _BY_FORM.items() for code in codes.split()}
"""How each code of :data:`~jupyter_webresearch.errors.CODES` is told; one that is missing is told to nobody."""


def as_told_to_agent(error: WebResearchError) -> WebResearchError:
    """Return a new error, without cause or context, that holds what an agent's tool may say of this one.

    What takes different times to find out still takes them: that is not hidden here.

    Parameters
    ----------
    error
        As a person would be told it.
    """
    told = DISCLOSED[error.code](error)
    told.__suppress_context__ = True  # for whoever raises it while handling the other one
    return told
