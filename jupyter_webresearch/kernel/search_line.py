"""What is written after ``%websearch``: options, and a query that is kept as it is typed.

A query is prose: its quotes mean something to whoever searches, and an apostrophe opens nothing. So only words that
begin with two dashes, outside of double quotes, are taken out of the line; all that is left is the query.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from IPython.core.error import UsageError

from jupyter_webresearch.kernel.command_line import Parser, Word, names_variable, values_of
from jupyter_webresearch.search.question import KINDS, MOST_RESULTS, SearchRequest

__all__ = ["HELP", "OPTIONS", "SearchLine", "parse", "queries_of", "without_comment"]

HELP = f"""\
Search the web: `%websearch QUERY [options]`, or many queries with `%%websearch`.

The result is a SearchResponse: put it in a variable, or let the cell show it.

    %websearch tidal range in the Bay of Fundy
    found = %websearch "exact phrase" tides --max-results 15
    found.results, found.answers, found.failed, found.df, found.raw, found.bibtex()
    page = found.results[0].fetch()           # reads number 1 of the list, as %webfetch does

    %websearch --kind papers --since 2024 sea level rise
    %websearch harbour dredging --kind news --since 7d --site example.org
    %websearch tides --provider wikipedia,crossref

    %%websearch --max-results 5
    # one query a line; the list that comes back is in their order, failures in their places
    spring tide
    neap tide

After that cell the list is `_`, or the variable that --into names. A list of yours is searched in the same way:

    %websearch {{queries}}

Options, before or after the query
    --provider P[,P...]  whom to ask, by name; `jupyter webresearch providers` lists them
    --max-results N      at most N results, 1 to {MOST_RESULTS} (the setting is WebSearch.max_results)
    --kind K             {", ".join(KINDS)}; web when omitted
    --since D            from this day on: 2024, 2024-05, 2024-05-01, or back from today: 7d, 4w, 6m, 1y
    --site HOST          from this host and those below it
    --fresh              ask again, even if the same was asked a moment ago
    --into NAME          put the result in the variable NAME, as well as showing it

-h, --help               show this

The query is the rest of the line, as it is typed: quotes, a minus before a word and the like reach the provider. A word
that begins with two dashes is an option unless it stands in double quotes; behind a -- in front of the query nothing
is. A query or an option's value that is nothing but {{name}}, $name or {{name.attribute}} is looked up among your
variables; nothing is evaluated. A # behind a space begins a comment, except in double quotes.
"""

# A word: runs of what is no space, in which double quotes that are closed hold spaces.
_WORD = re.compile(r'(?:[^\s"]+|"[^"]*"|")+')
_COMMENT = re.compile(r'"[^"]*"|(?P<comment>(?<!\S)#)')
_OPTION = re.compile(r"--[A-Za-z]")
_SWITCHES = frozenset({"--fresh", "--help"})
_TAKES_VALUE = frozenset({"--provider", "--max-results", "--kind", "--since", "--site", "--into"})
OPTIONS = tuple(sorted(_SWITCHES | _TAKES_VALUE))
"""All options, as they are written."""


@dataclass(frozen=True)
class SearchLine:
    """A line as understood.

    Attributes
    ----------
    queries
        On the line itself.
    help
        Whether only the help text is asked for.
    into
        Variable for the result.
    batch
        Whether the queries were given as a list, so that a list comes back, however many they are.
    options
        Fields of :class:`~jupyter_webresearch.search.question.SearchRequest`.
    """

    queries: tuple[str, ...]
    help: bool
    into: str | None
    batch: bool
    options: Mapping[str, Any]

    def request(self, query: str) -> SearchRequest:
        """Return the request for one query."""
        return SearchRequest(query, **self.options)


def parse(line: str, namespace: Mapping[str, Any], *, magic: str = "%websearch") -> SearchLine:
    """Read the arguments of ``%websearch`` or ``%%websearch``.

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
    written, words = _parted(without_comment(line), magic)
    arguments = [name if value is None else f"{name}={_value(value, name, namespace)}" for name, value in written]
    given = _parser(magic).parse_args(arguments)
    if given.into is not None and (not given.into.isidentifier() or keyword.iskeyword(given.into)):
        raise UsageError(f"--into takes the name of a variable, not {given.into!r}")
    if given.max_results is not None and given.max_results < 1:
        raise UsageError(f"--max-results takes a number from 1 to {MOST_RESULTS}, not {given.max_results}")
    queries, batch = _queries(words, namespace)
    return SearchLine(
        queries=tuple(queries),
        help=given.help or words == ["-h"],
        into=given.into,
        batch=batch,
        options={
            "providers": tuple(name.strip() for names in given.provider for name in names.split(",") if name.strip()),
            "max_results": given.max_results,
            "kind": given.kind,
            "since": given.since,
            "site": given.site,
            "fresh": given.fresh,
        },
    )


