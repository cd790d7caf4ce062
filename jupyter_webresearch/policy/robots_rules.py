"""What one robots.txt says to one product token (RFC 9309).

Hostile text: any site serves any bytes. Everything is read as bytes and compared in one percent-encoded ASCII form,
reading takes one pass, and matching one pattern takes no backtracking, so that no file costs more than its size.

Protego, the usual library, is not used, because what had to be corrected around it is all of it. Measured with 0.7.0:
of the 152 cases of ``tests/cases/robots_cases.json`` it fails five (r032, r033, r035, r043, r193); its parser keeps
every rule for every agent, so that a hostile file of 64 KiB took 12.7 s and 563 MiB, and one of 512 KiB would take
about 14 minutes; and its matcher can't say which rule decided, which a refusal names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

__all__ = ["Group", "RobotsRules", "Rule", "parse_robots"]

MAX_LINE = 16 * 1024
"""Bytes of a line that are read. No URL that we send is as long: a pattern cut here matches none, or by its stars."""

MAX_SHOWN = 100
"""Characters of a rule that a message shows."""

_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_LINE = re.compile(rb"[^\r\n]+")
_AGENT = re.compile(rb"[A-Za-z_-]*")
_EVERYONE = re.compile(rb"\*(?:\s|\Z)")
# What is written so often that site owners rely on it: robots.txt is their wish, and a slip does not undo it.
_AGENT_KEYS = frozenset({b"user-agent", b"useragent", b"user agent"})
_DISALLOW_KEYS = frozenset({b"disallow", b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw"})
_ALLOW_KEYS = frozenset({b"allow"})
_INDEX_PAGES = ("/index.html", "/index.htm")

_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
# Bytes that stand for themselves: unreserved, reserved (RFC 3986, 2.2) but * and $, which have a meaning here, and %.
_ENCODED = re.compile(rb"[^A-Za-z0-9\-._~:/?#\[\]@!&'()+,;=%]")


@dataclass(frozen=True, slots=True)
class Rule:
    """One ``Allow`` or ``Disallow`` line.

    Attributes
    ----------
    allow
        Which of the two.
    parts
        The pattern in its comparable form, cut at its stars.
    anchored
        Whether the pattern ends in ``$``: what it matches must end there.
    weight
        Octets of the pattern, stars included: the longest one that matches decides.
    """

    allow: bool
    parts: tuple[str, ...]
    anchored: bool
    weight: int

    def __str__(self) -> str:
        """Return the line for people: short, printable ASCII without spaces, angle brackets or backticks."""
        pattern = "*".join(part[:MAX_SHOWN] for part in self.parts[:MAX_SHOWN]) + ("$" if self.anchored else "")
        line = f"{'Allow' if self.allow else 'Disallow'}: {pattern}"
        return line if len(line) <= MAX_SHOWN else line[: MAX_SHOWN - 3] + "..."

    def matches(self, target: str) -> bool:
        """Whether the pattern matches a target in comparable form.

        Each part is looked for once, as far left as it can stand: what follows then has the most room, so there is
        nothing to try again.
        """
        first, *others = self.parts
        if not target.startswith(first):
            return False
        if not others:
            return not self.anchored or len(target) == len(first)
        position = len(first)
        last = others.pop()
        for part in others:
            found = target.find(part, position)
            if found < 0:
                return False
            position = found + len(part)
        if self.anchored:
            return len(target) - len(last) >= position and target.endswith(last)
        return target.find(last, position) >= 0


@dataclass(frozen=True)
class Group:
    """All rules for one user agent, from wherever in the file; the first that matches decides.

    Attributes
    ----------
    agent
        Our own token, or ``*``; never the file's text.
    rules
        The longest pattern first, ``Allow`` before ``Disallow`` of the same length (RFC 9309, 2.2.2).
    """

    agent: str
    rules: tuple[Rule, ...]

    @cached_property
    def size(self) -> int:
        """Bytes of memory that this takes at most, about."""
        return sum(120 + rule.weight + 60 * len(rule.parts) for rule in self.rules)

    def against(self, target: str) -> Rule | None:
        """Return the rule that forbids this target, if one does.

        ``/robots.txt`` itself is always allowed.
        """
        if target == "/robots.txt":
            return None
        comparable = _comparable(target.encode())
        deciding = next((rule for rule in self.rules if rule.matches(comparable)), None)
        return None if deciding is None or deciding.allow else deciding


@dataclass(frozen=True)
class RobotsRules:
    """The groups of one robots.txt that can concern us.

    Attributes
    ----------
    named
        The group that names our token, or None.
    everyone
        The group of ``*``, or None.
    """

    named: Group | None = None
    everyone: Group | None = None

    def group(self, *, named_only: bool = False) -> Group | None:
        """Return the one group to obey: that which names us, else that of ``*`` unless ``named_only``."""
        return self.named or (None if named_only else self.everyone)

    @property
    def size(self) -> int:
        """Bytes of memory that this takes at most, about."""
        groups = [group for group in (self.named, self.everyone) if group is not None]
        return sum(group.size for group in groups)


def parse_robots(data: bytes, token: str) -> RobotsRules:
    """Read a robots.txt.

    Lines that can't be read, or that say something else, are passed over and end no group. Bytes that are not UTF-8
    count as they would in a URL, percent-encoded.

    Parameters
    ----------
    data
        The file, as much of it as came.
    token
        Our product token; compared whole, whatever the case.
    """
    ours = token.lower().encode("ascii")
    rules: dict[bytes, dict[Rule, None]] = {}  # of the agents that concern us; a repeated rule is kept once
    agents: set[bytes] = set()  # those of the present group, among the ones that concern us
    in_rules = True  # whether the present group has come to its rules; the next user agent then begins another
    for key, value in _lines(data):
        if key in _AGENT_KEYS:
            if in_rules:
                agents, in_rules = set(), False
            agents |= {agent for agent in _agents(value) if agent in (ours, b"*")}
            for agent in agents:
                rules.setdefault(agent, {})
            continue
        in_rules = True
        for rule in _rules(value, allow=key in _ALLOW_KEYS) if agents and value else ():
            for agent in agents:
                rules[agent][rule] = None
    return RobotsRules(_group(token, rules.get(ours)), _group("*", rules.get(b"*")))


def _lines(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield key and value of each line that has one of our keys, and is thus no comment, other record or rubbish."""
    if data.startswith(_UTF16_MARKS):
        data = data.decode("utf-16", "replace").encode("utf-8", "replace")
    for line in _LINE.finditer(data.removeprefix(_UTF8_MARK)):
        text = line[0][:MAX_LINE].partition(b"#")[0].strip()
        key, colon, value = text.partition(b":")
        if not colon:
            words = text.split(None, 2)
            if len(words) != 2:
                continue
            key, value = words
        key = key.strip().lower()
        if key in _AGENT_KEYS or key in _DISALLOW_KEYS or key in _ALLOW_KEYS:
            yield key, value.strip()


