"""The line that says what is going on: shown, replaced, and gone."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from jupyter_webresearch.kernel.progress import LiveLine, NotebookSurface, TerminalSurface, surface_of


class Recorder:
    """A surface that keeps what was shown; ``visible`` is set when something is."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.visible = threading.Event()

    def show(self, text: str) -> None:
        self.shown.append(text)
        self.visible.set()

    def clear(self) -> None:
        self.shown.append("")


class Publisher:
    """Stands for IPython's display publisher."""

    def __init__(self) -> None:
        self.published: list[tuple[dict[str, str], str, bool]] = []

    def publish(self, data: dict[str, str], metadata: Any, *, transient: dict[str, str], update: bool) -> None:
        self.published.append((data, transient["display_id"], update))


def test_each_phase_takes_the_place_of_the_last() -> None:
    surface = Recorder()
    with LiveLine(surface, "https://e.org/", delay=0) as live:
        assert surface.visible.wait(30)
        for phase in ("queued", "resolving", "resolving", "receiving"):
            live(phase)
    assert surface.shown[-4:] == [
        "https://e.org/ … queued",
        "https://e.org/ … resolving",
        "https://e.org/ … receiving",
        "",
    ]


def test_what_is_quick_shows_nothing() -> None:
    surface = Recorder()
    with LiveLine(surface, "u", delay=3600) as live:
        live("connecting")
    assert surface.shown == []
    live("receiving")  # a phase that comes late
    assert surface.shown == []


def test_it_goes_whatever_happens() -> None:
    surface = Recorder()
    with pytest.raises(KeyboardInterrupt), LiveLine(surface, "u", delay=0):
        assert surface.visible.wait(30)
        raise KeyboardInterrupt
    assert surface.shown[-1] == ""


def test_a_url_cannot_write_elsewhere() -> None:
    surface = Recorder()
    with LiveLine(surface, "https://e.org/\x1b[2J\r\n\u202e" + "x" * 500, delay=0):
        assert surface.visible.wait(30)
    assert surface.shown[0].isprintable()
    assert len(surface.shown[0]) < 80


def test_a_notebook_gets_one_output_that_ends_empty() -> None:
    publisher = Publisher()
    surface = NotebookSurface(publisher)
    surface.show("one")
    surface.show("two")
    surface.clear()
    assert [(data, update) for data, _, update in publisher.published] == [
        ({"text/plain": "one"}, False),
        ({"text/plain": "two"}, True),
        ({}, True),
    ]
    assert len({identity for _, identity, _ in publisher.published}) == 1


def test_a_terminal_line_is_wiped(capsys: pytest.CaptureFixture[str]) -> None:
    surface = TerminalSurface()
    surface.show("one")
    surface.clear()
    assert capsys.readouterr().err == "\r\x1b[2Kone\r\x1b[2K"


def _kernel(metadata: dict[str, str]) -> SimpleNamespace:
    return SimpleNamespace(kernel=1, display_pub=Publisher(), get_parent=lambda: {"metadata": metadata})


def test_who_gets_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(surface_of(_kernel({"cellId": "c1"})), NotebookSurface)
    assert surface_of(_kernel({})) is None  # nbclient and papermill
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert isinstance(surface_of(SimpleNamespace()), TerminalSurface)
    monkeypatch.setattr("sys.stderr.isatty", lambda: False)
    assert surface_of(SimpleNamespace()) is None
