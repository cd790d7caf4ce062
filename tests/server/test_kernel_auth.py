"""The kernel's proof: only the whole of it, in time, once, and for that kernel."""

from __future__ import annotations

import hashlib
import hmac
from datetime import datetime, timedelta, timezone

import pytest

from jupyter_webresearch.errors import Refused
from jupyter_webresearch.kernel.proof import KernelIdentity, Proof, derive_key, server_signature, sign
from jupyter_webresearch.server import kernel_auth
from jupyter_webresearch.server.kernel_auth import NONCE_SECONDS, SLOT_SECONDS, TOLERANCE_SECONDS, ProofVerifier

KEYS = {"k-1": b"key of one", "k-2": b"key of two", "unsigned": b""}
REQUEST = ("POST", "/user/a%40b/webresearch/fetch?x=1", b'{"url": "https://example.org/"}')


class Clock:
    """Wall and monotonic time, turned by hand and apart."""

    def __init__(self) -> None:
        self.wall = datetime(2026, 6, 1, tzinfo=timezone.utc)
        self.seconds = 50.0

    def now(self) -> datetime:
        return self.wall

    def monotonic(self) -> float:
        return self.seconds

    def turn(self, seconds: float) -> None:
        self.wall += timedelta(seconds=seconds)
        self.seconds += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def verifier(clock: Clock) -> ProofVerifier:
    return ProofVerifier(KEYS.get, clock)


def identity(kernel_id: str = "k-1", key: bytes | None = None) -> KernelIdentity:
    return KernelIdentity(kernel_id, derive_key(key or KEYS[kernel_id], kernel_id))


def proof_of(clock: Clock, who: KernelIdentity | None = None, off: float = 0) -> Proof:
    return (who or identity()).prove(*REQUEST, clock.now().timestamp() + off)


def test_a_valid_proof_is_answered_with_the_servers(verifier: ProofVerifier, clock: Clock) -> None:
    proof = proof_of(clock)
    verified = verifier.verify(proof.header, *REQUEST)
    assert verified.kernel_id == "k-1"
    assert identity().trusts(proof, verified.server_proof)
    assert not identity("k-2").trusts(proof, verified.server_proof)
    assert not identity().trusts(proof_of(clock), verified.server_proof)
    assert not identity().trusts(proof, "")


def test_the_construction_is_the_documented_one(clock: Clock) -> None:
    key = hmac.digest(b"key of one", b"jupyter_webresearch/v1\0k-1", "sha256")
    method, target, body = REQUEST
    fields = [method, target, hashlib.sha256(body).hexdigest(), "1780272000", "n" * 16]
    message = "".join(f"{len(field)}:{field}," for field in fields)
    assert sign(key, method, target, body, *fields[3:]) == hmac.new(key, message.encode(), "sha256").hexdigest()
    assert server_signature(key, "n") == hmac.new(key, b"6:server,1:n,", "sha256").hexdigest()


@pytest.mark.parametrize("off", [-60, -59, 0, 59, 60])
def test_in_time(verifier: ProofVerifier, clock: Clock, off: float) -> None:
    verifier.verify(proof_of(clock, off=off).header, *REQUEST)


@pytest.mark.parametrize("off", [-(10**9), -3600, -61, 61, 3600, 10**9])
def test_late_or_early(verifier: ProofVerifier, clock: Clock, off: float) -> None:
    with pytest.raises(Refused, match="minute apart"):
        verifier.verify(proof_of(clock, off=off).header, *REQUEST)


def test_replayed(verifier: ProofVerifier, clock: Clock) -> None:
    ahead = proof_of(clock, off=60).header
    verifier.verify(ahead, *REQUEST)
    for _ in range(NONCE_SECONDS):
        with pytest.raises(Refused, match="used before"):
            verifier.verify(ahead, *REQUEST)
        clock.turn(1)
    clock.turn(1)
    with pytest.raises(Refused, match="minute apart"):
        verifier.verify(ahead, *REQUEST)


def test_replayed_elsewhere(verifier: ProofVerifier, clock: Clock) -> None:
    method, target, body = REQUEST
    for other in (("GET", target, body), (method, target + "&y", body), (method, "/", body), (method, target, b"")):
        with pytest.raises(Refused, match="not valid"):
            verifier.verify(proof_of(clock).header, *other)


@pytest.mark.parametrize("field", range(4))
def test_each_field_is_signed(verifier: ProofVerifier, clock: Clock, field: int) -> None:
    proof = proof_of(clock)
    fields = [proof.kernel_id, proof.timestamp, proof.nonce, proof.signature]
    changed = [
        "k-2",
        str(int(proof.timestamp) + 1),
        "x" + proof.nonce[1:] if proof.nonce[0] != "x" else "y" + proof.nonce[1:],
        "0" * 64,
    ]
    fields[field] = changed[field]
    with pytest.raises(Refused, match="not valid"):
        verifier.verify(Proof(*fields).header, *REQUEST)


def test_fields_can_not_be_shifted_into_each_other() -> None:
    key = b"k" * 32
    seen = {
        sign(key, "POST", "/a", b"", "12", "3456789012345678"),
        sign(key, "POST", "/a", b"", "123", "456789012345678"),
        sign(key, "POST/", "a", b"", "12", "3456789012345678"),
        sign(key, "POST", "/a1:", b"", "12", "3456789012345678"),
    }
    assert len(seen) == 4


