"""A secret is found in every form that encoders give it, however the body is cut, and nothing else is."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest

from jupyter_webresearch.policy.redactor import Redactor, SecretForms

SECRETS = [
    "sk-proj-0123456789abcdefABCDEF",
    "AKIAIOSFODNN7EXAMPLE",
    "p<a>s&s\"w/o\\r'd+= %",
    "grüße-aus-köln",
    "emoji-\U0001f511-key",
    "....////++++----",
]
LABEL = b"credential:example"


def everywhere(spelling: Callable[[str], str]) -> Callable[[str], str]:
    return lambda secret: "".join(map(spelling, secret))


ENCODERS: dict[str, Callable[[str], str | bytes]] = {
    "plain": str,
    "json": lambda secret: json.dumps(secret)[1:-1],
    "json unescaped": lambda secret: json.dumps(secret, ensure_ascii=False)[1:-1],
    "json with slashes": lambda secret: json.dumps(secret)[1:-1].replace("/", "\\/"),
    "json for html": lambda secret: (
        json.dumps(secret)[1:-1].replace("&", "\\u0026").replace("<", "\\u003C").replace(">", "\\u003e")
    ),
    "json in json": lambda secret: json.dumps(json.dumps(secret)[1:-1])[1:-1],
    "every letter for json": everywhere(
        lambda letter: "".join(f"\\u{unit:04x}" for unit in memoryview(letter.encode("utf-16-le")).cast("H"))
    ),
    "url": lambda secret: quote(secret, safe=""),
    "url in lower case": lambda secret: quote(secret, safe="").replace("%2F", "%2f").replace("%2B", "%2b"),
    "path": quote,
    "form": quote_plus,
    "url in url": lambda secret: quote(quote(secret, safe=""), safe=""),
    "every byte for a url": lambda secret: "".join(f"%{byte:02X}" for byte in secret.encode()),
    "html": html.escape,
    "html text": lambda secret: html.escape(secret, quote=False),
    "html twice": lambda secret: html.escape(html.escape(secret)),
    "every letter for html": everywhere(lambda letter: f"&#{ord(letter)};"),
    "every letter for html in hexadecimal": everywhere(lambda letter: f"&#x{ord(letter):X};"),
    "html with apostrophes": lambda secret: html.escape(secret).replace("&#x27;", "&apos;"),
    "hexadecimal": lambda secret: secret.encode().hex(),
    "utf-16": lambda secret: secret.encode("utf-16-le"),
    "utf-16 big": lambda secret: secret.encode("utf-16-be"),
    **{f"base64 after {n}": lambda secret, n=n: base64.b64encode(b"Basic:"[:n] + secret.encode()) for n in range(7)},
    "base64 for urls": lambda secret: base64.urlsafe_b64encode(secret.encode()),
    "base64 within text": lambda secret: base64.b64encode(f"a{secret}bc".encode()),
    "base64 in a url": lambda secret: quote(base64.b64encode(secret.encode()).decode(), safe=""),
    "base64 in json": lambda secret: base64.b64encode(secret.encode()).decode().replace("/", "\\/"),
}


def encoded(name: str, secret: str) -> bytes:
    text = ENCODERS[name](secret)
    return text if isinstance(text, bytes) else text.encode()


def redactor(secret: str) -> Redactor:
    return Redactor(SecretForms({secret: LABEL.decode()}))


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("name", ENCODERS)
def test_every_form(name: str, secret: str) -> None:
    form = encoded(name, secret)
    shown = redactor(secret).value(b"before " + form + b" after")
    label = LABEL
    if "utf-16" in name:
        label = LABEL.decode().encode("utf-16-be" if "big" in name else "utf-16-le")
    assert label in shown
    assert shown.startswith(b"before ")
    assert shown.endswith(b" after")
    if "base64" not in name:  # whose neighbours' letters stay
        assert shown == b"before " + label + b" after"


@pytest.mark.parametrize("name", ENCODERS)
def test_a_body_cut_anywhere(name: str) -> None:
    secret = SECRETS[2]
    text = b"x" * 300 + encoded(name, secret) + b"y" * 300 + encoded(name, secret) + encoded(name, secret) + b"z"
    whole = redactor(secret).value(text)
    assert whole.count(b"x") + whole.count(b"y") >= 600
    for size in (1, 2, 7, 64, 333, 1000):
        taking = redactor(secret)
        pieces = [taking.feed(text[at : at + size]) for at in range(0, len(text), size)]
        assert b"".join([*pieces, taking.flush()]) == whole


def test_no_byte_else_is_changed() -> None:
    data = bytes(range(256)) * 200 + b"sk-proj-0123456789abcdefABCDE" + "grüße %41 &#65; \\u0041".encode() * 500
    taking = redactor(SECRETS[0])
    pieces = [taking.feed(data[at : at + 4096]) for at in range(0, len(data), 4096)]
    assert b"".join([*pieces, taking.flush()]) == data


def test_a_body_comes_before_its_end() -> None:
    taking = redactor(SECRETS[0])
    assert len(taking.feed(b"a" * 100_000)) > 90_000


def test_upper_and_lower_case_in_names() -> None:
    looking = redactor(SECRETS[0])
    for name in (SECRETS[0].lower(), SECRETS[0].upper()):
        assert looking.name(f"x-{name}".encode()) == b"x-" + LABEL
        assert looking.holds(f"https://{name}.example.com/".encode())
        assert looking.value(name.encode()) == name.encode()
    assert not looking.holds(b"https://sk-proj.example.com/")


def test_several_secrets_have_their_own_names() -> None:
    forms = SecretForms(
        {"one-secret": "credential:one", "one-secret-longer": "credential:two", "other-secret": "credential:three"}
    )
    shown = Redactor(forms).value(b"one-secret one-secret-longer other%2Dsecret")
    assert shown == b"credential:one credential:two credential:three"


def test_a_long_secret() -> None:
    secret = "Aa0+/" * 400
    taking = redactor(secret)
    text = b"a" * 1000 + base64.b64encode(secret.encode()) + secret.encode()
    shown = b"".join([*(taking.feed(text[at : at + 1000]) for at in range(0, len(text), 1000)), taking.flush()])
    assert shown.count(LABEL) == 2
    assert len(shown) < 1100
