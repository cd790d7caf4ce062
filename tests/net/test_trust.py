"""Authorities that an operator adds to the machine's own."""

from __future__ import annotations

from pathlib import Path

import pytest
import trustme

from jupyter_webresearch.errors import Failed
from jupyter_webresearch.net.trust import check_ca_bundle, tls_context
from tests.net.transports import HOST, Way
from tests.sites import Authority, Site


def kept(folder: Path, content: bytes) -> str:
    path = folder / "authorities.pem"
    path.write_bytes(content)
    return str(path)


async def test_a_bundle_is_trusted_besides_the_machines_own(tmp_path: Path) -> None:
    authority = Authority()
    context = tls_context(kept(tmp_path, b"# our proxy \xc3\xbc\n" + authority.pem + Authority().pem))
    assert context.cert_store_stats()["x509_ca"] >= tls_context().cert_store_stats()["x509_ca"] + 2
    async with Site(tls=authority.server(HOST)) as site:
        assert await Way(site, ssl_context=context).read()


async def test_it_vouches_for_no_other_name(tmp_path: Path) -> None:
    authority = Authority()
    context = tls_context(kept(tmp_path, authority.pem))
    async with Site(tls=authority.server("other.example.org")) as site:
        assert (await Way(site, ssl_context=context).fails()).code == "tls"


def test_no_bundle() -> None:
    check_ca_bundle("")


def test_a_bundle_of_what_the_machine_knows_already(tmp_path: Path) -> None:
    import certifi

    path = kept(tmp_path, Path(certifi.where()).read_bytes())
    check_ca_bundle(path)
    tls_context(path)


LEAF = trustme.CA().issue_cert(HOST)
UNUSABLE = {
    "empty": b"",
    "text": b"no certificates here\n",
    "bytes": bytes(range(256)),
    "cut off": Authority().pem[:200],
    "a key": LEAF.private_key_pem.bytes(),
    "a site's own certificate": LEAF.cert_chain_pems[0].bytes(),
}


@pytest.mark.parametrize("content", UNUSABLE)
def test_what_is_no_bundle_stops_the_start(content: str, tmp_path: Path) -> None:
    refused(kept(tmp_path, UNUSABLE[content]))


def test_what_cant_be_read_stops_the_start(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent.pem", "a\0b"):
        refused(str(path))


def refused(path: str) -> None:
    for use in (check_ca_bundle, tls_context):
        with pytest.raises(Failed, match=r"WebPolicy\.ca_bundle") as caught:
            use(path)
        assert (caught.value.code, caught.value.setting) == ("config", "WebPolicy.ca_bundle")
