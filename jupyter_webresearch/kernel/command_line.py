"""What is written after a magic's name, read the same on every platform.

IPython's own parsing can't be used for URLs: it evaluates ``{...}`` and ``$x`` as Python, takes a comment for more
arguments, and keeps the quotes that a shell would remove.
"""

from __future__ import annotations

import argparse
import json
import keyword
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from IPython.core.error import UsageError

from jupyter_webresearch.kernel.request import fetch_request
from jupyter_webresearch.models import FetchRequest

__all__ = [
    "HELP",
    "OPTIONS",
    "Command",
    "Parser",
    "Word",
    "check_whole",
    "look_up",
    "names_variable",
    "parse",
    "split_words",
    "values_of",
    "without_comment",
]

HELP = """\
Read a web page: `%webfetch URL [options]`, or many with `%%webfetch`.

The result is a Page: put it in a variable, or let the cell show it.

    %webfetch https://example.org/article
    page = %webfetch example.org              # a bare host is read over https
    page.markdown, page.text, page.links, page.tables, page.metadata, page.source

    %webfetch https://example.org/article --offset 40000       # read on: free, the same bytes
    %webfetch https://example.org/api -X POST -H "Accept: application/json" -d '{"q": 1}'
    %webfetch https://example.org/data.zip --save data.zip

    %%webfetch --fresh
    # one URL a line; the list that comes back is in their order, failures in their places
    https://example.org/one
    https://example.org/two

After that cell the list is `_`, or the variable that --into names. A list of yours is read in the same way:

    %webfetch {urls}

What to show
    --offset N        begin at character N of the text; the page is not downloaded again
    --max-bytes N     show at most N bytes of text (the setting is WebFetch.max_bytes)
    --raw             show the source instead of the article

How to ask
    -X, --method M    any method but CONNECT and TRACE; GET without a body, POST with one
    -H, --header H    a header, "Name: value"; may be given again
    -d, --data BODY   the request body
    --fresh           ask the site again, even if the page was read a moment ago
    --any-status      return the page whatever its status, instead of raising an error for 404 and the like

Where to keep it
    --save PATH       write the body to PATH, inside this folder, instead of reading it as text
    --force           write over an existing file
    --into NAME       put the result in the variable NAME, as well as showing it

-h, --help            show this

Arguments are split as a shell does it: quote what holds spaces, 'like this' or "like this". An argument that is nothing
but {name}, $name or {name.attribute} is looked up among your variables, unless it stands in single quotes; nothing is
evaluated. A # behind a space begins a comment, as in the lines above; in a URL or between quotes it is itself. What
the policy refuses, it refuses with a code and the setting that governs it.
"""

