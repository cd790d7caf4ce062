"""TLS is verified against the name, whatever address is dialled and whatever the environment says."""

from __future__ import annotations

import asyncio
import ssl
from datetime import datetime, timedelta, timezone
from pathlib import Path

import httpx
import pytest
import trustme

from jupyter_webresearch.config import WebFetch, WebPolicy
from jupyter_webresearch.net.transport import GuardedTransport
from jupyter_webresearch.net.trust import tls_context
from jupyter_webresearch.policy.admission import GuardAdmission
from jupyter_webresearch.policy.guard import Guard
from tests.net.transports import HOST, Way, serving
from tests.own_time import in_own_time
from tests.sites import Authority, Site
from tests.sites.network import MappedDialler


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


def served_by(certificate: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context


async def test_a_good_certificate(authority: Authority) -> None:
    async with Site(tls=authority.server(HOST)) as site:
        way = Way(site, ssl_context=authority.client)
        assert await way.read("/plain")
        assert way.dialler.dialled == [("93.184.216.34", 443)]
        assert way.dialler.open_streams == 0


@pytest.mark.parametrize(
    ("answer", "code"), [(b"HTTP/1.1 400 Bad Request\r\n\r\n", "tls"), (b"SSH-2.0-x\r\n", "tls"), (b"", "timeout")]
)
@in_own_time
async def test_where_no_tls_is_spoken_the_message_says_what_to_try(
    authority: Authority, answer: bytes, code: str
) -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(answer)
        await reader.read()  # until the other side hangs up
        writer.close()

    server = await asyncio.start_server(speak, "127.0.0.1", 0)
    async with server:
        way = Way(server.sockets[0].getsockname()[1], ssl_context=authority.client, idle_timeout=0.5)
        error = await way.fails(f"https://{HOST}:8443/plain")
    assert error.code == code
    assert all(word in error.message for word in (HOST, "8443", "plain http://"))


@pytest.mark.parametrize("host", ["bücher.example.org", "-a-.example.org"])
async def test_names_that_tls_libraries_dislike(authority: Authority, host: str) -> None:
    async with Site(tls=authority.server("*.example.org")) as site:
        assert await Way(site, ssl_context=authority.client).read(f"https://{host}/plain")


async def test_the_name_is_sent_and_no_address(authority: Authority) -> None:
    named: list[str | None] = []
    context = authority.server(HOST, "127.0.0.1")
    context.sni_callback = lambda _socket, name, _context: named.append(name)
    async with Site(tls=context) as site:
        await Way(site, ssl_context=authority.client).read()
        policy = WebPolicy(allow_private_networks=["127.0.0.1/32"], allowed_ports=[site.port])
        transport = GuardedTransport(WebFetch(), ssl_context=authority.client)
        admission = GuardAdmission(Guard(policy, own_ports=frozenset))
        response = await transport.handle_async_request(
            httpx.Request("GET", site.url("/plain"), extensions={"admission": admission})
        )
        await response.aread()
    assert named == [HOST, None]


async def test_another_name(authority: Authority) -> None:
    async with Site(tls=authority.server("other.example.org")) as site:
        error = await Way(site, ssl_context=authority.client).fails()
        assert error.code == "tls"
        assert "mismatch" in error.message.lower()
        assert site.seen == []


async def test_a_certificate_for_the_address_is_not_one_for_the_name(authority: Authority) -> None:
    async with Site(tls=authority.server("93.184.216.34", "127.0.0.1")) as site:
        assert (await Way(site, ssl_context=authority.client).fails()).code == "tls"


async def test_an_address_needs_a_certificate_for_it(authority: Authority) -> None:
    async with Site(tls=authority.server(HOST)) as site:
        way = Way(site, ssl_context=authority.client)
        with pytest.raises(Exception, match="certificate") as caught:
            await way.read("https://93.184.216.34/plain")
        assert caught.value.code == "tls"  # type: ignore[attr-defined]
    async with Site(tls=authority.server("93.184.216.34")) as site:
        assert await Way(site, ssl_context=authority.client).read("https://93.184.216.34/plain")


async def test_an_expired_certificate() -> None:
    ca = trustme.CA()
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    ca.configure_trust(client)
    past = datetime.now(timezone.utc) - timedelta(days=1)
    certificate = ca.issue_cert(HOST, not_before=past - timedelta(days=30), not_after=past)
    async with Site(tls=served_by(certificate)) as site:
        error = await Way(site, ssl_context=client).fails()
        assert error.code == "tls"
        assert "expired" in error.message


async def test_an_authority_that_nobody_knows(authority: Authority) -> None:
    async with Site(tls=served_by(trustme.CA().issue_cert(HOST))) as site:
        assert (await Way(site, ssl_context=authority.client).fails()).code == "tls"
        assert (await Way(site).fails()).code == "tls", "the machine's own authorities"
        assert site.seen == []


async def test_a_server_without_tls(authority: Authority) -> None:
    async def greet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()

    async with serving(greet) as port:
        way = Way(port, ssl_context=authority.client)
        way.scheme = "https"
        assert (await way.fails()).code == "tls"
    async with Site(tls=authority.server(HOST)) as site:
        way = Way(site)
        way.scheme = "http"
        assert (await way.fails()).code in ("bad_response", "unreachable")


@in_own_time
async def test_a_handshake_that_never_ends(authority: Authority) -> None:
    class Mute(MappedDialler):
        async def connect(self, *args: object) -> object:  # type: ignore[override]
            stream = await super().connect(*args)  # type: ignore[arg-type]

            async def swallow(_data: bytes, _timeout: float | None = None) -> None:
                """Send nothing on."""

            stream._stream.write = swallow  # type: ignore[attr-defined]
            return stream

    async with Site() as site:
        way = Way(site, dialler=Mute(everything=site.port), ssl_context=authority.client, idle_timeout=0.5)
        way.scheme = "https"
        error = await way.fails()
        assert (error.code, error.setting) == ("timeout", "WebFetch.idle_timeout")


async def test_old_versions_are_refused(authority: Authority) -> None:
    context = authority.server(HOST)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    client = tls_context()
    client.load_verify_locations(cadata=authority.pem.decode())
    async with Site(tls=context) as site:
        assert await Way(site, ssl_context=client).read()
    client.minimum_version = ssl.TLSVersion.TLSv1_3
    async with Site(tls=context) as site:
        assert (await Way(site, ssl_context=client).fails()).code == "tls"


async def test_only_http_1_is_offered(authority: Authority) -> None:
    chosen: list[str | None] = []
    context = authority.server(HOST)
    context.set_alpn_protocols(["h2", "http/1.1"])
    client = tls_context()
    client.load_verify_locations(cadata=authority.pem.decode())
    async with Site(tls=context) as site:
        way = Way(site, ssl_context=client)
        response = await way.open()
        chosen.append(way.dialler.streams[0].secured.get_extra_info("ssl_object").selected_alpn_protocol())
        await response.aclose()
    assert chosen == ["http/1.1"]


async def test_the_environment_adds_no_authority_and_logs_no_keys(
    authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pem, log = tmp_path / "ca.pem", tmp_path / "keys.log"
    pem.write_bytes(authority.pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    monkeypatch.setenv("SSLKEYLOGFILE", str(log))
    async with Site(tls=authority.server(HOST)) as site:
        assert (await Way(site).fails()).code == "tls"
    assert not log.exists()


def test_the_default_context() -> None:
    context = tls_context()
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert context.keylog_filename is None


def test_without_a_store_certifi_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = ssl.get_default_verify_paths()._replace(
        openssl_cafile=str(tmp_path / "none.pem"), openssl_capath=str(tmp_path / "none")
    )
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: paths)
    assert tls_context().cert_store_stats()["x509_ca"] > 50


async def test_the_context_is_made_once(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[ssl.SSLContext] = []

    def counted(ca_bundle: str) -> ssl.SSLContext:
        made.append(tls_context(ca_bundle))
        return made[-1]

    monkeypatch.setattr("jupyter_webresearch.net.transport.tls_context", counted)
    async with Site(tls=authority.server(HOST)) as site:
        way = Way(site)
        for _ in range(2):
            await way.fails()
    assert len(made) == 1
