"""Saving: inside the folder, whole or not at all, never through a link, never over a file unasked."""

from __future__ import annotations

import hashlib
import itertools
import os
import resource
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_webresearch.errors import WebResearchError
from jupyter_webresearch.kernel import saving
from jupyter_webresearch.kernel.saving import SaveTarget, safe_name
from jupyter_webresearch.models import Saved

BODY = b"the body"


def saved(name: str = "report.pdf", body: bytes = BODY) -> Saved:
    return Saved(name, len(body), hashlib.sha256(body).hexdigest(), "application/pdf", key="00")


def save(
    folder: Path, path: str | None = None, *, force: bool = False, name: str = "report.pdf", body: bytes = BODY
) -> str:
    with SaveTarget(folder, path, force) as target:
        return target.write(saved(name, body), [body[:3], body[3:]]).path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The notebook's folder, beside things that must not be touched."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_bytes(b"secret")
    inside = tmp_path / "notebook"
    (inside / "data").mkdir(parents=True)
    (inside / "there.pdf").write_bytes(b"old")
    (inside / "link").symlink_to(tmp_path / "outside")
    (inside / "loop").symlink_to(inside / "loop")
    (inside / "dangling").symlink_to(tmp_path / "outside" / "new")
    (inside / "file-link").symlink_to(tmp_path / "outside" / "secret")
    os.link(tmp_path / "outside" / "secret", inside / "hard-link")
    os.mkfifo(inside / "fifo")
    return inside


@pytest.fixture(autouse=True)
def nothing_outside_changes(tmp_path: Path) -> Iterator[None]:
    yield
    outside = tmp_path / "outside"
    if outside.is_dir():
        assert sorted(file.name for file in outside.iterdir()) == ["secret"]
        assert (outside / "secret").read_bytes() == b"secret"
    assert not list(tmp_path.glob("**/.*.part"))


