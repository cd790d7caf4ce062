"""Telling which kernel asks, by the proof that it sends.

The proof itself is described in :mod:`jupyter_webresearch.kernel.proof`; here are the server's checks of it.
"""

from __future__ import annotations

import hmac
import threading
from collections.abc import Callable
from dataclasses import dataclass

from jupyter_webresearch.clock import Clock
from jupyter_webresearch.errors import Refused
from jupyter_webresearch.kernel.proof import Proof, derive_key, server_signature, sign

__all__ = ["NONCES_PER_KERNEL", "NONCE_SECONDS", "TOLERANCE_SECONDS", "ProofVerifier", "VerifiedKernel"]

TOLERANCE_SECONDS = 60
"""How far the kernel's clock may be off, either way."""

NONCE_SECONDS = 2 * TOLERANCE_SECONDS
"""How long a nonce is remembered: a proof dated ahead by the tolerance is acceptable for twice that time."""

NONCES_PER_KERNEL = 131_072
"""Nonces of one kernel that are remembered at once, at most 16 MiB; a kernel that sends more has to wait. One that does
nothing but ask, on many threads, sends some 80,000 in :data:`NONCE_SECONDS`: measured, two proofs a call."""

SLOT_SECONDS = 10
"""Nonces are forgotten by the slot of time in which they came."""


@dataclass(frozen=True)
class VerifiedKernel:
    """A kernel that proved itself, and what the server answers to prove itself back."""

    kernel_id: str
    server_proof: str


class ProofVerifier:
    """Accepts each valid proof once. May be used from several threads.

    Parameters
    ----------
    connection_key
        Gives the connection key of a running kernel by its id, or None for an unknown one.
    clock
        The clock that proofs are dated against.
    """

    def __init__(self, connection_key: Callable[[str], bytes | None], clock: Clock) -> None:
        self._connection_key = connection_key
        self._clock = clock
        self._nonces: dict[str, dict[int, set[str]]] = {}  # by kernel and slot of time
        self._lock = threading.Lock()

    def verify(self, header: str, method: str, target: str, body: bytes) -> VerifiedKernel:
        """Return the kernel that made this request.

        Parameters
        ----------
        header
            Value of ``Authorization``.
        method, target, body
            The request as it arrived: verb, path with query, body octets.

        Raises
        ------
        Refused
            ``unauthorized``: the proof is malformed, of an unknown kernel or one without a key, signed wrongly, too
            old, too new, or was used before.
        """
        proof = Proof.parse(header)
        if proof is None:
            raise _refused("the kernel's proof is not readable")
        connection_key = self._connection_key(proof.kernel_id)
        if not connection_key:  # unknown, or with message signing switched off: then anyone could sign
            raise _refused("this server has no such kernel")
        key = derive_key(connection_key, proof.kernel_id)
        expected = sign(key, method, target, body, proof.timestamp, proof.nonce)
        if not hmac.compare_digest(expected, proof.signature):
            raise _refused("the kernel's proof is not valid")
        if abs(self._clock.now().timestamp() - int(proof.timestamp)) > TOLERANCE_SECONDS:
            raise _refused("the kernel's clock and the server's are more than a minute apart")
        with self._lock:
            self._use(proof)
        return VerifiedKernel(proof.kernel_id, server_signature(key, proof.nonce))

    def forget(self, kernel_id: str) -> None:
        """Drop what is remembered of a kernel that has ended."""
        with self._lock:
            self._nonces.pop(kernel_id, None)

    def _use(self, proof: Proof) -> None:
        used = self._nonces.setdefault(proof.kernel_id, {})
        now = int(self._clock.monotonic() // SLOT_SECONDS)
        for slot in [slot for slot in used if (now - slot - 1) * SLOT_SECONDS >= NONCE_SECONDS]:
            del used[slot]
        if any(proof.nonce in nonces for nonces in used.values()):
            raise _refused("the kernel's proof was used before")
        if sum(map(len, used.values())) >= NONCES_PER_KERNEL:  # forgetting one instead would let it be used again
            raise _refused("this kernel asked too often; wait two minutes")
        used.setdefault(now, set()).add(proof.nonce)


def _refused(message: str) -> Refused:
    return Refused("unauthorized", message)
