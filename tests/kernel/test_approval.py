"""A person is asked for a host: by the magics, in a real kernel, and at a terminal."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_webresearch.config import Settings, WebPolicy
from jupyter_webresearch.errors import Refused, WebResearchError
from jupyter_webresearch.kernel.approval import AGAIN, Approval, ask_at_terminal, question
from jupyter_webresearch.kernel.local_client import LocalClient
from jupyter_webresearch.models import FetchRequest
from jupyter_webresearch.page import Page
from tests.conftest import ONE_WORKER, EngineMaker
from tests.server.running import Kernel, ThreadServer, start_kernel
from tests.sites import Site
from tests.sites.network import MappedDialler, StubResolver

REPOSITORY = Path(__file__).parent.parent.parent
ONE, TWO = "http://one.example.org", "http://two.example.org"


class Person:
    """Answers in order; nobody is there when there is no answer left."""

    def __init__(self, *answers: bool) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    def __call__(self, question: str) -> bool | None:
        self.asked.append(question)
        return self.answers.pop(0) if self.answers else None


@pytest.fixture
def client(make_engine: EngineMaker) -> LocalClient:
    settings = Settings(policy=WebPolicy(ask="prompt"))
    return LocalClient(settings, engine=make_engine(settings))


def read(client: LocalClient, person: Person, url: str, method: str = "GET", body: bytes | None = None) -> Page:
    request = FetchRequest(url, method=method, body=body)
    return Approval(client, person).reading(request, lambda: client.fetch(request))


def read_many(client: LocalClient, person: Person, *requests: FetchRequest) -> list[Page | WebResearchError]:
    return Approval(client, person).reading_many(requests, client.fetch_many)


def test_a_yes_reads_and_is_asked_for_once(client: LocalClient, site: Site) -> None:
    person = Person(True)
    assert read(client, person, f"{ONE}/article").status == 200
    assert read(client, person, f"{ONE}/article?again").status == 200
    assert person.asked == [question("one.example.org")]
    assert site.paths() == ["/article", "/article?again"]


def test_a_no_stands(client: LocalClient, site: Site) -> None:
    person = Person(False)
    with pytest.raises(Refused) as caught:
        read(client, person, f"{ONE}/article")
    assert (caught.value.code, caught.value.host) == ("needs_approval", "one.example.org")
    assert caught.value.message == "you said no to one.example.org; %webresearch allow one.example.org lifts that"
    with pytest.raises(Refused) as caught:
        read(client, person, f"{ONE}/article")
    assert caught.value.code == "not_allowed"
    assert len(person.asked) == 1
    assert site.connections == 0


def test_the_question_says_why_and_for_how_long() -> None:
    assert "WebPolicy.ask" in question("one.example.org")
    assert "for this session" in question("one.example.org")


@pytest.mark.parametrize("yes", [True, False])
def test_an_address_that_is_opened_is_asked_for(make_engine: EngineMaker, site: Site, yes: bool) -> None:
    settings = Settings(policy=WebPolicy(ask="prompt", allow_private_networks=["10.0.0.5/32"]))
    client, person = LocalClient(settings, engine=make_engine(settings)), Person(yes)
    url = "http://10.0.0.5/article"
    if yes:
        assert [read(client, person, url).status, read(client, person, url).status] == [200, 200]
    else:
        for code in ("needs_approval", "not_allowed"):
            with pytest.raises(Refused) as caught:
                read(client, person, url)
            assert caught.value.code == code
            assert "%webresearch allow 10.0.0.5" in caught.value.message
    assert person.asked == [question("10.0.0.5")]


def test_where_nobody_is_there_the_error_says_what_to_do(client: LocalClient, site: Site) -> None:
    with pytest.raises(Refused) as caught:
        read(client, Person(), f"{ONE}/article")
    assert caught.value.code == "needs_approval"
    assert "%webresearch allow one.example.org" in caught.value.message
    assert caught.value.message.endswith("nobody can be asked here")
    assert caught.value.setting == "WebPolicy.ask"
    assert read(client, Person(True), f"{ONE}/article").status == 200  # it was no answer
    assert site.connections == 1


def test_each_host_of_a_redirect_is_asked_for(client: LocalClient, site: Site) -> None:
    person = Person(True, True)
    page = read(client, person, f"{ONE}/redirect?to={TWO}/article")
    assert page.url == f"{TWO}/article"
    assert person.asked == [question("one.example.org"), question("two.example.org")]
    assert sum(path.startswith("/redirect") for path in site.paths()) == 2


def test_what_was_sent_is_not_sent_again_unasked(client: LocalClient, site: Site) -> None:
    person = Person(True, True)
    with pytest.raises(Refused) as caught:
        read(client, person, f"{ONE}/redirect?code=303&to={TWO}/article", "POST", b"order=1")
    assert caught.value.code == "needs_approval"
    assert "two.example.org is allowed now" in caught.value.message
    assert [request.method for request in site.seen] == ["POST"]


def test_a_first_hop_may_be_of_any_method(client: LocalClient, site: Site) -> None:
    assert read(client, Person(True), f"{ONE}/echo", "POST", b"order=1").status == 200
    assert [request.method for request in site.seen] == ["POST"]


def test_a_batch_asks_after_all_once_a_host(client: LocalClient, site: Site) -> None:
    person = Person(True, False)
    urls = (f"{ONE}/article?1", f"{TWO}/article?2", "http://10.0.0.1/", f"{ONE}/article?3")
    outcomes = read_many(client, person, *map(FetchRequest, urls))
    assert [getattr(outcome, "code", "page") for outcome in outcomes] == [
        "page",
        "needs_approval",
        "blocked_address",
        "page",
    ]
    assert person.asked == [question("one.example.org"), question("two.example.org")]
    assert sorted(site.paths()) == ["/article?1", "/article?3"]


def test_a_batch_with_nobody_there(client: LocalClient) -> None:
    person = Person()
    outcomes = read_many(client, person, FetchRequest(f"{ONE}/1"), FetchRequest(f"{ONE}/2"))
    assert [str(outcome).endswith("nobody can be asked here") for outcome in outcomes] == [True, True]
    assert len(person.asked) == 1


def test_a_batch_follows_redirects_to_other_hosts(client: LocalClient) -> None:
    outcomes = read_many(client, Person(True, True), FetchRequest(f"{ONE}/redirect?to={TWO}/article"))
    assert [getattr(outcome, "url", outcome) for outcome in outcomes] == [f"{TWO}/article"]


def test_other_errors_ask_nobody(client: LocalClient) -> None:
    person = Person(True)
    with pytest.raises(Refused) as caught:
        read(client, person, "http://127.0.0.1/")
    assert caught.value.code == "blocked_address"
    assert person.asked == []


# In a real kernel, by its server.


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    with Site() as site:
        seams = {"resolver": StubResolver(), "dialler": MappedDialler(everything=site.port), "interfaces": frozenset}
        folder = tmp_path_factory.mktemp("jupyter")
        with ThreadServer(folder, seams=seams, arguments=["--WebPolicy.ask=prompt"]) as server:
            kernel = start_kernel(server.caller(), server.folders.runtime)
            kernel.run("%load_ext jupyter_webresearch")
            yield kernel
            kernel.close()


def answering(kernel: Kernel, code: str, *answers: str) -> tuple[str, list[str]]:
    """Run a cell with somebody there; return what it printed and the questions."""
    asked = []
    running = kernel.client.execute(code, allow_stdin=True)
    for answer in answers:
        asked.append(kernel.client.get_stdin_msg(timeout=60)["content"]["prompt"])
        kernel.client.input(answer)
    return kernel.finish(running), asked


def test_a_kernel_asks_its_person(kernel: Kernel) -> None:
    told, asked = answering(kernel, f"page = %webfetch {ONE}/article\nprint(page.status)", "y")
    assert (told.strip(), asked) == ("200", [question("one.example.org")])
    cell = f"%%webfetch --into pages\n{ONE}/article\n{TWO}/article\nhttp://three.example.org/article"
    _, asked = answering(kernel, cell, "", "maybe", "YES")
    assert asked == [question("two.example.org"), question("three.example.org"), AGAIN]
    assert kernel.run("print([getattr(p, 'code', 'page') for p in pages])").strip() == str(
        ["page", "needs_approval", "page"]
    )


def test_a_kernel_without_a_person_says_so(kernel: Kernel) -> None:
    code = (
        "try:\n    get_ipython().run_line_magic('webfetch', 'http://four.example.org/')\n"
        "except Exception as error:\n    print(error.code, error)"
    )
    told = kernel.finish(kernel.client.execute(code, allow_stdin=False))
    assert told.startswith("needs_approval ")
    assert "%webresearch allow four.example.org; nobody can be asked here" in told


# At a terminal.

COMMAND_LINE = """
import functools, sys
from jupyter_webresearch import engine
from tests.sites.network import MappedDialler, StubResolver
engine.Engine = functools.partial(
    engine.Engine, resolver=StubResolver(), dialler=MappedDialler(everything=int(sys.argv[1])), interfaces=frozenset)
