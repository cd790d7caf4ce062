"""Whom TLS trusts: the machine's authorities, and nothing that the environment says."""

from __future__ import annotations

import ssl
import sys
from pathlib import Path

import certifi

__all__ = ["tls_context"]


def tls_context() -> ssl.SSLContext:
    """Return a context that verifies certificate and host name, at least TLS 1.2, HTTP/1.1 only.

    ``ssl.create_default_context`` would obey SSL_CERT_FILE, SSL_CERT_DIR and SSLKEYLOGFILE, with which whoever sets the
    environment of a kernel reads its traffic. The machine's own store is used; where it holds nothing (minimal
    containers, python.org's macOS build), certifi's.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    if sys.platform == "win32":
        _load_windows_store(context)
    else:
        paths = ssl.get_default_verify_paths()
        file, folder = Path(paths.openssl_cafile), Path(paths.openssl_capath)
        found = file.is_file(), folder.is_dir() and any(folder.iterdir())
        if any(found):
            context.load_verify_locations(str(file) if found[0] else None, str(folder) if found[1] else None)
            if found[1] and not found[0]:
                return context  # A folder is read at the handshake; it can't be counted now.
    if not context.cert_store_stats()["x509_ca"]:
        context.load_verify_locations(certifi.where())
    return context


def _load_windows_store(context: ssl.SSLContext) -> None:
    if sys.platform == "win32":
        for store in ("ROOT", "CA"):
            for data, encoding, trust in ssl.enum_certificates(store):
                if encoding == "x509_asn" and (trust is True or ssl.Purpose.SERVER_AUTH.oid in trust):
                    context.load_verify_locations(cadata=data)