def test_forged(verifier: ProofVerifier, clock: Clock) -> None:
    with pytest.raises(Refused, match="not valid"):
        verifier.verify(proof_of(clock, identity("k-1", b"another key")).header, *REQUEST)


def test_by_another_kernel(verifier: ProofVerifier, clock: Clock) -> None:
    proof = proof_of(clock, KernelIdentity("k-1", identity("k-2").key))
    with pytest.raises(Refused, match="not valid"):
        verifier.verify(proof.header, *REQUEST)


@pytest.mark.parametrize("kernel_id", ["unknown", "unsigned"])
def test_no_such_kernel_or_no_key(verifier: ProofVerifier, clock: Clock, kernel_id: str) -> None:
    key = hmac.digest(b"", b"jupyter_webresearch/v1\0" + kernel_id.encode(), "sha256")
    with pytest.raises(Refused, match="no such kernel"):
        verifier.verify(proof_of(clock, KernelIdentity(kernel_id, key)).header, *REQUEST)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "JupyterKernel",
        "JupyterKernel ",
        "JupyterKernel k-1",
        "JupyterKernel k-1:1:2",
        "JupyterKernel k-1:1780272000:" + "n" * 16 + ":",
        "JupyterKernel k-1:1780272000:short:" + "0" * 64,
        "JupyterKernel k-1:1780272000:" + "n" * 65 + ":" + "0" * 64,
        "JupyterKernel k-1:-1:" + "n" * 16 + ":" + "0" * 64,
        "JupyterKernel k-1:1e9:" + "n" * 16 + ":" + "0" * 64,
        "JupyterKernel k-1:٣٣:" + "n" * 16 + ":" + "0" * 64,
        "JupyterKernel k-1:1780272000:" + "n" * 16 + ":" + "G" * 64,
        "JupyterKernel k-1:1780272000:" + "n" * 16 + ":" + "0" * 64 + ":more",
        "JupyterKernel k 1:1780272000:" + "n" * 16 + ":" + "0" * 64,
        "JupyterKernel ../k:1780272000:" + "n" * 16 + ":" + "0" * 64,
        "token k-1:1780272000:" + "n" * 16 + ":" + "0" * 64,
    ],
)
def test_malformed(verifier: ProofVerifier, header: str) -> None:
    with pytest.raises(Refused) as caught:
        verifier.verify(header, *REQUEST)
    assert caught.value.code == "unauthorized"


def test_a_full_memory_refuses_rather_than_forgets(
    verifier: ProofVerifier, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_auth, "NONCES_PER_KERNEL", 100)
    first = proof_of(clock).header
    verifier.verify(first, *REQUEST)
    for _ in range(99):
        clock.turn(0.5)
        verifier.verify(proof_of(clock).header, *REQUEST)
    with pytest.raises(Refused, match="too often"):
        verifier.verify(proof_of(clock).header, *REQUEST)
    with pytest.raises(Refused, match="used before"):
        verifier.verify(first, *REQUEST)
    verifier.verify(proof_of(clock, identity("k-2")).header, *REQUEST)  # each kernel has its own memory
    clock.turn(NONCE_SECONDS + SLOT_SECONDS)
    verifier.verify(proof_of(clock).header, *REQUEST)


@pytest.mark.parametrize("started", range(0, 10, 3))
def test_no_nonce_is_forgotten_while_its_proof_is_good(clock: Clock, started: int) -> None:
    clock.seconds = started
    verifier = ProofVerifier(KEYS.get, clock)
    ahead = proof_of(clock, off=60).header
    verifier.verify(ahead, *REQUEST)
    for _ in range(int(2 * TOLERANCE_SECONDS / 0.5)):
        clock.turn(0.5)
        verifier.verify(proof_of(clock).header, *REQUEST)
        with pytest.raises(Refused, match="used before"):
            verifier.verify(ahead, *REQUEST)
    assert sum(map(len, verifier._nonces["k-1"].values())) == 241


def test_old_nonces_are_forgotten(verifier: ProofVerifier, clock: Clock) -> None:
    for _ in range(50):
        verifier.verify(proof_of(clock).header, *REQUEST)
        clock.turn(NONCE_SECONDS / 10)
    assert len(verifier._nonces["k-1"]) <= 1 + NONCE_SECONDS / SLOT_SECONDS


def test_who_has_no_key_fills_no_memory(verifier: ProofVerifier, clock: Clock) -> None:
    for _ in range(100):
        with pytest.raises(Refused):
            verifier.verify(proof_of(clock, identity("k-1", b"guess")).header, *REQUEST)
    assert not verifier._nonces


@pytest.mark.parametrize(
    ("file_name", "key", "known"),
    [
        ("kernel-0b1c2d3e-0000-4000-8000-123456789abc.json", b"k", True),
        ("kernel-v31234567890abcdef.json", b"k", True),
        ("kernel-0b1c.json", b"", False),
        ("tmpabc123.json", b"k", False),
        ("kernel-.json", b"k", False),
        ("kernel-a b.json", b"k", False),
        ("kernel-a.txt", b"k", False),
        ("xkernel-a.json", b"k", False),
    ],
)
def test_identity_of_a_connection_file(file_name: str, key: bytes, known: bool) -> None:
    assert (KernelIdentity.of_connection(file_name, key) is not None) is known
