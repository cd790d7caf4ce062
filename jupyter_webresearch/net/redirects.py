"""Where a redirect leads and what still goes along.

httpx joins ``file:///etc/passwd`` into ``file://<previous host>/etc/passwd`` and fails with an exception of its own on
others; Location is therefore read here, from the raw bytes, and every form on which two readers could disagree is
refused. The joined URL is then judged by the guard like any other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from jupyter_webresearch.errors import BadInput, Refused, WebResearchError
from jupyter_webresearch.policy.admission import Admission
from jupyter_webresearch.policy.urls import MAX_URL, CheckedURL

__all__ = ["REDIRECTS", "as_redirect", "check_location", "join_location", "next_method"]

REDIRECTS = frozenset({301, 302, 303, 307, 308})
"""The statuses whose Location is followed (RFC 9110, 15.4)."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_AUTHORITY = re.compile(rb"(?:[A-Za-z][A-Za-z0-9+.\-]*:)?//[^/?#]*")


def check_location(admission: Admission, base: CheckedURL, values: Sequence[bytes], method: str = "GET") -> CheckedURL:
    """Return the checked URL that a redirect leads to.

    Parameters
    ----------
    admission
        Decides on the joined URL as on any other.
    base
        The URL that answered.
    values
        The raw values of the answer's Location fields.
    method
        Of the request that follows.

    Raises
    ------
    BadInput, Refused
        With the code that the URL itself would have got and a message that begins ``redirect refused:``;
        ``redirect_refused`` for a location that holds a secret that was sent.
    """
    redactor = admission.redactor()
    try:
        if redactor is not None and any(map(redactor.holds, values)):
            raise Refused("redirect_refused", "the location holds a credential that was sent")
        if len(set(values)) != 1:
            raise BadInput("invalid_url", "the answer names several locations")
        return admission.check_url(join_location(base, values[0]), method)
    except WebResearchError as error:
        raise as_redirect(error) from error


def as_redirect(error: WebResearchError) -> WebResearchError:
    """Return the error that the target of a redirect gave, saying so."""
    return type(error)(
        error.code,
        f"redirect refused: {error.message}",
        setting=error.setting,
        retry_after=error.retry_after,
        host=error.host,
    )


def join_location(base: CheckedURL, location: bytes) -> str:
    """Join a Location with the URL that sent it (RFC 3986, 5.2).

    Parameters
    ----------
    base
        The URL that answered.
    location
        The raw field value.

    Returns
    -------
    str
        A URL with a scheme. Not yet checked: what readers repair in different ways (control characters, backslashes,
        ``http:host``, ``///host``) stands as it came, for the guard to refuse.

    Raises
    ------
    BadInput
        ``invalid_url``: too long, or a host that is not UTF-8.
    """
    if len(location) > MAX_URL:
        raise BadInput("invalid_url", f"the location is longer than {MAX_URL:,} characters")
    reference = _text(location.strip(b" ")).partition("#")[0]
    path = base.target.partition("?")[0]
    if _SCHEME.match(reference):
        return reference
    if reference.startswith("//"):
        return f"{base.scheme}:{reference}"
    if reference.startswith("/"):
        return base.origin + reference
    if not reference:
        return base.href
    if reference.startswith("?"):
        return base.origin + path + reference
    return base.origin + path[: path.rfind("/") + 1] + reference


def _text(location: bytes) -> str:
    """Read raw bytes as a URL: in the host non-ASCII is UTF-8, elsewhere it is percent-encoded as it came."""
    authority = _AUTHORITY.match(location)
    cut = authority.end() if authority else 0
    try:
        host = location[:cut].decode()
    except UnicodeDecodeError as error:
        raise BadInput("invalid_url", "the location's host is not readable") from error
    return host + "".join(f"%{byte:02X}" if byte == 0x20 or byte > 0x7F else chr(byte) for byte in location[cut:])


def next_method(status: int, method: str) -> str:
    """Return the method of the request that follows a redirect.

    303, and 301 and 302 after POST, become GET (Fetch Standard, 4.4, step 12); HEAD stays HEAD.

    Parameters
    ----------
    status
        Of the redirect.
    method
        Of the request that was redirected.
    """
    if (status == 303 and method != "HEAD") or (status in (301, 302) and method == "POST"):
        return "GET"
    return method
