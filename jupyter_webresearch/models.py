"""What handlers, magics, command line and Python callers exchange.

Everything here is plain data with a JSON form; importing it costs nothing heavy, so that a kernel can.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas

__all__ = [
    "PHASES",
    "READS",
    "Charset",
    "Extraction",
    "FetchRequest",
    "Hop",
    "Link",
    "OnPhase",
    "Saved",
    "Source",
    "Table",
    "Verdict",
    "Window",
]

PHASES = ("queued", "resolving", "connecting", "receiving", "extracting")
"""The phases of an operation, in order; each reaches the caller as it begins."""

READS = ("GET", "HEAD")
"""Methods that change nothing (RFC 9110, 9.2.1); OPTIONS and TRACE do not either, but read no page."""

OnPhase = Callable[[str], None]
"""Called on the engine's loop with one of :data:`PHASES`; must not block."""


@dataclass(frozen=True)
class FetchRequest:
    """One request as the caller wrote it.

    Attributes
    ----------
    url
        As typed: an absolute http(s) URL, or a bare host, which becomes ``https://host/``.
    method
        HTTP method, upper case.
    headers
        Caller's headers, in order, as given.
    body
        Request body; at most ``WebFetch.max_request_body`` bytes.
    offset
        Character of the whole Markdown from which to show.
    max_bytes
        Most UTF-8 bytes of text in the answer; None is ``WebFetch.max_bytes``.
    raw
        Show the decoded source instead of Markdown.
    fresh
        Go round this session's memory of recent answers.
    any_status
        Return a Page for every status instead of raising ``http_status``.
    save
        Stream the body to disk instead of reading it as text.
    record
        Read on in this stored text (``Page.record``) and in no other; nothing is sent.
    """

    url: str
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    offset: int = 0
    max_bytes: int | None = None
    raw: bool = False
    fresh: bool = False
    any_status: bool = False
    save: bool = False
    record: str = ""


@dataclass(frozen=True)
class Verdict:
    """What the policy says of one URL before any DNS query or packet."""

    url: str
    verdict: Literal["allowed", "refused"]
    code: str
    reason: str

    def to_json(self) -> dict[str, str]:
        """Return the ``check-url --json`` object."""
        return {"url": self.url, "verdict": self.verdict, "code": self.code, "reason": self.reason}


@dataclass(frozen=True)
class Hop:
    """One answer of a redirect chain: the URL asked, its status, and when it was answered (seconds from start)."""

    url: str
    status: int
    seconds: float


@dataclass(frozen=True)
class Source:
    """Where a Page came from.

    Attributes
    ----------
    requested
        URL as the guard normalised it.
    url
        Final URL, after redirects.
    fetched
        When the answer began, RFC 3339 in UTC.
    method, status
        Of the final request.
    hops
        Every answer on the way, the last included.
    insecure_redirect
        Whether the chain went from https to http.
    sha256
        Of the decoded body that was kept, hexadecimal.
    bytes
        Decoded body bytes that were kept.
    seconds
        From the start of the operation to the end of the body.
    """

    requested: str
    url: str
    fetched: str
    method: str
    status: int
    hops: tuple[Hop, ...] = ()
    insecure_redirect: bool = False
    sha256: str = ""
    bytes: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Link:
    """A link of the page: its text and absolute http(s) or mailto URL."""

    text: str
    url: str