def _agents(value: bytes) -> Iterator[bytes]:
    """Yield the user agent of a line: its token up to a version or comment, or the star."""
    if _EVERYONE.match(value):
        yield b"*"
    elif match := _AGENT.match(value):
        yield match[0].lower()


def _rules(pattern: bytes, *, allow: bool) -> Iterator[Rule]:
    rule = _rule(pattern, allow)
    yield rule
    # Who allows the page of a folder means the folder's address too.
    for page in _INDEX_PAGES:
        if allow and not rule.anchored and rule.parts[-1].endswith(page):
            folder = (*rule.parts[:-1], rule.parts[-1].removesuffix(page) + "/")
            yield Rule(True, folder, True, rule.weight - len(page) + 2)


def _rule(pattern: bytes, allow: bool) -> Rule:
    anchored = pattern.endswith(b"$")
    stars = pattern.removesuffix(b"$") if anchored else pattern
    first, *others = (_comparable(part) for part in stars.split(b"*"))
    # Several stars in a row are one.
    parts = (first, *(part for part in others[:-1] if part), *others[-1:])
    weight = len(first) + sum(len(part) + 1 for part in others) + anchored
    return Rule(allow, parts, anchored, weight)


def _comparable(path: bytes) -> str:
    """Return the form in which patterns and targets are compared (RFC 9309, 2.2.2 and 2.2.3).

    Escapes of unreserved characters are undone, all others are in upper case, and what may not stand in a URL is
    escaped.
    """
    path = _ESCAPE.sub(_unescaped, path) if b"%" in path else path
    return _ENCODED.sub(_escaped, path).decode("ascii")


def _unescaped(match: re.Match[bytes]) -> bytes:
    byte = int(match[0][1:], 16)
    return bytes([byte]) if byte in _UNRESERVED else match[0].upper()


def _escaped(match: re.Match[bytes]) -> bytes:
    return b"%%%02X" % match[0][0]


def _group(agent: str, rules: dict[Rule, None] | None) -> Group | None:
    if rules is None:
        return None
    return Group(agent, tuple(sorted(rules, key=lambda rule: 2 * rule.weight + rule.allow, reverse=True)))