@pytest.fixture(params=["openat", "paths"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways: relative to open folders, and by path as on Windows."""
    monkeypatch.setattr(saving, "HAS_DIR_FD", request.param == "openat")


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (None, "report.pdf"),
        (".", "report.pdf"),
        ("data", "data/report.pdf"),
        ("data/", "data/report.pdf"),
        ("new.pdf", "new.pdf"),
        ("./new.pdf", "new.pdf"),
        ("data/new.pdf", "data/new.pdf"),
        ("name with spaces ünïcode.pdf", "name with spaces ünïcode.pdf"),
        (".hidden", ".hidden"),
        ("data/.", "data/report.pdf"),
        ("n" * 255, "n" * 255),
        ("報" * 85, "報" * 85),
        ("a..b", "a..b"),
    ],
)
def test_where_it_goes(folder: Path, path: str | None, expected: str) -> None:
    assert save(folder, path) == expected
    assert (folder / expected).read_bytes() == BODY
    assert stat.S_IMODE((folder / expected).stat().st_mode) & 0o111 == 0


@pytest.mark.usefixtures("way")
def test_an_absolute_path_inside(folder: Path) -> None:
    assert save(folder, str(folder / "data" / "new.pdf")) == "data/new.pdf"


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    "path",
    [
        "../new",
        "data/../../new",
        "..",
        "data/..",
        "/etc/new",
        "/proc/self/fd/1",
        "~/new",
        "~root/new",
        "missing/new",
        "missing/",
        "missing/.",
        "there.pdf/",
        "n" * 256,
        "報" * 86,
        "d" * 256 + "/new",
        "link/new",
        "link",
        "link/",
        "loop",
        "loop/new",
        "dangling",
        "file-link",
        "there.pdf/new",
        "fifo",
        "nul\0byte",
        "line\nbreak",
        "back\\slash",
        "..\\new",
        "C:\\new",
        "C:new",
        "\\\\host\\share\\new",
    ],
)
@pytest.mark.parametrize("force", [False, True])
def test_what_is_refused(folder: Path, path: str, force: bool) -> None:
    with pytest.raises(WebResearchError) as caught, SaveTarget(folder, path, force):
        raise AssertionError("it must be refused before anything is downloaded")
    assert caught.value.code == "save_refused"


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("path", ["missing/new", "missing/", "data/missing/new", "missing/further/new"])
def test_a_missing_folder_is_to_be_created_first(folder: Path, path: str) -> None:
    for root, inside in ((folder, path), (folder / "missing", "new")):
        with pytest.raises(WebResearchError, match="create it first"), SaveTarget(root, inside):
            pass


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("sibling", ["notebook-evil/new", "notebook/../outside/new"])
def test_a_sibling_with_the_same_beginning(tmp_path: Path, folder: Path, sibling: str) -> None:
    (tmp_path / "notebook-evil").mkdir()
    with pytest.raises(WebResearchError) as caught, SaveTarget(folder, str(tmp_path / sibling)):
        pass
    assert caught.value.code == "save_refused"


@pytest.mark.usefixtures("way")
def test_a_folder_reached_through_a_link(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "shortcut").symlink_to(folder)
    assert save(tmp_path / "shortcut", "new.pdf") == "new.pdf"
    assert (folder / "new.pdf").read_bytes() == BODY


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("name", ["there.pdf", "hard-link"])
def test_an_existing_file_stays(folder: Path, name: str) -> None:
    before = (folder / name).read_bytes()
    with pytest.raises(WebResearchError) as caught, SaveTarget(folder, name):
        pass
    assert caught.value.code == "file_exists"
    assert (folder / name).read_bytes() == before
    assert save(folder, name, force=True) == name
    assert (folder / name).read_bytes() == BODY


@pytest.mark.usefixtures("way")
def test_a_file_that_appears_meanwhile_stays(folder: Path) -> None:
    with SaveTarget(folder, "new.pdf") as target:

        def chunks() -> Iterator[bytes]:
            (folder / "new.pdf").write_bytes(b"quicker")
            yield BODY

        with pytest.raises(WebResearchError) as caught:
            target.write(saved(), chunks())
    assert caught.value.code == "file_exists"
    assert (folder / "new.pdf").read_bytes() == b"quicker"


@pytest.mark.parametrize("force", [False, True])
def test_a_link_that_appears_meanwhile_is_not_followed(folder: Path, tmp_path: Path, force: bool) -> None:
    with SaveTarget(folder, "new.pdf", force) as target:

        def chunks() -> Iterator[bytes]:
            (folder / "new.pdf").symlink_to(tmp_path / "outside" / "secret")
            yield BODY

        with pytest.raises(WebResearchError):
            target.write(saved(), chunks())


def test_a_folder_swapped_meanwhile_is_not_followed(folder: Path, tmp_path: Path) -> None:
    with SaveTarget(folder, "data/new.pdf") as target:
        (folder / "data").rename(folder / "moved")
        (folder / "data").symlink_to(tmp_path / "outside")
        target.write(saved(), [BODY])
    assert (folder / "moved" / "new.pdf").read_bytes() == BODY


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    "chunks", [[], [BODY[:-1]], [BODY, b"x"], [BODY[::-1]]], ids=["nothing", "short", "long", "other"]
)
def test_a_broken_download_leaves_nothing(folder: Path, chunks: list[bytes]) -> None:
    with SaveTarget(folder, "new.pdf") as target, pytest.raises(WebResearchError) as caught:
        target.write(saved(), chunks)
    assert caught.value.code == "unreachable"
    assert not (folder / "new.pdf").exists()


def test_a_body_without_end_is_given_up(folder: Path) -> None:
    with SaveTarget(folder, "new.pdf") as target, pytest.raises(WebResearchError) as caught:
        target.write(saved(), itertools.repeat(b"x"))
    assert caught.value.code == "unreachable"
    assert not (folder / "new.pdf").exists()


def test_an_interrupt_leaves_nothing(folder: Path) -> None:
    def chunks() -> Iterator[bytes]:
        yield b"the"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), SaveTarget(folder, "new.pdf") as target:
        target.write(saved(), chunks())
    assert not (folder / "new.pdf").exists()


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("force", [False, True])
def test_a_full_disk_leaves_what_was_there(folder: Path, force: bool) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    body = b"x" * 300_000
    name = "there.pdf" if force else "new.pdf"
    with SaveTarget(folder, name, force) as target:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
        try:
            with pytest.raises(WebResearchError) as caught:
                target.write(saved(body=body), [body[:150_000], body[150_000:]])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert caught.value.code == "save_refused"
    assert "File too large" in caught.value.message
    assert (folder / "there.pdf").read_bytes() == b"old"
    assert not (folder / "new.pdf").exists()


@pytest.mark.usefixtures("way")
def test_a_folder_that_takes_the_name_meanwhile_stays(folder: Path) -> None:
    with SaveTarget(folder, "new.pdf", force=True) as target:

        def chunks() -> Iterator[bytes]:
            (folder / "new.pdf").mkdir()
            yield BODY

        with pytest.raises(WebResearchError) as caught:
            target.write(saved(), chunks())
    assert caught.value.code == "save_refused"
    assert (folder / "new.pdf").is_dir()


def test_where_files_can_not_be_linked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    assert save(folder, "new.pdf") == "new.pdf"
    assert (folder / "new.pdf").read_bytes() == BODY
    with SaveTarget(folder, "other.pdf") as target:

        def chunks() -> Iterator[bytes]:
            (folder / "other.pdf").write_bytes(b"quicker")
            yield BODY

        with pytest.raises(WebResearchError) as caught:
            target.write(saved(), chunks())
    assert caught.value.code == "file_exists"
    assert (folder / "other.pdf").read_bytes() == b"quicker"


@pytest.mark.parametrize("offered", ["../../there.pdf", "/etc/passwd", "link", "fifo", "data"])
def test_an_offered_name_goes_by_its_basename(folder: Path, offered: str) -> None:
    if offered in ("../../there.pdf", "link", "fifo", "data"):
        with pytest.raises(WebResearchError) as caught:
            save(folder, name=offered)
        assert caught.value.code in ("file_exists", "save_refused")
    else:
        assert save(folder, name=offered) == "passwd"


def test_a_socket_is_no_plain_file(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(folder / "sock"))
        with pytest.raises(WebResearchError) as caught, SaveTarget(folder, "sock", force=True):
            pass
    assert caught.value.code == "save_refused"


@pytest.mark.parametrize(
    ("offered", "name"),
    [
        ("report.pdf", "report.pdf"),
        ("Bericht für Köln.pdf", "Bericht für Köln.pdf"),
        ("報告.pdf", "報告.pdf"),
        ("../../../etc/passwd", "passwd"),
        ("..\\..\\windows\\system.ini", "system.ini"),
        ("C:\\autoexec.bat", "autoexec.bat"),
        ("/", "download"),
        ("", "download"),
        (".", "download"),
        ("..", "download"),
        ("...", "download"),
        (" . ", "download"),
        (".bashrc", "bashrc"),
        ("..\u202egpj.exe", "gpj.exe"),
        ("a\0b\nc\x1b[31md.txt", "abc[31md.txt"),
        ("zero\u200bwidth.txt", "zerowidth.txt"),
        ("name.txt.", "name.txt"),
        ("name.txt ", "name.txt"),
        ('a:b*c?d"e<f>g|h.txt', "abcdefgh.txt"),
        ("CON", "_CON"),
        ("con.txt", "_con.txt"),
        ("COM1.tar.gz", "_COM1.tar.gz"),
        ("lpt¹.txt", "_lpt¹.txt"),
        ("console.txt", "console.txt"),
        ("nul .txt", "_nul .txt"),
        ("\ud800.txt", "txt"),
        ("-rf", "-rf"),
        ("%2e%2e%2fx", "%2e%2e%2fx"),
    ],
)
def test_safe_names(offered: str, name: str) -> None:
    assert safe_name(offered) == name


@pytest.mark.parametrize("unit", ["a", "é", "報", "😀"])
@pytest.mark.parametrize("suffix", ["", ".pdf", ".tar.gz", "." + "x" * 300])
def test_safe_names_are_short(unit: str, suffix: str) -> None:
    name = safe_name(unit * 400 + suffix)
    assert 0 < len(name.encode()) <= 150
    assert name.startswith(unit)
    if suffix == ".pdf":
        assert name.endswith(".pdf")


def test_an_interrupt_that_comes_as_the_file_is_made_leaves_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = os.open

    def interrupted(path: str, flags: int, *arguments: int, dir_fd: int | None = None) -> int:
        descriptor = made(path, flags, *arguments, dir_fd=dir_fd)
        if flags & os.O_CREAT:
            os.close(descriptor)
            raise KeyboardInterrupt
        return descriptor

    before = sorted(folder.iterdir())
    monkeypatch.setattr(saving.os, "open", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save(folder)
    assert sorted(folder.iterdir()) == before
