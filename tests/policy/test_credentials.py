"""An operator's credential goes to its host and nowhere else, and what comes back of it is its name."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import io
import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from jupyter_webresearch.config import WebPolicy
from jupyter_webresearch.config_entries import credentials_table
from jupyter_webresearch.errors import Failed, Refused, WebResearchError
from jupyter_webresearch.net.answer import Retrieved
from jupyter_webresearch.policy.admission import GuardAdmission
from jupyter_webresearch.policy.credentials import REMEMBERED, Credentials
from jupyter_webresearch.policy.guard import Guard
from jupyter_webresearch.policy.redactor import Redactor
from jupyter_webresearch.policy.urls import CheckedURL, parse_url
from tests.net.retrieving import HOST, OTHER, Rig, rig

SECRET = 'sk-9f"8/e7+d6&c5'
SHOWN = "credential:example"
SECURE = f"https://{HOST}"


class CredentialAdmission(GuardAdmission):
    """Lets out what the guard does, with the operator's credentials."""

    def __init__(self, credentials: Credentials) -> None:
        super().__init__(Guard(WebPolicy(), interfaces=frozenset, own_ports=frozenset))
        self._credentials = credentials

    async def headers(self, url: CheckedURL, *, redirected: bool) -> Sequence[tuple[str, str]]:
        header = await self._credentials.header_for(url, redirected=redirected)
        return () if header is None else (header,)

    def redactor(self) -> Redactor | None:  # type: ignore[override]
        return self._credentials.redactor()


def credentials(environ: dict[str, str] | None = None, host: str = HOST, **row: str) -> Credentials:
    table = credentials_table({host: {"name": "example", "source": "env:KEY", **row}})
    return Credentials(table, {"KEY": SECRET} if environ is None else environ)


@contextlib.asynccontextmanager
async def carrying(known: Credentials | None = None) -> AsyncIterator[Rig]:
    async with rig() as net:
        net.admission = CredentialAdmission(known or credentials())
        yield net


def authorizations(net: Rig) -> list[str | None]:
    return [request.header("authorization") for site in (net.secure, net.site, net.other) for request in site.seen]


async def test_it_goes_to_its_host() -> None:
    async with carrying() as net:
        await net.get(f"{SECURE}/plain")
        assert authorizations(net) == [f"Bearer {SECRET}"]


async def test_header_and_prefix_are_the_operators() -> None:
    async with carrying(credentials(header="X-Api-Key", prefix="Key ")) as net:
        await net.get(f"{SECURE}/plain", headers=(("x-api-key", "mine"), ("X_Api_Key", "mine"), ("X-Other", "mine")))
        sent = net.secure.seen[0].headers
    assert [value for name, value in sent if "api" in name.lower()] == [f"Key {SECRET}"]
    assert ("X-Other", "mine") in sent


@pytest.mark.parametrize(
    "url",
    [
        f"http://{HOST}/",
        f"http://{HOST}:443/",
        f"https://{HOST}:8443/",
        f"https://api.{HOST}/",
        "https://example.org/",
        f"https://{OTHER}/",
        "https://93.184.216.34/",
    ],
)
async def test_it_goes_nowhere_else(url: str) -> None:
    assert await credentials().header_for(parse_url(url), redirected=False) is None


@pytest.mark.parametrize("url", [f"{SECURE}/", f"https://{HOST}:443/a?b", f"https://{HOST.upper()}./", HOST])
async def test_spellings_of_its_host(url: str) -> None:
    assert await credentials().header_for(parse_url(url), redirected=False) == ("Authorization", f"Bearer {SECRET}")


@pytest.mark.parametrize("target", ["/echo", f"{SECURE}/echo", f"http://{HOST}/echo", f"http://{OTHER}/echo"])
async def test_it_follows_no_redirect(target: str) -> None:
    async with carrying() as net:
        await net.get(f"{SECURE}/redirect?to={quote(target)}")
        assert authorizations(net) == [f"Bearer {SECRET}", None]


async def test_it_waits_for_no_redirect_to_its_host() -> None:
    async with carrying() as net:
        await net.get(f"http://{HOST}/redirect?to={SECURE}/echo")
        assert authorizations(net) == [None, None]


async def test_it_is_sent_again_where_the_site_asked_to_wait() -> None:
    async with carrying() as net:
        await net.get(f"{SECURE}/retry?after=1")
        assert authorizations(net) == [f"Bearer {SECRET}"] * 2


