"""The vocabulary of refusals and failures.

One table, :data:`CODES`, names every way an operation can end without a result: a stable code, what it means, the
setting that governs it, whether trying again can help, and the HTTP status that the REST routes answer with. Magics,
command line and REST all speak it, so a code means the same everywhere.

No message carries a resolved address: an error must not tell a page or a model what a name resolves to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jupyter_webresearch.page import Page

__all__ = ["CODES", "BadInput", "ErrorCode", "Failed", "NotOfThisKind", "Refused", "WebResearchError"]


@dataclass(frozen=True)
class ErrorCode:
    """One row of the vocabulary.

    Attributes
    ----------
    code
        Stable name, the only thing that programs should compare.
    meaning
        What happened, in one sentence for people.
    status
        HTTP status of a REST answer that carries it.
    setting
        ``Class.trait`` that governs it, if one does.
    retryable
        Whether the same request can succeed later without any change.
    """

    code: str
    meaning: str
    status: int
    setting: str | None = None
    retryable: bool = False

    @property
    def remedy(self) -> str:
        """What to do, in a few words; empty where only the message can tell, or nothing helps."""
        return _REMEDIES.get(self.code, "")


_REMEDIES = {
    "bad_request": "correct the argument that the message names",
    "invalid_url": "write the URL in full, as a browser shows it",
    "request_too_large": "send less, or raise the setting",
    "blocked_method": "use another method",
    "blocked_header": "leave the header out",
    "provider_unavailable": "ask another provider, or configure this one",
    "unsupported_scheme": "look for an http or https address of the same",
    "blocked_host": "use the site's public name",
    "blocked_port": "use the site's usual port; whoever runs this can allow another",
    "blocked_address": "check the name; whoever runs this can allow a private network",
    "disabled": "whoever switched it off can switch it on",
    "not_allowed": "ask for the host by `%webresearch allow HOST`, inside the operator's list",
    "needs_approval": "answer the question, or `%webresearch allow HOST`",
    "acting_not_allowed": "`%webresearch allow-actions HOST`, inside the operator's list",
    "robots": "use another source, or ask the site's owner",
    "over_budget": "wait as long as the message says; where it says nothing, whoever runs this can raise the budget",
    "classifier": "say what the work is for by `%webresearch task`, or leave it",
    "blocked": "use another source, or ask the person",
    "insecure_redirect": "without headers and body it is read, if that will do",
    "redirect_refused": "send it to where the redirect leads, if you trust that",
    "too_many_redirects": "look at the URL in a browser; some sites go round for ever without cookies",
    "unresolved": "check how the host is written",
    "unreachable": "check host and port",
    "tls": "check the host; authorities of your own go into `WebPolicy.ca_bundle`",
    "timeout": "try again, or raise the setting",
    "headers_too_large": "raise the setting, if you trust the site",
    "search_failed": "the message says why each provider gave none; ask others",
    "http_status": "`--any-status` gives the page that came with it",
    "rate_limited": "wait as long as the message says",
    "proxy_failed": "correct the setting; `jupyter webresearch doctor` tries it",
    "proxy_auth": "correct the setting; `jupyter webresearch doctor` tries it",
    "tls_intercepted": "name the proxy's authorities in the setting",
    "budget_unavailable": "mend the storage; `jupyter webresearch doctor` tries it",
    "journal_unavailable": "make room for it, or let operations go on without it",
    "credential_unavailable": "correct the setting; `jupyter webresearch doctor` tries it",
    "too_large": "keep the file with `--save PATH`, or raise the setting",
    "unsupported_content": "keep the file with `--save PATH`",
    "no_text": "`--raw` gives the source",
    "too_complex": "`--raw` gives the source",
    "extraction_failed": "try again; `--raw` gives the source",
    "bad_offset": "begin before the end, which the page's window tells",
    "save_refused": "name a plain file inside the folder",
    "file_exists": "name another, or add `--force`",
    "config": "correct the setting that the message names",
    "unauthorized": "log in to the server, or restart the kernel",
    "internal": "report it, with what the log says",
}

_ROWS = (
    # What the caller wrote can't be read.
    ErrorCode("bad_request", "An argument is missing, unknown or out of range.", 400),
    ErrorCode("invalid_url", "The URL is not an absolute http(s) URL that every parser reads the same way.", 400),
    ErrorCode("request_too_large", "The request body is larger than the limit.", 413, "WebFetch.max_request_body"),
    ErrorCode("blocked_method", "CONNECT, TRACE and names that are not HTTP tokens are not sent.", 400),
    ErrorCode("blocked_header", "This header belongs to the connection or to cloud metadata services.", 400),
    ErrorCode(
        "provider_unavailable",
        "The search provider is unknown, not configured, or can't do that.",
        400,
        "WebSearch.search_backend",
    ),
    # What the policy decided.
    ErrorCode("unsupported_scheme", "Only http and https are read.", 403),
    ErrorCode("blocked_host", "The host name is one that never names a public site.", 403, "WebPolicy.extra_blocked"),
    ErrorCode("blocked_port", "The port is not one of those allowed.", 403, "WebPolicy.allowed_ports"),
    ErrorCode(
        "blocked_address",
        "The host is, or resolves to, an address that is not public.",
        403,
        "WebPolicy.allow_private_networks",
    ),
    ErrorCode("disabled", "This operation is switched off.", 403, "WebPolicy.enabled"),
    ErrorCode("not_allowed", "The host is on no list of hosts that may be read.", 403, "WebPolicy.ceiling"),
    ErrorCode("needs_approval", "A person has to allow this host first.", 403, "WebPolicy.ask"),
    ErrorCode(
        "acting_not_allowed",
        "The host is not on the list of those where something may be changed.",
        403,
        "WebPolicy.acting_ceiling",
    ),
    ErrorCode("robots", "The site's robots.txt asks not to read this.", 403, "WebPolicy.robots"),
    ErrorCode(
        "over_budget",
        "A budget is used up; with retry_after there will be room again in so many seconds.",
        429,
        "WebBudgets",
    ),
    ErrorCode("classifier", "The classifier judged against the request.", 403, "WebClassifier.threshold"),
    ErrorCode("blocked", "What an agent is told of a refusal by the policy, and nothing more.", 403),
    ErrorCode("insecure_redirect", "An https answer redirects to http and would expose what was sent.", 403),
    ErrorCode("redirect_refused", "The redirect would carry a request body to another origin.", 403),
    ErrorCode(
        "too_many_redirects",
        "The chain of redirects is longer than the limit.",
        502,
        "WebFetch.max_redirects",
    ),
    # What the network or the site did.
    ErrorCode("unresolved", "The host name has no address.", 502, "WebFetch.dns_timeout", True),
    ErrorCode("unreachable", "No connection could be made.", 502, None, True),
    ErrorCode("tls", "The certificate or the TLS handshake was not accepted.", 502),
    ErrorCode("timeout", "The time for the whole operation ran out.", 504, "WebFetch.timeout", True),
    ErrorCode("bad_response", "The answer is not valid HTTP.", 502),
    ErrorCode("bad_encoding", "The Content-Encoding is unknown, damaged or nested too deeply.", 502),
    ErrorCode("headers_too_large", "The answer's headers are larger than the limit.", 502, "WebFetch.max_headers"),
    ErrorCode("search_failed", "No search provider gave an answer.", 502, "WebSearch.search_backend"),
    ErrorCode("http_status", "The site answered with a status that is not success.", 502),
    ErrorCode("rate_limited", "The site asks to wait.", 429, None, True),
    ErrorCode(
        "proxy_failed", "The upstream proxy can't be reached or did not connect.", 502, "WebPolicy.upstream_proxy"
    ),
    ErrorCode(
        "proxy_auth", "The upstream proxy asks for other credentials.", 502, "WebPolicy.upstream_proxy_credentials"
    ),
    ErrorCode(
        "tls_intercepted",
        "The certificate was issued by an authority unknown here, behind an upstream proxy.",
        502,
        "WebPolicy.ca_bundle",
    ),
    # What this installation lacks at the moment.
    ErrorCode("budget_unavailable", "The budgets' storage does not answer.", 503, "WebBudgets.when_unavailable", True),
    ErrorCode("journal_unavailable", "The journal can't be written.", 503, "WebJournal.required", True),
    ErrorCode("credential_unavailable", "The credential for this host can't be read.", 503, "WebPolicy.credentials"),
    # What could not be made of the answer.
    ErrorCode(
        "too_large",
        "The body is larger than the limit and of a kind that can't be cut.",
        502,
        "WebFetch.max_body",
    ),
    ErrorCode("unsupported_content", "This kind of content is not shown as text.", 415),
    ErrorCode("no_text", "The page holds no text; it may need a browser.", 422),
    ErrorCode(
        "too_complex",
        "Not even plain text could be had within the time and memory allowed.",
        422,
        "WebExtraction.wall_time",
    ),
    ErrorCode("extraction_failed", "The extraction worker ended without an answer.", 500, None, True),
    # Reading on.
    ErrorCode("bad_offset", "The offset lies beyond the end of the text.", 416),
    ErrorCode(
        "body_dropped",
        "The stored body was dropped to make room; read it again with --fresh.",
        410,
        "WebFetch.store_size",
    ),
    # Saving.
    ErrorCode("save_refused", "The path is not a plain file inside the folder that is saved to.", 403),
    ErrorCode("file_exists", "A file of that name is there already.", 409),
    # Around it.
    ErrorCode("cancelled", "The operation was interrupted.", 499, None, True),
    ErrorCode("config", "A setting can't be used.", 500),
    ErrorCode("unauthorized", "The caller did not prove who it is.", 403),
    ErrorCode("not_found", "There is nothing of that name here.", 404),
    ErrorCode("internal", "A fault of ours.", 500),
)

CODES: dict[str, ErrorCode] = {row.code: row for row in _ROWS}


class WebResearchError(Exception):
    """Base of all errors that an operation raises.

    Parameters
    ----------
    code
        A key of :data:`CODES`; anything else is a programming error.
    message
        One line for people: what happened and what to do. Never holds a resolved address or a secret.
    setting
        ``Class.trait`` that governs this case, when it differs from the table's.
    retry_after
        Seconds after which a retry can succeed, when known.
    page
        The :class:`~jupyter_webresearch.page.Page` that was read all the same (status errors).
    host
        What a person is asked to allow (``needs_approval``).
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        setting: str | None = None,
        retry_after: float | None = None,
        page: Page | None = None,
        host: str = "",
    ) -> None:
        super().__init__(message)
        row = CODES[code]
        self.code = code
        self.message = message
        self.setting = setting if setting is not None else row.setting
        self.retryable = row.retryable or retry_after is not None
        self.status = row.status
        self.retry_after = retry_after
        self.page = page
        self.host = host

    def to_json(self) -> dict[str, Any]:
        """Return the REST error body: ``message``, ``reason``, ``code`` and what else is known."""
        body: dict[str, Any] = {
            "message": self.message,
            "reason": CODES[self.code].meaning,
            "code": self.code,
            "retryable": self.retryable,
        }
        if self.setting:
            body["setting"] = self.setting
        if self.retry_after is not None:
            body["retry_after"] = self.retry_after
        if self.host:
            body["host"] = self.host
        if self.page is not None:
            body["page"] = self.page.to_json()
        return body

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.code!r}, {self.message!r})"

    def _render_traceback_(self) -> list[str]:
        """Return the one line that IPython shows instead of a traceback, which would tell nothing more."""
        from jupyter_webresearch.extraction.sanitise import one_line

        setting = f" (setting: {self.setting})" if self.setting and self.setting not in self.message else ""
        # The code in front: a front end breaks a long line anywhere.
        return [f"{type(self).__name__} [{self.code}]: {one_line(self.message, 1000)}{setting}"]

    @staticmethod
    def from_json(body: dict[str, Any]) -> WebResearchError:
        """Rebuild the error that :meth:`to_json` wrote; an unknown code becomes ``internal``."""
        from jupyter_webresearch.page import Page

        code = str(body.get("code", "internal"))
        if code not in CODES:
            code = "internal"
        page = body.get("page")
        return _class_of(code)(
            code,
            str(body.get("message") or CODES[code].meaning),
            setting=str(body.get("setting") or ""),  # none is left out, whatever the table says
            retry_after=body.get("retry_after"),
            page=Page.from_json(page) if isinstance(page, dict) else None,
            host=str(body.get("host") or ""),
        )


class BadInput(WebResearchError):
    """What the caller wrote can't be read; nothing was sent."""


class Refused(WebResearchError):
    """The policy decided against it; nothing was sent to that destination."""


class Failed(WebResearchError):
    """The network, the site or the extraction did not give a result."""


class NotOfThisKind(BadInput, ValueError):
    """The Page is not what was asked of it, e.g. JSON of an HTML page; its code is ``bad_request``."""

    def __init__(self, message: str) -> None:
        super().__init__("bad_request", message)


_BAD_INPUT = {
    "bad_request",
    "invalid_url",
    "request_too_large",
    "blocked_method",
    "blocked_header",
    "bad_offset",
    "provider_unavailable",
}


def _class_of(code: str) -> type[WebResearchError]:
    if code in _BAD_INPUT:
        return BadInput
    return Refused if CODES[code].status == 403 or code == "over_budget" else Failed