_PATH = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_REFERENCE = re.compile(rf"\{{({_PATH})\}}|\$({_PATH})")
_COMMENT = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|(?P<comment>(?<!\S)\#)""", re.DOTALL)
_NOT_WHOLE = re.compile(r"(?:https?://)?[^/?#]*(?:[{}]|\$\w)", re.IGNORECASE)
_TAKES_ANYTHING = {"-H": "--header", "--header": "--header", "-d": "--data", "--data": "--data"}


@dataclass(frozen=True)
class Word:
    """One argument: its text without quotes, and whether single quotes keep it from being looked up."""

    text: str
    literal: bool = False


def without_comment(line: str) -> str:
    """Return a line without the comment at its end, which a ``#`` begins that is outside of quotes and behind a space.

    A ``#`` inside a URL is part of the URL.
    """
    for match in _COMMENT.finditer(line):
        if match["comment"]:
            return line[: match.start()].rstrip()
    return line


def split_words(line: str) -> list[Word]:
    r"""Split a line into arguments.

    Quotes are removed as a POSIX shell does: nothing is special between single quotes; between double quotes ``\"`` and
    ``\\`` stand for the quote and the backslash. Everywhere else a backslash is itself, so that Windows paths survive,
    and ``;``, ``?``, ``*`` and ``~`` mean nothing. A comment is left out.

    Raises
    ------
    UsageError
        When a quote is not closed.
    """
    words: list[Word] = []
    text: list[str] = []
    inside = literal = False
    characters = iter(without_comment(line))
    for character in characters:
        if character.isspace():
            if inside:
                words.append(Word("".join(text), literal))
                text, inside, literal = [], False, False
            continue
        inside = True
        if character == "'":
            literal = True
            text.append(_quoted(characters, "'", escapes=False))
        elif character == '"':
            text.append(_quoted(characters, '"', escapes=True))
        else:
            text.append(character)
    if inside:
        words.append(Word("".join(text), literal))
    return words


def _quoted(characters: Any, quote: str, *, escapes: bool) -> str:
    text: list[str] = []
    for character in characters:
        if character == quote:
            return "".join(text)
        if escapes and character == "\\":
            following = next(characters, "")
            text.append(following if following in ('"', "\\") and following else "\\" + following)
        else:
            text.append(character)
    raise UsageError(f"a quote ({quote}) is not closed; a URL that holds one goes between quotes of the other kind")


def look_up(word: Word, namespace: Mapping[str, Any]) -> Any:
    """Return what an argument stands for.

    Only an argument that is wholly ``{name}``, ``$name``, ``{name.attribute}`` or ``$name.attribute`` is looked up, by
    name and attributes alone: no expression is evaluated, nothing is called or indexed.

    Parameters
    ----------
    word
        An argument of the command line.
    namespace
        The notebook's variables.

    Raises
    ------
    UsageError
        When there is no such name or attribute.
    """
    match = None if word.literal else _REFERENCE.fullmatch(word.text)
    if match is None:
        return word.text
    name, *attributes = (match[1] or match[2]).split(".")
    if name not in namespace:
        raise UsageError(f"the variable {name!r} does not exist; '{word.text}' in single quotes is sent as it is")
    value = namespace[name]
    for attribute in attributes:
        try:
            value = getattr(value, attribute)
        except Exception as error:  # a property may raise anything
            raise UsageError(f"{word.text}: {type(error).__name__}: {error}") from error
    return value


def names_variable(text: str, namespace: Mapping[str, Any]) -> bool:
    """Return whether a text is wholly a reference, as :func:`look_up` takes it, to a variable that is there.

    Parameters
    ----------
    text
        An argument as written.
    namespace
        The notebook's variables.
    """
    match = _REFERENCE.fullmatch(text)
    return match is not None and (match[1] or match[2]).split(".")[0] in namespace


def _text_of(value: Any, word: Word) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")  # a body; Command.requests() turns it back
    if isinstance(value, int | float) and not isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    hint = "; web.fetch(url, json=...) takes it" if isinstance(value, dict | list) else ""
    raise UsageError(f"{word.text} is a {type(value).__name__}; an argument is text, a number or a path{hint}")


@dataclass(frozen=True)
class Command:
    """A line as understood.

    Attributes
    ----------
    urls
        The URLs on the line itself.
    help
        Whether only the help text is asked for.
    save, force
        Where the body goes, and whether it may take the place of a file.
    into
        Variable for the result.
    batch
        Whether the URLs were given as a list, so that a list comes back, however many they are.
    options
        Keyword arguments of :func:`~jupyter_webresearch.kernel.request.fetch_request`.
    """

    urls: tuple[str, ...]
    help: bool
    save: str | None
    force: bool
    into: str | None
    batch: bool
    options: Mapping[str, Any]

    def request(self, url: str) -> FetchRequest:
        """Return the request for one URL."""
        return fetch_request(url, **self.options, save=self.save is not None)


def check_whole(url: str) -> None:
    """Refuse a URL in which a variable stands where a host does: it was not looked up.

    Raises
    ------
    UsageError
        Saying what was received, and what to write instead.
    """
    if _NOT_WHOLE.match(url):
        raise UsageError(
            f"the URL received is {url!r}: a variable is looked up only when it is the whole argument; "
            'put the URL together first, url = f"...", then %webfetch {url}'
        )


def parse(line: str, namespace: Mapping[str, Any], *, magic: str = "%webfetch") -> Command:
    """Read the arguments of ``%webfetch`` or ``%%webfetch``.

    Parameters
    ----------
    line
        What follows the magic's name.
    namespace
        The caller's variables.
    magic
        Its name, for messages.

    Raises
    ------
    UsageError
        One line: what is wrong, and where help is.
    """
    arguments, batch = values_of(split_words(line), namespace)
    given = _parser(magic).parse_args(_joined(arguments))
    headers = []
    for header in given.header:
        name, colon, value = header.partition(":")
        if not colon or not name.strip():
            raise UsageError(f'a header is written "Name: value", not {header!r}')
        headers.append((name.strip(), value.strip()))
    body = None if given.data is None else given.data.encode("utf-8", "surrogateescape")
    if given.into is not None and (not given.into.isidentifier() or keyword.iskeyword(given.into)):
        raise UsageError(f"--into takes the name of a variable, not {given.into!r}")
    if given.force and given.save is None:
        raise UsageError("--force goes with --save PATH")
    return Command(
        urls=tuple(given.url),
        help=given.help,
        save=given.save,
        force=given.force,
        into=given.into,
        batch=batch,
        options={
            "method": given.method,
            "headers": headers,
            "data": body,
            "offset": given.offset,
            "max_bytes": given.max_bytes,
            "raw": given.raw,
            "fresh": given.fresh,
            "any_status": given.any_status,
        },
    )


def values_of(words: Sequence[Word], namespace: Mapping[str, Any]) -> tuple[list[str], bool]:
    """Return what the words stand for, a list's items in its place, and whether there was a list of arguments.

    Parameters
    ----------
    words
        Of the command line.
    namespace
        The notebook's variables.

    Raises
    ------
    UsageError
        When one does not exist, or is no text.
    """
    values: list[str] = []
    batch = False
    before = ""
    for word in words:
        value = look_up(word, namespace)
        if isinstance(value, list | tuple) and before not in _TAKES_VALUE:
            if not all(isinstance(item, str) for item in value):
                raise UsageError(f"{word.text} holds more than text; a list of texts is read, e.g. [link.url for ...]")
            values += value
            batch = True
        else:
            values.append(_text_of(value, word))
        before = word.text
    return values, batch


def _joined(arguments: Sequence[str]) -> list[str]:
    """Tie -H and -d to the argument that follows, which may begin with a dash of its own."""
    joined: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        value = next(rest, None) if argument in _TAKES_ANYTHING else None
        joined.append(argument if value is None else f"{_TAKES_ANYTHING[argument]}={value}")
    return joined


class Parser(argparse.ArgumentParser):
    """Raises what IPython shows as one line."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and where help is; see :meth:`argparse.ArgumentParser.error`."""
        raise UsageError(f"{self.prog}: {message}; {self.prog} --help says more")


def _parser(magic: str) -> argparse.ArgumentParser:
    parser = Parser(prog=magic, add_help=False, allow_abbrev=False)
    parser.add_argument("url", nargs="*")
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("-X", "--method")
    parser.add_argument("-H", "--header", action="append", default=[])
    parser.add_argument("-d", "--data")
    parser.add_argument("--offset", type=int, default=0)
    parser.add_argument("--max-bytes", type=int)
    parser.add_argument("--raw", action="store_true")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--any-status", action="store_true")
    parser.add_argument("--save")
    parser.add_argument("--force", action="store_true")
    parser.add_argument("--into")
    return parser


_SWITCHES = frozenset({"-h", "--help", "--raw", "--fresh", "--any-status", "--force"})
_TAKES_VALUE = frozenset(
    {"-X", "--method", "-H", "--header", "-d", "--data", "--offset", "--max-bytes", "--save", "--into"}
)
OPTIONS = tuple(sorted(_SWITCHES | _TAKES_VALUE))
"""All options, as they are written."""
