"""Secrets that were sent, replaced where an answer holds them.

A site may echo what it was sent: in a debugging page, an error, a header, a redirect. What is searched for is the
secret as encoders write it, whole: plain, with any of its characters escaped for JSON, URLs or HTML, in hexadecimal, in
UTF-16, and in base64 whatever stands before it. A site that wants to hand it on in a form of its own can.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from html.entities import codepoint2name

__all__ = ["Redactor", "SecretForms"]

_LONGEST_ESCAPE = 28
"""Bytes of one character in its longest form: four bytes of UTF-8 as ``%2525NN`` each."""

LONG = 512
"""Characters of a secret above which letters and digits are not expected to be escaped: the pattern takes too long."""

# A letter or digit that is escaped, which no encoder needs to do; only then is the slow search worth its time.
_ALNUM = "3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]"
_ALNUM_DECIMAL = "4[89]|5[0-7]|6[5-9]|[78][0-9]|9[0-9]|1[01][0-9]|12[0-2]"
_ESCAPED_ALNUM = re.compile(
    (
        rf"%(?:25){{0,2}}(?:{_ALNUM})|\\u00(?:{_ALNUM})"
        rf"|&(?:amp;){{0,2}}#(?:0{{0,6}}(?:{_ALNUM_DECIMAL})|[xX]0{{0,6}}(?:{_ALNUM}))"
    ).encode()
)
_URL_SAFE = str.maketrans("+/", "-_")
_ENTITIES = {point: name for point, name in codepoint2name.items() if point != 0x27} | {0x27: "apos"}


class SecretForms:
    """The forms in which secrets are searched for; made once, because that takes time, and used by any thread.

    Parameters
    ----------
    secrets
        What each secret is replaced by, e.g. ``credential:example``.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        # The longest first, should one secret hold another.
        ordered = sorted(secrets, key=len, reverse=True)
        self._labels = [secrets[secret] for secret in ordered]
        fast = [_pattern(secret, _escaped_where_needed) for secret in ordered]
        slow = [
            _pattern(secret, _escaped) if len(secret) <= LONG else one
            for secret, one in zip(ordered, fast, strict=True)
        ]
        self._fast = re.compile(b"|".join(fast))
        self._slow = re.compile(b"|".join(slow))
        self._any_case = re.compile(b"|".join(slow), re.IGNORECASE)
        # Only to tell which of several was found.
        self._each = [re.compile(pattern, re.IGNORECASE) for pattern in slow] if len(slow) > 1 else []
        self.reach = max(map(_reach, ordered))
        """Most bytes that a form takes."""

    def replaced(self, data: bytes, *, any_case: bool = False) -> bytes:
        """Return the data with each secret replaced.

        Parameters
        ----------
        data
            Where to look.
        any_case
            Whether a secret counts in upper and lower case too, as in names of hosts and headers.
        """
        return (self._any_case if any_case else self._pattern_for(data)).sub(self._label, data)

    def beginning(self, data: bytes) -> tuple[bytes, int]:
        """Replace what can be decided before more data follows.

        Parameters
        ----------
        data
            The beginning of what is searched.

        Returns
        -------
        replaced : bytes
            The decided part without secrets.
        size : int
            How many bytes of the data it stands for; a secret may begin in those after it.
        """
        parts: list[bytes] = []
        at = 0
        for match in self._pattern_for(data).finditer(data):
            parts += data[at : match.start()], self._label(match)
            at = match.end()
        end = max(at, len(data) - self.reach + 1)
        return b"".join([*parts, data[at:end]]), end

    def holds(self, data: bytes) -> bool:
        """Whether the data holds a secret, in any case."""
        return self._any_case.search(data) is not None

    def _pattern_for(self, data: bytes) -> re.Pattern[bytes]:
        return self._slow if _ESCAPED_ALNUM.search(data) else self._fast

    def _label(self, match: re.Match[bytes]) -> bytes:
        found = match[0]
        label = self._labels[next((at for at, one in enumerate(self._each) if one.fullmatch(found)), 0)]
        if b"\0" in found:
            return label.encode("utf-16-be" if found.startswith(b"\0") else "utf-16-le")
        return label.encode()