async def test_a_changed_secret_holds_at_once_and_the_old_one_stays_hidden(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("the-first-key")
    file.chmod(0o600)
    async with carrying(credentials(source=f"file:{file}")) as net:
        await net.get(f"{SECURE}/plain")
        file.write_text("the-second-key")
        net.secure.serve("/both", "the-first-key the-second-key", "text/plain")
        assert (await net.get(f"{SECURE}/both")).body == f"{SHOWN} {SHOWN}".encode()
        assert authorizations(net) == ["Bearer the-first-key", "Bearer the-second-key"]


async def test_so_many_secrets_are_remembered() -> None:
    environ: dict[str, str] = {}
    known = credentials(environ)
    for number in range(REMEMBERED + 1):
        environ["KEY"] = f"secret-{number:04}"
        await known.header_for(parse_url(SECURE), redirected=False)
    redactor = known.redactor()
    assert redactor is not None
    assert not redactor.holds(b"secret-0000")
    assert redactor.holds(b"secret-0001")
    assert redactor.holds(f"secret-{REMEMBERED:04}".encode())


@pytest.mark.parametrize("environ", [{}, {"KEY": ""}, {"KEY": "two\nlines-of-it"}, {"KEY": "7-chars"}])
async def test_what_cant_be_sent_is_refused_before_any_packet(environ: dict[str, str]) -> None:
    async with carrying(credentials(environ)) as net:
        with pytest.raises(Failed, match=SHOWN) as caught:
            await net.get(f"{SECURE}/plain")
        assert net.untouched()
    assert (caught.value.code, caught.value.setting) == ("credential_unavailable", "WebPolicy.credentials")
    assert not any(value and value in caught.value.message for value in environ.values())


async def test_a_missing_one_holds_up_no_other_host() -> None:
    async with carrying(credentials({})) as net:
        assert (await net.get(f"http://{OTHER}/plain")).head.status == 200


def test_names() -> None:
    assert credentials().names() == {HOST: "example"}


async def test_reading_holds_up_no_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    started, beaten = asyncio.Event(), asyncio.Event()

    def read(*_args: object) -> str:
        loop.call_soon_threadsafe(started.set)
        asyncio.run_coroutine_threadsafe(beaten.wait(), loop).result(30)  # comes only from a loop that runs
        return SECRET

    monkeypatch.setattr("jupyter_webresearch.policy.credentials.read_secret", read)
    asking = asyncio.ensure_future(credentials().header_for(parse_url(SECURE), redirected=False))
    await started.wait()
    beaten.set()
    assert await asking is not None


# What comes back

FORMS = {
    "plain": SECRET,
    "with its prefix": f"Bearer {SECRET}",
    "json": json.dumps({"a": SECRET}),
    "url": quote(SECRET, safe=""),
    "base64": base64.b64encode(SECRET.encode()).decode(),
    "base64 of all": base64.b64encode(f"Bearer {SECRET}".encode()).decode(),
    "html": SECRET.replace("&", "&amp;").replace('"', "&quot;"),
}


def told(answer: Retrieved) -> str:
    """All that a retrieval gives back."""
    return repr(answer) + repr(answer.head) + answer.body.decode("latin-1")


def hidden(text: str) -> None:
    """Assert that no form of the secret is in a text, and its name is."""
    cores = [base64.b64encode(b"Bearer "[:n] + SECRET.encode()).decode()[4:-4] for n in range(3)]
    for form in (*FORMS.values(), SECRET, repr(SECRET)[1:-1], *cores):
        assert form not in text
    assert SHOWN in text


@pytest.mark.parametrize("status", [200, 401, 500])
@pytest.mark.parametrize("form", FORMS)
async def test_an_echo_in_a_body(form: str, status: int) -> None:
    async with carrying() as net:
        net.secure.serve("/echoing", f"you sent {FORMS[form]} to us", "text/plain", status=status)
        answer = await net.get(f"{SECURE}/echoing")
    hidden(told(answer))
    assert answer.body_bytes == len(answer.body)
    assert answer.sha256 == hashlib.sha256(answer.body).hexdigest()


async def test_the_real_echo() -> None:
    async with carrying() as net:
        hidden(told(await net.get(f"{SECURE}/echo")))


@pytest.mark.parametrize("form", FORMS)
async def test_an_echo_in_a_saved_body(form: str) -> None:
    file = io.BytesIO()
    async with carrying() as net:
        net.secure.serve("/file", b"\0" * 100_000 + FORMS[form].encode() + b"\0" * 100, "application/octet-stream")
        await net.get(f"{SECURE}/file", sink=file)
    hidden(file.getvalue().decode("latin-1"))


async def test_an_echo_of_unknown_type_is_sniffed_without_it() -> None:
    async with carrying() as net:
        net.secure.serve("/file", f"<p>{SECRET}</p>", "")
        answer = await net.get(f"{SECURE}/file")
    assert answer.head.content_type == "text/html"
    hidden(repr(answer.head.prefix))


@pytest.mark.parametrize("size", [1, 3, 5])
async def test_an_echo_in_crumbs(size: int) -> None:
    text = f"a {SECRET} b".encode()
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    raw = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
    raw += b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    async with carrying() as net:
        assert (await net.get(f"{SECURE}/raw?hex={raw.hex()}")).body == f"a {SHOWN} b".encode()


async def test_a_body_that_breaks_off_after_it() -> None:
    raw = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\n\r\n" + SECRET.encode()
    async with carrying() as net:
        answer = await net.get(f"{SECURE}/raw?hex={raw.hex()}")
    assert (answer.body, answer.truncated) == (SHOWN.encode(), True)


async def test_a_limit_cuts_what_is_shown_and_not_the_secret() -> None:
    async with carrying() as net:
        net.secure.serve("/long", f"123 {SECRET} rest", "text/plain")
        answer = await net.get(f"{SECURE}/long", limit=12)
    assert (answer.body, answer.truncated) == (f"123 {SHOWN}".encode()[:12], True)


@pytest.mark.parametrize("form", FORMS)
async def test_an_echo_in_headers(form: str) -> None:
    value = FORMS[form].replace("\n", " ")
    async with carrying() as net:
        headers = {"X-Debug": value, "Content-Disposition": f'attachment; filename="{value}"', "Set-Cookie": value}
        net.secure.serve("/echoing", "text", f"text/plain; x={value}", headers=headers)
        answer = await net.get(f"{SECURE}/echoing")
    hidden(repr(answer.head))


@pytest.mark.parametrize("secret", ["sk-TheKey-0123456789"])
async def test_an_echo_in_the_name_of_a_header(secret: str) -> None:
    async with carrying(credentials({"KEY": secret})) as net:
        net.secure.serve("/echoing", "text", "text/plain", headers={f"X-{secret}": "1"})
        answer = await net.get(f"{SECURE}/echoing")
    assert (f"x-{SHOWN}", "1") in answer.head.headers
    assert secret.lower() not in repr(answer).lower()


async def test_an_echo_as_a_number() -> None:
    secret = "12345678"
    async with carrying(credentials({"KEY": secret})) as net:
        headers = {"Retry-After": secret, "Age": secret}
        net.secure.serve("/echoing", "text", "text/plain", status=429, headers=headers)
        answer = await net.get(f"{SECURE}/echoing")
        raw = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {secret}\r\n\r\nx".encode().hex()
        length = await net.get(f"{SECURE}/raw?hex={raw}")
    assert secret not in told(answer) + told(length)


LOCATIONS = ["/plain?key={}", "https://evil.example/?{}", "/{}/x", "#{}", "not a url \\{}"]


@pytest.mark.parametrize("location", LOCATIONS)
@pytest.mark.parametrize("form", ["plain", "url", "base64 of all", "html"])
async def test_an_echo_in_a_location(form: str, location: str) -> None:
    async with carrying() as net:
        net.secure.serve("/leaving", "", status=302, headers={"Location": location.format(FORMS[form])})
        error = await failure(net, f"{SECURE}/leaving")
        assert len(net.dialler.dialled) == 1
    assert error.code == "redirect_refused"
    assert error.message.startswith("redirect refused: ")


async def test_an_echo_in_the_host_of_a_location() -> None:
    async with carrying(credentials({"KEY": "AbCdEfGh12345678"})) as net:
        net.secure.serve("/leaving", "", status=302, headers={"Location": "https://abcdefgh12345678.evil.example/"})
        error = await failure(net, f"{SECURE}/leaving")
        assert len(net.dialler.dialled) == 1
    assert error.code == "redirect_refused"
    assert "abcdefgh" not in error.message.lower()


RAW = [
    "HTTP/1.1 200 {}\r\nContent-Type: text/plain\r\nContent-Length: 1\r\n\r\n{}",
    "HTTP/1.1 999 {}\r\n\r\n",
    "{}\r\n\r\n",
    "HTTP/1.1 200 OK\r\n{}\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: {}\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Encoding: {}\r\n\r\nx",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{}\r\n",
]


@pytest.mark.parametrize("raw", RAW)
async def test_an_echo_in_what_breaks_http(raw: str) -> None:
    text = raw.replace("{}", SECRET).encode().hex()
    async with carrying() as net:
        try:
            shown: Any = told(await net.get(f"{SECURE}/raw?hex={text}"))
        except WebResearchError as error:
            shown = [error, error.to_json(), error.__cause__]
    assert SECRET not in repr(shown)


async def test_a_later_answer_of_another_site() -> None:
    async with carrying() as net:
        await net.get(f"{SECURE}/plain")
        net.other.serve("/log", f"seen: {SECRET}", "text/plain")
        assert (await net.get(f"http://{OTHER}/log")).body == f"seen: {SHOWN}".encode()


async def test_nothing_is_looked_for_while_nothing_was_sent() -> None:
    known = credentials()
    assert known.redactor() is None
    async with carrying(known) as net:
        net.site.serve("/log", SECRET, "text/plain")
        assert (await net.get("/log")).body == SECRET.encode()


async def failure(net: Rig, url: str) -> WebResearchError:
    with pytest.raises((Refused, Failed)) as caught:
        await net.get(url)
    assert SECRET not in caught.value.message
    return caught.value