def without_comment(line: str) -> str:
    """Return a line without the comment at its end, which a ``#`` begins that stands behind a space.

    In double quotes it is itself; an apostrophe, as in ``what's new # don't ask``, is no quote.
    """
    for match in _COMMENT.finditer(line):
        if match["comment"]:
            return line[: match.start()].rstrip()
    return line


def queries_of(cell: str) -> list[str]:
    """Return the queries of a cell: one a line, without comments and empty lines."""
    return [query for line in cell.splitlines() if (query := without_comment(line).strip())]


def _parted(line: str, magic: str) -> tuple[list[tuple[str, str | None]], list[str]]:
    """Part the words of a line into options with their values, and the words of the query."""
    options: list[tuple[str, str | None]] = []
    query: list[str] = []
    words = iter(_WORD.findall(line))
    for word in words:
        if word == "--" and not query:
            query += words
        elif _OPTION.match(word):
            options.append(_option(word, words, magic))
        else:
            query.append(word)
    return options, query


def _option(word: str, rest: Iterator[str], magic: str) -> tuple[str, str | None]:
    name, equals, value = word.partition("=")
    if name in _SWITCHES and not equals:
        return name, None
    if name not in _TAKES_VALUE:
        raise UsageError(
            f"{magic} has no option {word}; in a query it goes between double quotes, or all of it behind a --; "
            f"{magic} --help says more"
        )
    following = value if equals else next(rest, None)
    if following is None:
        raise UsageError(f"{name} takes a value; {magic} --help says more")
    return name, following


def _value(written: str, name: str, namespace: Mapping[str, Any]) -> str:
    """Return an option's value without quotes, or what it stands for; a list only where several can be given."""
    quoted = len(written) > 1 and written[0] == written[-1] and written[0] in "'\""
    word = Word(written[1:-1] if quoted else written, literal=quoted and written[0] == "'")
    values, batch = values_of([word], namespace)
    if batch and name != "--provider":
        raise UsageError(f"{name} takes one value; {written} is a list")
    return ",".join(values)


def _queries(words: Sequence[str], namespace: Mapping[str, Any]) -> tuple[list[str], bool]:
    if len(words) == 1:
        return values_of([Word(words[0])], namespace)
    for word in words:
        if names_variable(word, namespace):
            raise UsageError(
                f"the query received is {' '.join(words)!r}: a variable is looked up only when it is the whole query; "
                f'put the query together first, query = f"...", then %websearch {{query}}; '
                f'"{word}" in double quotes is sent as it is'
            )
    return ([" ".join(words)], False) if words else ([], False)


def _parser(magic: str) -> Parser:
    parser = Parser(prog=magic, add_help=False, allow_abbrev=False)
    parser.add_argument("--provider", action="append", default=[])
    parser.add_argument("--max-results", type=int)
    parser.add_argument("--kind", choices=KINDS, default="web")
    parser.add_argument("--since", default="")
    parser.add_argument("--site", default="")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--into")
    parser.add_argument("--help", action="store_true")
    return parser