class Redactor:
    """Replaces secrets in one answer: in its fields, and in its body as it arrives.

    Parameters
    ----------
    forms
        What to look for.
    """

    def __init__(self, forms: SecretForms) -> None:
        self._forms = forms
        self._waiting = bytearray()

    def name(self, raw: bytes) -> bytes:
        """Return the name of a field without secrets; its case is not told."""
        return self._forms.replaced(raw, any_case=True)

    def value(self, raw: bytes) -> bytes:
        """Return the value of a field without secrets."""
        return self._forms.replaced(raw)

    def holds(self, raw: bytes) -> bool:
        """Whether a value holds a secret, in upper or lower case too."""
        return self._forms.holds(raw)

    def feed(self, piece: bytes) -> bytes:
        """Take the next piece of a body; return what is certain by now, which may be nothing."""
        self._waiting += piece
        # Enough at a time that what is looked at twice is no more than what is looked at once.
        if len(self._waiting) < 2 * self._forms.reach:
            return b""
        replaced, size = self._forms.beginning(bytes(self._waiting))
        del self._waiting[:size]
        return replaced

    def flush(self) -> bytes:
        """Return the rest, at the end of the body."""
        data = bytes(self._waiting)
        self._waiting.clear()
        return self._forms.replaced(data)


def _pattern(secret: str, spelt: Callable[[str], bytes]) -> bytes:
    """Return the regular expression of all forms of a secret."""
    raw = secret.encode()
    forms = [b"".join(map(spelt, secret))]
    for core in _base64_cores(raw):
        forms += {b"".join(map(_escaped_where_needed, form)) for form in (core, core.translate(_URL_SAFE))}
    forms += [raw.hex().encode(), raw.hex().upper().encode()]
    forms += [re.escape(secret.encode("utf-16-le")), re.escape(secret.encode("utf-16-be"))]
    return b"|".join(forms)


def _reach(secret: str) -> int:
    """Return the most bytes that a form of a secret takes."""
    longest = max(
        len(core) + (_LONGEST_ESCAPE - 1) * len(re.findall("[+/]", core)) for core in _base64_cores(secret.encode())
    )
    return max(longest, _LONGEST_ESCAPE * len(secret))


def _base64_cores(raw: bytes) -> list[str]:
    """Return what base64 makes of the bytes for each number of bytes before them, without what neighbours decide."""
    cores = []
    for before, cut in ((0, 0), (1, 2), (2, 3)):
        encoded = base64.b64encode(bytes(before) + raw).decode("ascii")
        cores.append(encoded[cut : (before + len(raw)) * 8 // 6])
    return cores


def _escaped_where_needed(character: str) -> bytes:
    """Return the pattern of a character that encoders escape unless it is a letter or digit."""
    if character.isascii() and character.isalnum():
        return character.encode()
    return _escaped(character)


def _escaped(character: str) -> bytes:
    """Return the pattern of a character in any escape, once or several times over."""
    raw = character.encode()
    point = ord(character)
    percent = "".join(rf"%(?:25){{0,2}}{_hexadecimal(byte, 2)}" for byte in raw).encode()
    units = character.encode("utf-16-be")
    unicode = "".join(
        rf"\\{{1,4}}u{_hexadecimal(int.from_bytes(units[at : at + 2], 'big'), 4)}" for at in range(0, len(units), 2)
    ).encode()
    number = rf"#(?:0{{0,6}}{point}|[xX]0{{0,6}}{_hexadecimal(point, 1)})"
    entity = f"{number}|{_ENTITIES[point]}" if point in _ENTITIES else number
    html = f"&(?:amp;){{0,2}}(?:{entity});?".encode()
    choices = [percent, unicode, html, re.escape(raw)]
    if not (character.isascii() and character.isalnum()):
        choices.insert(0, rb"\\{1,4}" + re.escape(raw))
    if character == " ":
        choices.append(rb"\+")
    return b"(?:" + b"|".join(choices) + b")"


def _hexadecimal(number: int, digits: int) -> str:
    """Return the pattern of a number in hexadecimal, in upper and lower case."""
    text = f"{number:0{digits}x}"
    return "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in text)
