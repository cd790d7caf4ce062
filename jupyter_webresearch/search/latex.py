"""Text of strangers for a document that TeX typesets: each character that TeX would obey is printed instead.

Accents stay as they are, in UTF-8. Mathematics stays where it is made of symbols only: TeX reads files and runs
programs when a command tells it to.
"""

from __future__ import annotations

import re

__all__ = ["escaped", "title", "verbatim"]

# BibTeX counts braces whatever stands before them: \{ would unbalance its file.
_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\textbraceleft{}",
        "}": r"\textbraceright{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        **{character: "\\" + character for character in "&%$#_"},
    }
)
_ENCODED = {character: f"%{ord(character):02X}" for character in '{}\\^" '}
_MATHEMATICS = re.compile(r"\$(?=[^\s$])([^$]{1,300})(?<=[^\s$])\$(?!\d)")
_CHARACTERS = re.compile(r"[A-Za-z0-9\s+\-*/=<>()\[\]{}^_.,:;!'|\\]*")
_COMMAND = re.compile(r"\\([A-Za-z]+|.|$)")
_SYMBOLS = re.compile(
    """
    [,;:!\\ ]
    | (?:var)?(?:alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|upsilon|phi
      |chi|psi|omega) | Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Upsilon|Phi|Psi|Omega
    | math(?:bb|bf|cal|frak|it|rm|sf|scr) | text|bar|hat|tilde|vec|d?dot|overline|underline|sqrt|frac
    | pm|mp|times|cdots?|l?dots|circ|ast|star|oplus|otimes|leq?|geq?|neq?|equiv|sim(?:eq)?|approx|propto|ll|gg
    | to|(?:left|right|leftright|Right)arrow|mapsto|infty|partial|nabla|forall|exists|(?:not)?in|subset(?:eq)?|cup|cap
    | emptyset|sum|prod|int|ell|hbar|dagger|prime|langle|rangle|log|ln|exp|sin|cos|tan|min|max|sup|inf|lim|dim|ker|deg
    """,
    re.VERBOSE,
)


def escaped(text: str) -> str:
    """Return text that TeX prints as it is."""
    return text.translate(_ESCAPES)


def verbatim(text: str) -> str:
    """Return an identifier or a URL for a field that styles print as it is.

    What would end the field or begin a command, ``^^5c`` among it, is percent-encoded.
    """
    return re.sub(r'[{}\\^" ]', lambda found: _ENCODED[found[0]], text)


def title(text: str) -> str:
    """Return a title whose capitals stay as they are in styles that write titles small."""
    parts: list[str] = []
    end = 0
    for match in _MATHEMATICS.finditer(text):
        if _is_harmless(match[1]):
            parts += [_words(text[end : match.start()], is_start=end == 0), f"{{{match[0]}}}"]
            end = match.end()
    return "".join((*parts, _words(text[end:], is_start=end == 0)))


def _words(text: str, *, is_start: bool) -> str:
    """Return text with each word in braces that has a capital, but for the first letter of a title."""
    pieces = re.split(r"(\s+)", text)
    return "".join(_word(piece, is_first=is_start and number == 0) for number, piece in enumerate(pieces))


def _word(word: str, *, is_first: bool) -> str:
    written = escaped(word)
    if not any(character.isupper() for character in (word[1:] if is_first else word)):
        return written
    # A group that begins with a command is "special" to BibTeX, which changes the case in it all the same.
    return f"{{{{{written}}}}}" if written.startswith("\\") else f"{{{written}}}"


def _is_harmless(mathematics: str) -> bool:
    """Whether nothing but symbols is in it, with balanced braces; ``^^5c`` is a backslash to TeX."""
    if "^^" in mathematics or not _CHARACTERS.fullmatch(mathematics):
        return False
    if not all(_SYMBOLS.fullmatch(command) for command in _COMMAND.findall(mathematics)):
        return False
    depth = 0
    for character in mathematics:
        depth += (character == "{") - (character == "}")
        if depth < 0:
            return False
    return depth == 0
