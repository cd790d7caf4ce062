"""Secrets of an operator: read where they are kept, and never told."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import keyring
import keyring.backend
import keyring.errors
import pytest

from jupyter_webresearch.errors import Failed
from jupyter_webresearch.secrets_source import MAX_SECRET, THREADS, SecretThreads, read_secret

SECRET = "sk-0123456789abcdef"


def kept(folder: Path, content: bytes, mode: int = 0o600) -> str:
    path = folder / "the-file-of-the-key"
    path.write_bytes(content)
    path.chmod(mode)
    return f"file:{path}"


def refusal(source: str, environ: dict[str, str] | None = None) -> str:
    with pytest.raises(Failed) as caught:
        read_secret(source, environ or {})
    assert caught.value.code == "credential_unavailable"
    return caught.value.message


def test_the_environment() -> None:
    assert read_secret("env:THE_KEY", {"THE_KEY": f" {SECRET}\n"}) == SECRET
    assert "not set" in refusal("env:THE_KEY")


def test_the_environment_of_this_process_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_KEY", SECRET)
    assert read_secret("env:THE_KEY") == SECRET


@pytest.mark.parametrize("content", [SECRET.encode(), SECRET.encode() + b"\n", b" " + SECRET.encode() + b" \r\n"])
def test_a_file(content: bytes, tmp_path: Path) -> None:
    assert read_secret(kept(tmp_path, content)) == SECRET


def test_a_file_behind_a_link(tmp_path: Path) -> None:
    kept(tmp_path, SECRET.encode())
    (tmp_path / "link").symlink_to("the-file-of-the-key")
    assert read_secret(f"file:{tmp_path / 'link'}") == SECRET


@pytest.mark.parametrize("mode", [0o604, 0o644, 0o602, 0o666])
def test_a_file_that_everyone_may_read(mode: int, tmp_path: Path) -> None:
    assert "chmod o-rwx" in refusal(kept(tmp_path, SECRET.encode(), mode))


@pytest.mark.parametrize("mode", [0o400, 0o440, 0o660])
def test_a_file_that_a_group_may_read(mode: int, tmp_path: Path) -> None:
    assert read_secret(kept(tmp_path, SECRET.encode(), mode)) == SECRET


def test_what_is_no_plain_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "plain file" in refusal(f"file:{tmp_path / 'pipe'}")
    for path in (tmp_path, tmp_path / "absent", "/dev/null", "/a\0b"):
        assert SECRET not in refusal(f"file:{path}")


BAD = [b"", b" \n", b"two\nlines", b"a\x00b", b"a\x1b[31m", "a\x85b".encode(), b"\xff\xfe", b"s" * (MAX_SECRET + 1)]


@pytest.mark.parametrize("content", BAD)
def test_what_is_no_secret(content: bytes, tmp_path: Path) -> None:
    refusal(kept(tmp_path, content))
    refusal("env:X", {"X": os.fsdecode(content)})


def test_the_longest(tmp_path: Path) -> None:
    assert read_secret(kept(tmp_path, b"s" * MAX_SECRET + b"\n")) == "s" * MAX_SECRET
    refusal("env:X", {"X": "\u00e9" * (MAX_SECRET // 2 + 1)})


def test_messages_tell_neither_the_secret_nor_its_place(tmp_path: Path) -> None:
    content = f"{SECRET}\n{SECRET}".encode()
    messages = [
        refusal(kept(tmp_path, content)),
        refusal(kept(tmp_path, content, 0o644)),
        refusal(f"file:{tmp_path}/the-other-key"),
        refusal("env:THE_KEY", {"THE_KEY": content.decode()}),
        refusal("env:THE_KEY"),
        refusal("secret:THE_KEY"),
        refusal("keyring:THE_SERVICE/THE_KEY"),
    ]
    for message in messages:
        assert not any(word in message for word in (SECRET, str(tmp_path), "the-", "THE_"))


class Ring(keyring.backend.KeyringBackend):
    """A keyring in memory."""

    priority = 1  # type: ignore[assignment]

    def get_password(self, service: str, username: str) -> str | None:
        if username == "locked":
            raise keyring.errors.KeyringLocked(f"{service} is locked")
        return {("https://api.example.com/v1", "me"): SECRET}.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        raise NotImplementedError


@pytest.fixture
def ring() -> Iterator[None]:
    before = keyring.get_keyring()
    keyring.set_keyring(Ring())
    yield
    keyring.set_keyring(before)


@pytest.mark.usefixtures("ring")
def test_the_keyring() -> None:
    assert read_secret("keyring:https://api.example.com/v1/me") == SECRET
    assert "no such entry" in refusal("keyring:service/other")
    assert "did not open" in refusal("keyring:service/locked")


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    assert "jupyter-webresearch[keyring]" in refusal("keyring:service/me")


def test_the_package_is_asked_for_late() -> None:
    source = Path(sys.modules["jupyter_webresearch.secrets_source"].__file__ or "").read_text("utf-8")
    assert "\nimport keyring" not in source


async def test_reading_that_hangs_takes_few_threads_and_no_loop() -> None:
    came, release = threading.Semaphore(0), threading.Event()

    def hang() -> str:
        came.release()
        release.wait()
        return SECRET

    threads = SecretThreads()
    tasks = [asyncio.ensure_future(threads.run(hang)) for _ in range(THREADS + 1)]
    for _ in range(THREADS):
        assert await asyncio.to_thread(came.acquire, timeout=30)
    assert not came.acquire(blocking=False)
    tasks[0].cancel()
    with pytest.raises(asyncio.CancelledError):
        await tasks[0]
    release.set()
    assert await asyncio.gather(*tasks[1:]) == [SECRET] * THREADS
