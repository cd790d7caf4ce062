"""A Page: what reading one URL gives."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from jupyter_webresearch.errors import BadInput, NotOfThisKind
from jupyter_webresearch.models import (
    Charset,
    Hop,
    Link,
    Saved,
    Source,
    Table,
    Window,
    links_of,
    pandas_module,
    tables_of,
)

if TYPE_CHECKING:
    import pandas

__all__ = ["Page"]

_JSON_LINES = frozenset({"application/x-ndjson", "application/ndjson", "application/jsonl"})


@dataclass(frozen=True)
class Page:
    """One page as read: its text, what it is, and where it came from.

    ``markdown`` is the part of the text that this answer holds (see ``window``); :meth:`next` and :meth:`whole` read on
    from what was already downloaded.
    """

    markdown: str
    title: str
    url: str
    status: int
    content_type: str
    kind: str
    source: Source
    headers: tuple[tuple[str, str], ...] = ()
    metadata: dict[str, str] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    tables: tuple[Table, ...] = ()
    extractor: str = "as-is"
    kept_share: float = 1.0
    hidden: int = 0
    charset: Charset = field(default_factory=lambda: Charset("utf-8", "detected"))
    limits: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    truncated_body: bool = False
    body_bytes: int = 0
    announced_bytes: int | None = None
    cached_seconds: float | None = None
    window: Window = field(default_factory=lambda: Window(0, 0, 0, 0, 0))
    saved: Saved | None = None
    record: str = ""
    reader: Callable[[int], Page] | None = field(default=None, repr=False, compare=False)

    @property
    def text(self) -> str:
        """The same text without markup."""
        if self.kind != "html":
            return self.markdown
        from jupyter_webresearch.plain import plain_text

        return plain_text(self.markdown)

    @property
    def truncated(self) -> bool:
        """Whether more text can be read with ``offset=page.next_offset``."""
        return self.window.truncated

    @property
    def next_offset(self) -> int | None:
        """Character at which the next part begins; None at the end."""
        return self.window.next_offset

    def json(self) -> Any:
        """Parse a JSON body; one of JSON lines, by its media type, gives a list.

        Raises
        ------
        NotOfThisKind
            A ValueError, when the body is not JSON or this Page begins in the middle of it.
        """
        if self.window.offset:
            raise NotOfThisKind(f"this part begins at character {self.window.offset:,} of {self.url}; read it from 0")
        try:
            text = self.whole().markdown
            if self.content_type in _JSON_LINES:
                return [json.loads(line) for line in text.split("\n") if line.strip()]
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            if self.kind == "json":
                why = f"is not valid JSON: {error}"
            else:
                why = f"is {self.content_type.partition(';')[0].strip() or self.kind}, not JSON"
            raise NotOfThisKind(f"{self.url} {why}") from None

    @property
    def df(self) -> pandas.DataFrame:
        """A CSV body, a JSON body of records, or the page's first table, as a pandas DataFrame.

        Raises
        ------
        ImportError
            When pandas is not installed.
        NotOfThisKind
            A ValueError, when the page holds none of these.
        """
        frame: pandas.DataFrame
        if self.kind == "csv":
            text = self.whole().markdown
            frame = pandas_module().read_csv(io.StringIO(text), sep=_delimiter(text, self.content_type))
        elif self.kind == "json":
            frame = pandas_module().json_normalize(self.json())
        elif self.tables:
            frame = self.tables[0].df
        else:
            raise NotOfThisKind(f"{self.url} holds no table; its kind is {self.kind!r}")
        return frame

    def next(self) -> Page:
        """Read on from ``next_offset``: free, and from the same bytes.

        Raises
        ------
        BadInput
            ``bad_offset`` at the end of the text.
        """
        if self.next_offset is None:
            raise BadInput("bad_offset", f"this was the last part of {self.url}")
        if self.reader is None:
            raise RuntimeError("this Page is not attached to a session; fetch it again to read on")
        return self.reader(self.next_offset)

    def parts(self) -> Iterator[Page]:
        """Yield this part and every later one."""
        page = self
        yield page
        while page.truncated:
            page = page.next()
            yield page

    def whole(self) -> Page:
        """Return the Page from this part to the end in one piece, read on from what was already downloaded."""
        if not self.truncated:
            return self
        parts = list(self.parts())
        last = parts[-1].window
        return replace(
            self,
            markdown="".join(p.markdown for p in parts),
            window=replace(self.window, end=last.end, shown_bytes=last.shown_bytes),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form of REST and ``--json``."""
        data = {
            name: getattr(self, name)
            for name in (
                "url", "status", "content_type", "kind", "title", "markdown", "text", "metadata", "extractor",
                "kept_share", "hidden", "truncated_body", "body_bytes", "announced_bytes", "cached_seconds", "record",
            )
        }  # fmt: skip
        data["headers"] = [list(h) for h in self.headers]
        data["links"] = [asdict(x) for x in self.links]
        data["tables"] = [
            {"header": list(t.header), "rows": [list(r) for r in t.rows], "caption": t.caption} for t in self.tables
        ]
        data["source"] = asdict(self.source)
        data["charset"] = asdict(self.charset)
        data["limits"] = list(self.limits)
        data["notes"] = list(self.notes)
        data["window"] = {
            **asdict(self.window),
            "truncated": self.truncated,
            "next_offset": self.next_offset,
            "closing": self.window.closing,
        }
        data["saved"] = asdict(self.saved) if self.saved else None
        return data

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Page:
        """Rebuild what :meth:`to_json` wrote."""
        source = dict(data["source"])
        source["hops"] = tuple(Hop(**h) for h in source["hops"])
        window = {k: data["window"][k] for k in ("offset", "end", "total", "shown_bytes", "total_bytes", "note")}
        return Page(
            markdown=data["markdown"],
            title=data["title"],
            url=data["url"],
            status=data["status"],
            content_type=data["content_type"],
            kind=data["kind"],
            source=Source(**source),
            headers=tuple((k, v) for k, v in data["headers"]),
            metadata=dict(data["metadata"]),
            links=links_of(data["links"]),
            tables=tables_of(data["tables"]),
            extractor=data["extractor"],
            kept_share=data["kept_share"],
            hidden=data["hidden"],
            charset=Charset(**data["charset"]),
            limits=tuple(data["limits"]),
            notes=tuple(data["notes"]),
            truncated_body=data["truncated_body"],
            body_bytes=data["body_bytes"],
            announced_bytes=data["announced_bytes"],
            cached_seconds=data["cached_seconds"],
            window=Window(**window),
            saved=Saved(**data["saved"]) if data.get("saved") else None,
            record=data["record"],
        )

    def show(self) -> None:
        """Display all of the text that this Page holds, not only the first part of it."""
        from jupyter_webresearch.kernel.display import show

        show(self)

    def __str__(self) -> str:
        from jupyter_webresearch.kernel.display import answer_text

        return answer_text(self)

    def __repr__(self) -> str:
        from jupyter_webresearch.kernel.display import plain_form

        return plain_form(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from jupyter_webresearch.kernel.display import mimebundle

        return mimebundle(self)


def _delimiter(text: str, content_type: str) -> str:
    if "tab-separated" in content_type:
        return "\t"
    try:
        return csv.Sniffer().sniff(text[:8192], delimiters=",;\t|").delimiter
    except csv.Error:
        return ","
