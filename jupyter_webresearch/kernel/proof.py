r"""How a kernel proves which one it is, and how the server proves itself back.

A kernel and the server that started it share a random key, the ``key`` of the connection file; nothing else is needed.
Both sides import this module, so it holds nothing but the standard library.

``Authorization: JupyterKernel <kernel id>:<timestamp>:<nonce>:<signature>`` where ``K = HMAC-SHA256(key,
"jupyter_webresearch/v1\0" + kernel id)`` and the signature is ``HMAC-SHA256(K, method, target, SHA-256(body),
timestamp, nonce)``. Fields are framed as netstrings (https://cr.yp.to/proto/netstrings.txt), so that no two lists of
fields sign alike.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from typing import Any

__all__ = [
    "SCHEME",
    "SERVER_HEADER",
    "KernelIdentity",
    "Proof",
    "derive_key",
    "server_signature",
    "sign",
]

SCHEME = "JupyterKernel"
"""Name of the authorization scheme; not ``token`` or ``bearer``, which Jupyter's and the Hub's own providers claim."""

SERVER_HEADER = "X-WebResearch-Server"
"""Response header of ``hello`` in which the server proves that it knows the kernel's key."""

_CONTEXT = b"jupyter_webresearch/v1\0"
_FIELDS = re.compile(r"([A-Za-z0-9_.-]{1,128}):([0-9]{1,12}):([A-Za-z0-9_-]{16,64}):([0-9a-f]{64})")


def derive_key(connection_key: bytes, kernel_id: str) -> bytes:
    """Return the key of the proofs of one kernel.

    Parameters
    ----------
    connection_key
        The ``key`` of the kernel's connection file.
    kernel_id
        The kernel's id.

    Raises
    ------
    ValueError
        When the connection key is empty, as Jupyter allows: anyone could sign with it.
    """
    if not connection_key:
        raise ValueError("a kernel without a connection key can't prove anything")
    return hmac.digest(connection_key, _CONTEXT + kernel_id.encode(), "sha256")


def sign(key: bytes, method: str, target: str, body: bytes, timestamp: str, nonce: str) -> str:
    """Return the signature of one request, hexadecimal.

    Parameters
    ----------
    key
        From :func:`derive_key`.
    method, target
        As in the request line: upper case, and path with query exactly as sent.
    body
        Request body octets.
    timestamp
        Seconds since 1970, decimal.
    nonce
        Never used before.
    """
    return _mac(key, method, target, hashlib.sha256(body).hexdigest(), timestamp, nonce)


def server_signature(key: bytes, nonce: str) -> str:
    """Return what the server answers to prove that it knows the key: a signature of the request's nonce.

    Parameters
    ----------
    key
        The kernel's derived key, 32 bytes.
    nonce
        Of the kernel's request.
    """
    return _mac(key, "server", nonce)


def _mac(key: bytes, *fields: str) -> str:
    message = b"".join(b"%d:%s," % (len(octets), octets) for octets in (field.encode() for field in fields))
    return hmac.new(key, message, "sha256").hexdigest()


@dataclass(frozen=True)
class Proof:
    """The four fields of the header, syntactically valid."""

    kernel_id: str
    timestamp: str
    nonce: str
    signature: str

    @property
    def header(self) -> str:
        """The ``Authorization`` header's value."""
        return f"{SCHEME} {self.kernel_id}:{self.timestamp}:{self.nonce}:{self.signature}"

    @staticmethod
    def parse(header: str) -> Proof | None:
        """Read an ``Authorization`` header's value; None when it is not of this form."""
        scheme, _, fields = header.partition(" ")
        match = _FIELDS.fullmatch(fields)
        if scheme != SCHEME or match is None:
            return None
        return Proof(*match.groups())


@dataclass(frozen=True)
class KernelIdentity:
    """A kernel's id and the key of its proofs."""

    kernel_id: str
    key: bytes

    def prove(self, method: str, target: str, body: bytes, now: float) -> Proof:
        """Return the proof of one request made at ``now``, seconds since 1970.

        Parameters
        ----------
        method
            HTTP method, in capitals.
        target
            Path and query exactly as they are sent.
        body
            The request's body.
        now
            Seconds since 1970.
        """
        timestamp, nonce = str(int(now)), secrets.token_urlsafe(16)
        return Proof(self.kernel_id, timestamp, nonce, sign(self.key, method, target, body, timestamp, nonce))

    def trusts(self, proof: Proof, answer: str) -> bool:
        """Whether a server's answer to a proof shows that it knows this kernel's key.

        Parameters
        ----------
        proof
            What was sent.
        answer
            The signature that came back, hexadecimal.
        """
        return hmac.compare_digest(server_signature(self.key, proof.nonce).encode(), answer.encode())

    @staticmethod
    def of_connection(file_name: str, connection_key: bytes) -> KernelIdentity | None:
        """Return the identity that a connection file gives; None when a server can't have started this kernel.

        Parameters
        ----------
        file_name
            Name of the connection file: ``kernel-<id>.json`` for a server's kernels.
        connection_key
            Its ``key``.
        """
        match = re.fullmatch(r"kernel-([A-Za-z0-9_.-]{1,128})\.json", file_name)
        if match is None or not connection_key:
            return None
        return KernelIdentity(match[1], derive_key(connection_key, match[1]))

    @staticmethod
    def of_shell(shell: Any) -> KernelIdentity | None:
        """Return the identity of the kernel that an IPython shell runs in; None outside of ipykernel."""
        import sys
        from pathlib import PurePath

        kernel = getattr(shell, "kernel", None)
        application = getattr(sys.modules.get("ipykernel.kernelapp"), "IPKernelApp", None)
        if kernel is None or application is None or not application.initialized():
            return None
        key = getattr(getattr(kernel, "session", None), "key", None)
        name = PurePath(str(application.instance().connection_file)).name
        return KernelIdentity.of_connection(name, key) if isinstance(key, bytes) else None
