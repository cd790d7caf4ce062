"""Code blocks: one ``pre`` each, text verbatim, language known, gutters and buttons gone."""

from __future__ import annotations

import re

from lxml import etree

from jupyter_webresearch.extraction.tree import PageTree, element_text, finder, remove, tester

__all__ = ["standardise"]

_LANGUAGE_CLASS = re.compile(
    r"(?:^|\s)(?:language-|lang-|highlight-source-|highlight-(?!text|line|lines|table|wrap|block)|brush:\s*"
    r"|sourceCode\s+|src-|code-)([A-Za-z0-9_+#.\-]{1,20})"
)
_LANGUAGE_ATTRIBUTES = ("data-lang", "data-language", "data-code-language", "lang-name")
_LANGUAGE_WORD = re.compile(r"[a-z0-9][a-z0-9_+#.\-]{0,19}")
# No languages, but for mermaid, which JupyterLab draws.
_NOT_LANGUAGES = frozenset({
    "none", "plaintext", "text", "plain", "nohighlight", "default", "hljs", "block", "wrapper", "container", "snippet",
    "toolbar", "highlight", "line", "notranslate", "box", "example", "content", "area", "inline", "header", "frame",
    "copy", "title", "editor", "group", "tabs", "mermaid",
})  # fmt: skip
_KNOWN = frozenset({
    "python", "py", "javascript", "js", "typescript", "ts", "java", "cpp", "c++", "csharp", "c#", "cs", "golang",
    "rust", "ruby", "rb", "php", "html", "css", "scss", "sass", "less", "json", "yaml", "yml", "xml", "bash", "sh",
    "shell", "zsh", "console", "sql", "kotlin", "scala", "swift", "perl", "lua", "haskell", "elixir", "erlang",
    "clojure", "dart", "toml", "ini", "diff", "dockerfile", "makefile", "graphql", "matlab", "powershell",
    "objectivec", "vue", "jsx", "tsx", "markdown", "md", "lean", "latex", "tex", "nim", "zig", "solidity", "julia",
    "ocaml", "fsharp", "groovy", "vim", "nix", "http", "regex", "asm", "wasm", "proto", "protobuf", "cmake", "pycon",
    "ipython", "ipython3",
})  # fmt: skip
_SHORT_NAMES = frozenset({"c", "r", "go"})
_HIGHLIGHTER = re.compile(r"highlight|hljs|code|src|prettyprint|brush", re.IGNORECASE)

_EDITORS = finder("//div[contains(@class,'CodeMirror-code') or contains(@class,'cm-content') or "
                       "contains(@class,'view-lines')]")  # fmt: skip
_CODE_TABLES = finder("//table[.//pre or .//td[contains(@class,'code') or contains(@class,'blob-code')]]")
_CODE_CELLS = finder(
    ".//td[contains(concat(' ',@class,' '),' code ') or contains(@class,'rouge-code') or contains(@class,'highlight')"
    " or position()=last()]//pre | .//td[contains(concat(' ',@class,' '),' code ')]"
)
_NUMBER_CELLS = finder(
    ".//td[contains(@class,'gutter') or contains(@class,'linenos') or contains(@class,'lineno')"
    " or contains(@class,'line-numbers')]"
)
_FURNITURE = finder(
    ".//button|.//style|.//script|.//svg|.//*[@aria-hidden='true' and not(self::span[contains(@class,'hljs')])]"
)
_CLASSED = finder(".//*[@class or @data-line-number]")
_PROSE = tester("(.//p|.//h1|.//h2|.//img) and not(.//code)")
_GUTTER = re.compile(
    r"\b(?:gutter|lineno|linenos|line-?numbers?(?:-rows)?|ln|lnt|hljs-ln-numbers|blob-num|line-no|codeblock-linenumber"
    r"|copy|copy-?btn|clipboard|toolbar-item|code-header|code-toolbar)\b",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"[\d\s.:|]*")
_LINE_CLASS = re.compile(r"\b(?:line|cl|view-line|token-line|code-line|CodeMirror-line)\b")
_BLOCK_STYLE = re.compile(r"display\s*:\s*(?:block|flex)")
_LINE_BLOCKS = frozenset({"div", "p", "tr", "li", "table", "ol", "ul"})
_LEADING_NUMBER = re.compile(r"\s*(\d{1,5})(?=\D|$)")


def standardise(page: PageTree) -> None:
    """Turn every form of code block into a ``pre`` with flat text, and record its language."""
    root = page.root
    if root.find(".//pre") is None and root.find(".//code") is None and not _EDITORS(root):
        return
    for editor in _EDITORS(root):
        outer = _outermost_pre(editor)
        if outer is None:
            editor.tag = "pre"
        else:
            _replace_content(outer, _code_text(editor))
    for element in root.iter("code"):
        if element.find(".//pre") is not None:
            element.tag = "div"
    for table in _CODE_TABLES(root):
        _unwrap_gutter_table(page, table)
    for pre in list(root.iter("pre")):
        if _outermost_pre(pre) is not None or pre in page.languages:
            continue
        if _PROSE(pre):
            pre.tag = "div"
        else:
            page.languages[pre] = _language_of(pre)
            _replace_content(pre, _code_text(pre))
    for element in list(root.iter("code")):
        if len(element) and _is_block(element):
            page.languages[element] = _language_of(element)
            _replace_content(element, _code_text(element))
            element.tag = "pre"