@dataclass(frozen=True)
class Table:
    """A data table of the page: rectangular, spans expanded.

    Attributes
    ----------
    header
        Column names; empty strings where the page gave none.
    rows
        Body rows, each as long as ``header``.
    caption
        The table's caption, or an empty string.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""

    @property
    def df(self) -> pandas.DataFrame:
        """The table as a pandas DataFrame.

        A column whose cells are all plain numbers (``1000.5``, ``-3``, empty cells apart) is numeric; one with
        anything else (``1,234``, ``007``, ``12%``) stays text. Names are made unique as pandas does when it reads a
        table: ``2024``, ``2024.1``, and ``Unnamed: 3`` for the fourth column when it has none.

        Raises
        ------
        ImportError
            When pandas is not installed, naming the extra that brings it.
        """
        columns = [_numbers([row[i] for row in self.rows]) for i in range(len(self.header))]
        frame: pandas.DataFrame = pandas_module().DataFrame(dict(enumerate(columns)), index=range(len(self.rows)))
        frame.columns = pandas_module().Index(_unique(self.header))
        return frame

    def __repr__(self) -> str:
        name = f" {self.caption!r}" if self.caption else ""
        return f"<Table{name} {len(self.rows)} rows x {len(self.header)} columns>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from jupyter_webresearch.kernel.table_form import mimebundle

        return mimebundle(self)


_NUMBER = re.compile(r"[+\-\u2212]?(?:0|[1-9]\d{0,14})(\.\d{1,15})?")


def _numbers(cells: list[str]) -> list[Any]:
    """Return the cells of a column as numbers where all are, an empty one as not a number; else as they are."""
    matches = [_NUMBER.fullmatch(cell.strip()) for cell in cells if cell.strip()]
    if not matches or None in matches:
        return list(cells)
    whole = len(matches) == len(cells) and not any(match[1] for match in matches if match)
    number = int if whole else float
    return [number(cell.strip().replace("\u2212", "-")) if cell.strip() else math.nan for cell in cells]


def _unique(names: Sequence[str]) -> list[str]:
    taken: set[str] = set()
    unique = []
    for at, name in enumerate(names):
        plain = free = name or f"Unnamed: {at}"
        repeated = 0
        while free in taken or (repeated and free in names):
            repeated += 1
            free = f"{plain}.{repeated}"
        taken.add(free)
        unique.append(free)
    return unique


@dataclass(frozen=True)
class Charset:
    """Which encoding the body was decoded with, and what said so: ``bom``, ``header``, ``meta`` or ``detected``."""

    name: str
    origin: str


@dataclass(frozen=True)
class Extraction:
    """What an extraction worker makes of a body.

    Attributes
    ----------
    kind
        ``html``, or what is passed on as it is: ``text``, ``markdown``, ``json``, ``xml``, ``csv``.
    markdown
        For ``html`` our own inert Markdown; for the others the decoded text as it is.
    title
        Of the page, or an empty string.
    metadata
        ``site``, ``author``, ``published``, ``modified``, ``description``, ``language``, ``canonical`` and the like,
        where known.
    links, tables
        Of the shown text.
    extractor
        ``article``, ``page`` (the whole page), ``text`` (markup stripped), or ``as-is``.
    kept_share
        Share of the body's visible words that is in ``markdown``, 0 to 1.
    hidden
        Number of hidden elements and invisible characters that were removed.
    charset
        How the body was decoded.
    limits
        What was cut, each as ``limits: elements 200,000 of 1,000,000``.
    """

    kind: str
    markdown: str
    title: str = ""
    metadata: dict[str, str] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    tables: tuple[Table, ...] = ()
    extractor: str = "as-is"
    kept_share: float = 1.0
    hidden: int = 0
    charset: Charset = field(default_factory=lambda: Charset("utf-8", "detected"))
    limits: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form, readable by :meth:`from_json`."""
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Extraction:
        """Rebuild what :meth:`to_json` wrote."""
        return Extraction(
            kind=str(data["kind"]),
            markdown=str(data["markdown"]),
            title=str(data["title"]),
            metadata={str(k): str(v) for k, v in data["metadata"].items()},
            links=links_of(data["links"]),
            tables=tables_of(data["tables"]),
            extractor=str(data["extractor"]),
            kept_share=float(data["kept_share"]),
            hidden=int(data["hidden"]),
            charset=Charset(**data["charset"]),
            limits=tuple(str(x) for x in data["limits"]),
        )


@dataclass(frozen=True)
class Window:
    """Which part of the whole text an answer shows.

    Attributes
    ----------
    offset, end
        Characters: first shown, and first not shown.
    total
        Characters of the whole text.
    shown_bytes, total_bytes
        UTF-8 bytes of the text up to ``end``, and of the whole.
    note
        What was said about the budget, e.g. that ``max_bytes`` was lowered.
    """

    offset: int
    end: int
    total: int
    shown_bytes: int
    total_bytes: int
    note: str = ""

    @property
    def truncated(self) -> bool:
        """Whether text follows ``end``."""
        return self.end < self.total

    @property
    def next_offset(self) -> int | None:
        """The ``--offset`` that goes on without gap or overlap; None at the end."""
        return self.end if self.truncated else None

    @property
    def closing(self) -> str:
        """The closing line of a cut answer, or an empty string."""
        if not self.truncated:
            return ""
        return f"[truncated at {self.shown_bytes} of {self.total_bytes} bytes] --offset {self.end}"


@dataclass(frozen=True)
class Saved:
    """A body that went to disk: path once it is in place, size, digest and the type that the site gave."""

    name: str
    bytes: int
    sha256: str
    content_type: str
    path: str = ""
    key: str = ""


def links_of(data: Sequence[Mapping[str, str]]) -> tuple[Link, ...]:
    """Return the links of a JSON form."""
    return tuple(Link(x["text"], x["url"]) for x in data)


def tables_of(data: Sequence[Mapping[str, Any]]) -> tuple[Table, ...]:
    """Return the tables of a JSON form."""
    return tuple(Table(tuple(t["header"]), tuple(tuple(r) for r in t["rows"]), t["caption"]) for t in data)


def pandas_module() -> Any:
    """Return pandas, or say which extra brings it.

    Raises
    ------
    ImportError
        When pandas is not installed.
    """
    try:
        import pandas
    except ImportError as error:
        raise ImportError("this needs pandas: pip install 'jupyter-webresearch[pandas]'") from error
    return pandas
