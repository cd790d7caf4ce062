"""The encoding that the first bytes of a page declare (HTML Standard, "prescan a byte stream ...")."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["declared_label"]

_XML = re.compile(rb"<\?xml[^>]*?\sencoding\s*=\s*[\"']([^\"'\x00-\x20]+)[\"']")
_TAG = re.compile(rb"</?([a-zA-Z][^\s/>]*)")
_SPACE = rb"[\t\n\f\r ]"
_ATTRIBUTE = re.compile(
    _SPACE + rb"*/*" + _SPACE + rb"*([^\t\n\f\r />=][^\t\n\f\r />=]*)"
    rb"(?:" + _SPACE + rb"*=" + _SPACE + rb"*(?:\"([^\"]*)\"|'([^']*)'|([^\t\n\f\r >\"'][^\t\n\f\r >]*)))?"
)  # fmt: skip
_CHARSET = re.compile(rb"charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:\"([^\"]*)\"|'([^']*)'|([^\t\n\f\r ;\"']+))", re.IGNORECASE)


def declared_label(head: bytes) -> str:
    """Return the label that an XML declaration or a ``<meta>`` in these bytes names, or an empty string."""
    xml = _XML.match(head)
    if xml:
        return xml.group(1).decode("ascii", "replace")
    position = 0
    while (position := head.find(b"<", position)) >= 0:
        if head.startswith(b"<!--", position):
            # "-->" may share its dashes with the opening: "<!-->" is a whole comment.
            end = head.find(b"-->", position + 2)
            if end < 0:
                return ""
            position = end + 3
            continue
        tag = _TAG.match(head, position)
        if tag:
            attributes, position = _attributes(head, tag.end())
            label = _label_of(attributes) if tag.group().lower() == b"<meta" else ""
            if label:
                return label
        elif head[position + 1 : position + 2] in (b"!", b"/", b"?"):
            end = head.find(b">", position)
            if end < 0:
                return ""
            position = end + 1
        else:
            position += 1
    return ""


def _attributes(head: bytes, position: int) -> tuple[dict[bytes, bytes], int]:
    found: dict[bytes, bytes] = {}
    while match := _ATTRIBUTE.match(head, position):
        name, *values = match.groups()
        found.setdefault(name.lower(), next((value for value in values if value is not None), b""))
        position = match.end()
    return found, position


def _label_of(attributes: dict[bytes, bytes]) -> str:
    """Return what a ``<meta>`` says: its charset, or that of its content when it stands for a Content-Type."""
    return next((label.decode("ascii", "replace") for label in _labels(attributes) if label), "")


def _labels(attributes: dict[bytes, bytes]) -> Iterator[bytes]:
    yield attributes.get(b"charset", b"")
    if attributes.get(b"http-equiv", b"").lower() == b"content-type":
        match = _CHARSET.search(attributes.get(b"content", b""))
        if match:
            yield next(group for group in match.groups() if group is not None)