def _is_block(element: etree._Element) -> bool:
    text = element_text(element).strip()
    return len(text) > 60 and ("\n" in text or element.find(".//br") is not None) and _outermost_pre(element) is None


def _outermost_pre(element: etree._Element) -> etree._Element | None:
    outer = list(element.iterancestors("pre"))
    return outer[-1] if outer else None


def _replace_content(element: etree._Element, text: str) -> None:
    for child in list(element):
        element.remove(child)
    element.text = text


def _unwrap_gutter_table(page: PageTree, table: etree._Element) -> None:
    """Replace a table of line numbers and code by the code."""
    cells = _CODE_CELLS(table)
    numbers = _NUMBER_CELLS(table) or [p for p in table.iter("pre") if re.fullmatch(r"[\d\s]+", element_text(p) or " ")]
    if not cells or not numbers or table.getparent() is None:
        return
    cell = cells[-1]
    language = _language_of(cell) or _language_of(table)
    text = "\n".join(_code_text(c) for c in cells) if len(cells) > 2 and cell.tag == "td" else _code_text(cell)
    target = _outermost_pre(table)
    target = table if target is None else target
    target.tag = "pre"
    _replace_content(target, text)
    page.languages[target] = language


def _language_of(element: etree._Element) -> str:
    """Return the language that the element, what it holds or what holds it names, or an empty string."""
    inner = next(element.iter("code"), None)
    near = [element, *([] if inner is None else [inner]), *list(element.iterancestors())[:3]]
    for node in near:
        for name in _LANGUAGE_ATTRIBUTES:
            language = _as_language(node.get(name))
            if language:
                return language
        match = _LANGUAGE_CLASS.search(node.get("class") or "")
        language = _as_language(match.group(1)) if match else ""
        if language:
            return language
    for node in near[:4]:
        classes = node.get("class") or ""
        for word in classes.lower().split():
            if word in _KNOWN or (word in _SHORT_NAMES and _HIGHLIGHTER.search(classes)):
                return word
    return ""


def _as_language(value: str | None) -> str:
    word = (value or "").strip().lower()
    return word if _LANGUAGE_WORD.fullmatch(word) and word not in _NOT_LANGUAGES else ""


def _code_text(element: etree._Element) -> str:
    """Return the code inside an element, line by line as a reader sees it."""
    for furniture in _FURNITURE(element):
        remove(furniture)
    for part in _CLASSED(element):
        if _is_gutter(part):
            remove(part)
    lines = _line_elements(element)
    out: list[str] = []
    _collect(element, out)
    text = "".join(out)
    if len(lines) >= 2 and text.strip().count("\n") < len(lines) - 1 and _unbroken(lines):
        text = "\n".join(map(element_text, lines))
    text = text.replace("\r\n", "\n").replace("\u00a0", " ").strip("\n")
    return _without_numbers(text)


def _is_gutter(part: etree._Element) -> bool:
    text = element_text(part).strip()
    if _GUTTER.search(part.get("class") or ""):
        return part.tag in ("td", "button", "a") or _DIGITS.fullmatch(text) is not None or len(text) < 12
    return part.get("data-line-number") is not None and not text


def _line_elements(element: etree._Element) -> list[etree._Element]:
    return [
        part
        for part in element.iter("span", "code")
        if _LINE_CLASS.search(part.get("class") or "") or part.get("data-line") is not None
    ]


def _unbroken(lines: list[etree._Element]) -> bool:
    """Return whether sibling line elements hold no line break of their own."""
    parent = lines[0].getparent()
    return all(
        line.getparent() is parent and "\n" not in (line.tail or "") and not element_text(line).endswith("\n")
        for line in lines
    )


def _collect(element: etree._Element, out: list[str]) -> None:
    for event, node in etree.iterwalk(element, events=("start", "end")):
        if not isinstance(node.tag, str):
            if event == "end" and node is not element:
                out.append(node.tail or "")
            continue
        breaks = node is not element and _breaks_line(node)
        if event == "start":
            if node.tag == "br":
                out.append("\n")
                continue
            if breaks and out and not out[-1].endswith("\n"):
                out.append("\n")
            if node.text:
                out.append(node.text)
        else:
            if breaks and out and (not out[-1].endswith("\n") or (not len(node) and not node.text)):
                out.append("\n")
            if node is not element and node.tail:
                out.append(node.tail)


def _breaks_line(node: etree._Element) -> bool:
    return node.tag in _LINE_BLOCKS or _BLOCK_STYLE.search(node.get("style") or "") is not None


def _without_numbers(text: str) -> str:
    """Remove line numbers 1, 2, 3 ... written in front of each line, or on a line of their own before it."""
    lines = text.split("\n")
    if len(lines) < 3 or not lines[0].lstrip()[:1].isdigit():
        return text
    found = [_LEADING_NUMBER.match(line) for line in lines]
    numbers = [int(match.group(1)) if match else -1 for match in found]
    if numbers == list(range(numbers[0], numbers[0] + len(lines))):
        return "\n".join(line[match.end() :] for line, match in zip(lines, found, strict=True) if match)
    if len(lines) % 2 == 0 and [line.strip() for line in lines[::2]] == [str(i + 1) for i in range(len(lines) // 2)]:
        return "\n".join(lines[1::2])
    return text
