"""Whom TLS trusts: the machine's authorities, those an operator adds, and nothing that the environment says."""

from __future__ import annotations

import ssl
import sys
from pathlib import Path

import certifi

from jupyter_webresearch.errors import Failed

__all__ = ["check_ca_bundle", "tls_context"]


def tls_context(ca_bundle: str = "") -> ssl.SSLContext:
    """Return a context that verifies certificate and host name, at least TLS 1.2, HTTP/1.1 only.

    ``ssl.create_default_context`` would obey SSL_CERT_FILE, SSL_CERT_DIR and SSLKEYLOGFILE, with which whoever sets the
    environment of a kernel reads its traffic. The machine's own store is used; where it holds nothing (minimal
    containers, python.org's macOS build), certifi's.

    Parameters
    ----------
    ca_bundle
        A PEM file of authorities that are trusted besides.

    Raises
    ------
    Failed
        ``config``: that file can't be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    _load_machines_store(context)
    if ca_bundle:
        _load_bundle(context, ca_bundle)
    return context


def check_ca_bundle(path: str) -> None:
    """Read ``WebPolicy.ca_bundle``, so that a file that can't be used stops the start; an empty path is none.

    Raises
    ------
    Failed
        ``config``, naming the setting.
    """
    if path:
        _load_bundle(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), path)


def _load_machines_store(context: ssl.SSLContext) -> None:
    if sys.platform == "win32":
        _load_windows_store(context)
    else:
        paths = ssl.get_default_verify_paths()
        file, folder = Path(paths.openssl_cafile), Path(paths.openssl_capath)
        found = file.is_file(), folder.is_dir() and any(folder.iterdir())
        if any(found):
            context.load_verify_locations(str(file) if found[0] else None, str(folder) if found[1] else None)
            if found[1] and not found[0]:
                return  # A folder is read at the handshake; it can't be counted now.
    if not context.cert_store_stats()["x509_ca"]:
        context.load_verify_locations(certifi.where())


def _load_windows_store(context: ssl.SSLContext) -> None:
    if sys.platform == "win32":
        for store in ("ROOT", "CA"):
            for data, encoding, trust in ssl.enum_certificates(store):
                if encoding == "x509_asn" and (trust is True or ssl.Purpose.SERVER_AUTH.oid in trust):
                    context.load_verify_locations(cadata=data)


def _load_bundle(context: ssl.SSLContext, path: str) -> None:
    try:
        # Counted in a store of its own: the machine's may hold the same authorities already.
        counted = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        counted.load_verify_locations(path)
        context.load_verify_locations(path)
    except ssl.SSLError:
        raise _unusable("it is not a file of certificates in PEM form") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no such path"
        raise _unusable(f"it can't be read ({reason})") from None
    if not counted.cert_store_stats()["x509_ca"]:
        raise _unusable("it holds no certificate of an authority")


def _unusable(why: str) -> Failed:
    return Failed("config", f"WebPolicy.ca_bundle can't be used: {why}", setting="WebPolicy.ca_bundle")