from jupyter_webresearch.cli import main
sys.exit(main(["fetch", *sys.argv[2:], "--WebPolicy.ask=prompt"]))
"""


def at_terminal(tmp_path: Path, site: Site, answer: bytes, *arguments: str) -> tuple[int, bytes, str]:
    """Run the command line on a terminal; return its status, what it printed and what the terminal showed."""
    ours, theirs = pty.openpty()
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "JPY"))}
    folders = ONE_WORKER | {f"JUPYTER_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    command = [sys.executable, "-c", COMMAND_LINE, str(site.port), *arguments]
    with subprocess.Popen(
        command, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, env={**environ, **folders, "TERM": "dumb"},
        cwd=REPOSITORY,
    ) as process:  # fmt: skip
        os.close(theirs)
        os.write(ours, answer)
        assert process.stdout is not None
        printed = process.stdout.read()
        status = process.wait(60)
    shown = b""
    while True:
        try:
            shown += os.read(ours, 65536)
        except OSError:  # EIO: the other end is closed and all is read
            break
    os.close(ours)
    return status, printed, shown.decode()


def test_the_command_line_asks_at_a_terminal(tmp_path: Path, site: Site) -> None:
    status, printed, shown = at_terminal(tmp_path, site, b"y\n", f"{ONE}/article", "--json")
    assert status == 0
    assert b'"status": 200' in printed
    assert question("one.example.org") in shown
    assert b"Allow" not in printed


@pytest.mark.parametrize("answer", [b"\n", b"perhaps\nNo\n", b"a\nb\nc\n"])
def test_the_command_line_takes_no_for_an_answer(tmp_path: Path, site: Site, answer: bytes) -> None:
    status, printed, shown = at_terminal(tmp_path, site, answer, f"{ONE}/article")
    assert (status, printed) == (1, b"")
    assert "jupyter webresearch: needs_approval: " in shown
    assert shown.count("y or n?") == answer.count(b"\n") - 1
    assert site.connections == 0


@pytest.mark.parametrize("stdin", [io.StringIO("y\n"), None])
def test_without_a_terminal_nobody_is_asked(monkeypatch: pytest.MonkeyPatch, stdin: Any) -> None:
    monkeypatch.setattr(sys, "stdin", stdin)
    assert ask_at_terminal("? ") is None
