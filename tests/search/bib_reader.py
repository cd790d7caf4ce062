"""A reader of BibTeX as strict as BibTeX's own: what it takes, BibTeX takes."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Entry", "people", "printed", "read"]

MACROS = {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
TYPES = {
    "article",
    "book",
    "incollection",
    "inproceedings",
    "misc",
    "phdthesis",
    "proceedings",
    "techreport",
}
PRINTED = {
    r"\textbackslash{}": "\\",
    r"\textbraceleft{}": "{",
    r"\textbraceright{}": "}",
    r"\textasciitilde{}": "~",
    r"\textasciicircum{}": "^",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textbar{}": "|",
    **{"\\" + character: character for character in "&%$#_"},
}


@dataclass(frozen=True)
class Entry:
    """One entry; values without their outer braces."""

    kind: str
    key: str
    fields: dict[str, str]


def read(text: str) -> list[Entry]:
    """Read a whole file; anything between entries but white space is an error."""
    entries, position = [], 0
    while text[position:].strip():
        head = re.compile(r"\s*@([a-z]+)\{([A-Za-z0-9:-]+),\s*").match(text, position)
        assert head, f"no entry at {text[position : position + 40]!r}"
        assert head[1] in TYPES
        position, fields = head.end(), {}
        while text[position] != "}":
            name = re.compile(r"([a-z]+) = ").match(text, position)
            assert name, f"no field at {text[position : position + 40]!r}"
            assert name[1] not in fields, f"{name[1]} twice"
            value, position = _value(text, name.end())
            fields[name[1]] = value
            separator = re.compile(r",\s*|\s*(?=\})").match(text, position)
            assert separator, f"no end of a field at {text[position : position + 40]!r}"
            position = separator.end()
        position += 1
        entries.append(Entry(head[1], head[2], fields))
    return entries


def _value(text: str, position: int) -> tuple[str, int]:
    if text[position] != "{":
        macro = re.compile("[a-z]+").match(text, position)
        assert macro and macro[0] in MACROS, f"no value at {text[position : position + 40]!r}"
        return macro[0], macro.end()
    depth = 0
    for end in range(position, len(text)):
        depth += (text[end] == "{") - (text[end] == "}")  # a backslash before it changes nothing
        if depth == 0:
            return text[position + 1 : end], end + 1
    raise AssertionError("braces are not balanced")


def people(value: str) -> list[str]:
    """Return the names of a field, which ``and`` parts outside braces."""
    names, depth, start = [], 0, 0
    for at, character in enumerate(value):
        depth += (character == "{") - (character == "}")
        if depth == 0 and value.startswith(" and ", at):
            names.append(value[start:at])
            start = at + 5
    return [*names, value[start:]]


def printed(value: str) -> str:
    """Return what TeX prints for a field; any command but those that print a character is an error."""
    found, position = [], 0
    while position < len(value):
        if value[position] == "\\":
            command = next((command for command in PRINTED if value.startswith(command, position)), None)
            assert command, f"a command at {value[position : position + 20]!r}"
            found.append(PRINTED[command])
            position += len(command)
            continue
        assert value[position] not in "&%$#_^~", f"TeX obeys {value[position]!r}"
        if value[position] not in "{}":
            found.append(value[position])
        position += 1
    return "".join(found)
