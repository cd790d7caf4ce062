"""Secrets taken out of URLs and texts, before they are written down or told.

Better too much than too little: what may be a secret becomes REDACTED. Everything here takes time in proportion to the
length of what it is given: each pattern either has no end to look for behind its repetition, or can't begin anew within
it.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from urllib.parse import unquote

from jupyter_webresearch.extraction.sanitise import clean

__all__ = ["MAX_URL", "REDACTED", "redact_text", "redact_url"]

REDACTED = "REDACTED"
MAX_URL = 2048
"""Longest URL that is returned, in characters."""

# Names of secrets, in lower case and without what separates words: those that are one, words of one, parts of one.
_NAMES = frozenset(
    """
    accesscode activationcode authcode authorizationcode bearer code codeverifier confirmationcode creds cvc cvv
    devicecode hmac invitecode mfacode otp passcode passphrase pin resetcode samlrequest samlresponse sas sign ticket
    totp usercode verificationcode
    appid clave contrasena csrf kennwort mdp motdepasse parole pw senha xsrf
    se sp sip ske skoid sks skt sktid skv spr
    """.split()  # noqa: SIM905 -- a list of names, one a line, would hide the rest
)
_WORDS = {
    "auth",
    "cookie",
    "jwt",
    "key",
    "pass",
    "passwd",
    "password",
    "pwd",
    "secret",
    "session",
    "sid",
    "sig",
    "token",
}
_PARTS = re.compile(
    r"token|secret|passw|apikey|accesskey|keyid|signature|credential|session|sessid|authoriz|authentic|assertion|jwt"
    r"|accessid|hdnea|hdnts|oauth|^xamz|^xgoog|(?<!mon|tur|hoc|don|joc)key$|auth$|passwd$|pwd$"
)
# Those after which a colon in prose, too, is followed by one.
_PLAIN_PARTS = re.compile("token$|secret|passw|apikey|accesskey|privatekey|credential|jwt$|passwd$|pwd$|authoriz")
# In a path, what stands after one of these, or after a name of a secret, is one if it looks like one.
_LINKS = frozenset("activate activation confirm invitation invite magic reset unsubscribe verification verify".split())  # noqa: SIM905
_KEY_OF_TWO_WORDS = ("api ", "access ", "secret ", "private ")
_LONGEST_NAME = 128
_BETWEEN_WORDS = re.compile("[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])")

# Values that are secrets by their form: JSON Web Tokens, keys of well-known services.
_KNOWN = re.compile(
    r"""
    eyJ[A-Za-z0-9_-]{12,}(?:\.[A-Za-z0-9_-]+)*
    | (?<![A-Z0-9])(?:AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AIPA|ANPA|ANVA|AROA)[A-Z0-9]{12,}
    | (?<![A-Za-z0-9])(?:
        gh[pousr]_[A-Za-z0-9]{16,} | github_pat_[A-Za-z0-9_]{16,} | glpat-[A-Za-z0-9_-]{16,}
        | (?:sk|rk|pk)[-_](?=[A-Za-z0-9_-]{0,40}[0-9])[A-Za-z0-9_-]{16,} | xox[a-z]-[A-Za-z0-9-]{8,}
        | AIza[A-Za-z0-9_-]{20,} | ya29\.[A-Za-z0-9_-]{8,} | hf_[A-Za-z0-9]{16,} | npm_[A-Za-z0-9]{16,}
        | pypi-[A-Za-z0-9_-]{16,} | SG\.[A-Za-z0-9_-]{16,} | dop_v1_[a-f0-9]{16,} | shp[a-z]{2}_[a-f0-9]{16,}
        | (?:bot)?[0-9]{6,12}:[A-Za-z0-9_-]{30,}
      )
    | (?<=/webhooks/)[0-9]{15,20}/[A-Za-z0-9_-]{30,}
    | (?<=/services/)T[A-Z0-9]{6,20}/B[A-Z0-9]{6,20}/[A-Za-z0-9]{12,}
    """,
    re.VERBOSE,
)
_LONG_HEX = re.compile(r"(?<![0-9A-Za-z])(?:[0-9a-f]{32,}|[0-9A-F]{32,})(?![0-9A-Za-z])")
# Long runs in which letters and digits change about as in no words.
_RUN = re.compile(r"[A-Za-z0-9_~+/=.-]{24,}")
_NO_LETTER_OR_DIGIT = re.compile("[^A-Za-z0-9]+")
_CHANGE = re.compile("[a-z](?=[A-Z0-9])|[A-Z](?=[0-9])|[0-9](?=[A-Za-z])")
_CHANGING = 0.25  # of all places; about 0.45 in random text
_SHORTEST = 4  # characters of what can be seen to be one, or to hold one
_SHORTEST_RUN, _FEWEST_DIGITS = 20, 2

_SCHEME = re.compile("[A-Za-z][A-Za-z0-9+.-]{0,30}:")
_OPENING = re.compile(r"[/\\]*")
_AUTHORITY_END = re.compile(r"[/\\?]")
_USER_END = re.compile("@|%(?:25)*40")
_PORT = re.compile("(?::[0-9]{0,6})?")
_NESTED_USER = re.compile(r"//[^/?#\s]*@")
_SEPARATOR = re.compile("([&;])")
_MOST_DECODED = 3  # times that something may be percent-encoded

_PEM = re.compile(r"-----BEGIN [A-Z0-9 ]{1,40}-----.*?(?:-----END [A-Z0-9 ]{1,40}-----|\Z)", re.DOTALL)
_HEADER = re.compile(
    r"""(?<![A-Za-z0-9-])((?:(?:proxy-)?authorization|(?:set-)?cookie|x-api-key|x-auth-token)["']?[ \t]{0,4}[:=]"""
    r"""(?![ \t]{0,4}["']?REDACTED)"""
    r"""[ \t]{0,4}["']?)[^\n"']+""",
    re.IGNORECASE,
)
_URL_AFTER_SCHEME = re.compile(r"(?<=:)//[^\s<>\"'`]+")
_NAME = re.compile(r"""(?<![A-Za-z0-9_.-])([A-Za-z0-9_.-]+)(["'\]]?)[ \t]{0,3}([=:])[ \t]{0,3}""")
_VALUE = re.compile(r""""[^"\n]*"?|'[^'\n]*'?|[^\s"'&,;<>(){}\[\]|]+""")
_BEARER = re.compile(r"\b(bearer[ \t]{1,4})[A-Za-z0-9._~+/=:-]{6,}", re.IGNORECASE)
_BASIC = re.compile(r"\b(basic[ \t]{1,4})([A-Za-z0-9+/_-]{6,})={0,2}", re.IGNORECASE)
_WHITE = re.compile(r"\s")


def redact_url(url: str) -> str:
    """Return a URL without what only its owner should know, on one line and at most :data:`MAX_URL` characters long.

    User information and fragment go. In query and path parameters, values of key-like names and values that look like
    secrets become REDACTED; in the path, what has the form of a well-known secret, and what looks like a secret after a
    name such as ``token`` or ``reset``.
    """
    text = _WHITE.sub("%20", clean(url)[0].strip()).partition("#")[0]
    place, mark, query = text.partition("?")
    scheme = _scheme(place)
    opening = _matched(_OPENING, place, len(scheme))
    rest = place[len(scheme) + len(opening) :]
    if scheme and not opening:
        return scheme + REDACTED  # data:, mailto: and others, which may hold anything
    authority = "" if opening and not scheme and len(opening) < 2 else _AUTHORITY_END.split(rest, maxsplit=1)[0]
    host, port = _host_and_port(authority)
    redacted = scheme + opening + host
    if _PORT.fullmatch(port):
        redacted += port + _path(rest[len(authority) :]) + mark + "".join(map(_parameter, _SEPARATOR.split(query)))
    else:  # the beginning of a password that holds a slash, a question mark or a hash
        redacted += f":{REDACTED}"
    return redacted if len(redacted) <= MAX_URL else redacted[: MAX_URL - 1] + "…"


def redact_text(text: str) -> str:
    """Return a text without secrets and control characters, on one line.

    URLs in it are redacted. Tokens, Authorization and Cookie headers, keys of well-known services, PEM blocks and the
    values of key-like names become REDACTED.
    """
    text = clean(text)[0]
    text = _PEM.sub(REDACTED, text)
    text = _HEADER.sub(rf"\1{REDACTED}", text)
    text = _URL_AFTER_SCHEME.sub(lambda match: redact_url(match[0]), text)
    text = _without_assigned(text)
    text = _BEARER.sub(rf"\1{REDACTED}", text)
    text = _BASIC.sub(lambda match: match[1] + REDACTED if _is_user_and_password(match[2]) else match[0], text)
    return _WHITE.sub(" ", _KNOWN.sub(REDACTED, text))


# ------------------------------------------------------------------ parts of a URL


def _scheme(place: str) -> str:
    """Return a scheme with its colon; none where a host or user name stands before a colon."""
    scheme = _matched(_SCHEME, place, 0)
    after = place[len(scheme) :]
    if not scheme or after.startswith(("/", "\\")):
        return scheme
    before_path = _AUTHORITY_END.split(after, maxsplit=1)[0]
    is_host = "@" in before_path or re.fullmatch("[0-9]{1,6}", before_path) is not None
    return "" if is_host else scheme


def _host_and_port(authority: str) -> tuple[str, str]:
    """Return host, and port with its colon, without user information."""
    text = _USER_END.split(authority)[-1]
    bracket = text.find("]") + 1
    host = text[:bracket] if bracket else text.partition(":")[0]
    return host, text[len(host) :]


def _path(text: str) -> str:
    text = _NESTED_USER.sub("//", _KNOWN.sub(REDACTED, text))
    segments = text.split("/")
    return "/".join(map(_segment, segments, ["", *segments]))


def _segment(text: str, before: str) -> str:
    name, *parameters = text.split(";")
    if before and _leads_to_secret(before) and _is_secret(name):
        name = REDACTED
    elif "%" in name or "=" in name:
        decoded = _decoded(name)
        if _KNOWN.search(decoded) or _NESTED_USER.search(decoded) or _assigns_secret(decoded):
            name = REDACTED
    return ";".join([name, *map(_parameter, parameters)])


def _parameter(text: str) -> str:
    name, equals, value = text.partition("=")
    shown = REDACTED if _is_secret(name) else name
    return shown + equals + (REDACTED if value and (_is_key_like(name) or _is_secret(value)) else value)


# ------------------------------------------------------------------ what is a secret


def _is_key_like(name: str) -> bool:
    """Whether what has such a name is a secret, whatever separates its words."""
    name = unicodedata.normalize("NFKD", _decoded(name[-_LONGEST_NAME:]))
    words = [word.lower() for word in _BETWEEN_WORDS.split(name)]
    together = "".join(words)
    return together in _NAMES or not _WORDS.isdisjoint(words) or _PARTS.search(together) is not None


def _leads_to_secret(segment: str) -> bool:
    """Whether what follows such a segment of a path may be one."""
    return not _LINKS.isdisjoint(_BETWEEN_WORDS.split(segment[-_LONGEST_NAME:].lower())) or _is_key_like(segment)


def _is_secret(value: str) -> bool:
    """Whether a value looks like one, or holds one."""
    if len(value) < _SHORTEST:
        return False
    text = _decoded(value)
    return (
        _KNOWN.search(text) is not None
        or _LONG_HEX.search(text) is not None
        or _NESTED_USER.search(text) is not None
        or _assigns_secret(text)
        or any(_is_random(match[0]) for match in _RUN.finditer(text))
    )


def _is_random(run: str) -> bool:
    text = _NO_LETTER_OR_DIGIT.sub("", run)
    digits = sum(map(str.isdigit, text))
    changes = sum(1 for _ in _CHANGE.finditer(text))
    return len(text) >= _SHORTEST_RUN and digits >= _FEWEST_DIGITS and changes >= _CHANGING * len(text)


def _assigns_secret(text: str) -> bool:
    return any(_VALUE.match(text, name.end()) for name in _NAME.finditer(text) if _is_assigned_secret(name))


def _without_assigned(text: str) -> str:
    kept = []
    position = 0
    for name in _NAME.finditer(text):
        if name.start() >= position and _is_assigned_secret(name):
            value = _VALUE.match(text, name.end())
            if value is not None:
                kept += [text[position : name.end()], _without_quoted(value[0])]
                position = value.end()
    return "".join([*kept, text[position:]])


def _without_quoted(value: str) -> str:
    quote = value[0] if value[0] in "\"'" else ""
    return quote + REDACTED + (quote if len(value) > 1 and value.endswith(quote) else "")


def _is_assigned_secret(match: re.Match[str]) -> bool:
    """Whether what follows ``name=``, ``"name":`` or, in prose, ``name:`` is a secret."""
    name, quote, sign = match.groups()
    if sign == "=" or quote:
        return _is_key_like(name)
    before = match.string[max(match.start() - 10, 0) : match.start()].lower()
    together = _NO_LETTER_OR_DIGIT.sub("", name[-_LONGEST_NAME:].lower())
    is_of_two_words = together == "key" and before.endswith(_KEY_OF_TWO_WORDS)
    return is_of_two_words or _PLAIN_PARTS.search(together) is not None


def _is_user_and_password(text: str) -> bool:
    """Whether this is what ``Basic`` authentication sends (RFC 7617), not a word of prose."""
    try:
        return b":" in base64.urlsafe_b64decode(text[: len(text) // 4 * 4].replace("+", "-").replace("/", "_"))
    except binascii.Error:
        return False


# ------------------------------------------------------------------ reading


def _decoded(text: str) -> str:
    for _ in range(_MOST_DECODED):
        if "%" not in text:
            break
        text = unquote(text)
    return text


def _matched(pattern: re.Pattern[str], text: str, position: int) -> str:
    match = pattern.match(text, position)
    return match[0] if match else ""
